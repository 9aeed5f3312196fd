"""`prloom new --issue` makes a plan of an issue whose author is trusted, and the dispatcher makes its branch."""

from __future__ import annotations

import pytest
from github_project import Project

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def draft(project: Project, plan_id: str) -> str:
    return (project.repository.root / f"prloom/.local/inbox/{plan_id}.md").read_text()


async def test_an_issue_of_a_trusted_author_becomes_a_plan_with_its_todos(project: Project):
    issue = project.hub.issue("Greet faster", by="ann", body="Why.\r\n\r\n## TODO\r\n- [ ] Drop the sleep\r\n")

    await project.run("new", "--issue", str(issue.number), "--queue")

    assert draft(project, "greet-faster") == (
        f"---\nstatus: queued\nsource: {{system: github, kind: issue, id: '{issue.number}'}}\n---\n"
        "# Greet faster\n\nWhy.\n\n## TODO\n- [ ] Drop the sleep\n"
    )
    await project.run("start", "--once")
    found = {plan["id"]: plan for plan in (await project.status())["plans"]}
    assert found["greet-faster"]["branch"] == "greet-faster"
    assert found["greet-faster"]["status"] not in {"draft", "queued"}


async def test_an_issue_without_todos_is_one_todo(project: Project):
    issue = project.hub.issue("Greet # faster", by="ann", body="---\nIt is slow.")

    await project.run("new", "--issue", str(issue.number), "--plan", "fast")

    assert draft(project, "fast").endswith(
        f"# Greet # faster\n\n---\nIt is slow.\n\n## TODO\n\n- [ ] Greet # faster (#{issue.number})\n"
    )


async def test_an_issue_of_anybody_else_is_refused(project: Project):
    issue = project.hub.issue("Greet faster", by="eve")

    refused = await project.run("new", "--issue", str(issue.number), code=1)

    assert f"the author of issue #{issue.number} is not trusted: eve has " in refused.stderr
    assert "write the plan yourself with `prloom new TITLE`" in refused.stderr
    assert not (project.repository.root / "prloom/.local/inbox/greet-faster.md").exists()


async def test_what_is_no_issue_is_refused(project: Project):
    refused = await project.run("new", "--issue", "999", code=1)

    assert "github has no issue #999, or the token has no access to it" in refused.stderr
    both = await project.run("new", "--issue", "1", "--file", "x", code=2)
    assert "give --file or --issue, not both" in both.stderr
