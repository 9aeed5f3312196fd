"""The TODOs that comments asked for outlive the plan's worktree: the comments count as answered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from github_project import Project
from real_command import Repository

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def text(project: Project) -> Path:
    worktree = f"prloom/.local/worktrees/pr-{project.pull.number}"
    return project.repository.root / worktree / "prloom/.local/plan.md"


def boxes(file: Path) -> list[str]:
    """Return the items of a plan, without what is hidden in them."""
    return [line.partition(" <!--")[0] for line in file.read_text().splitlines() if line.startswith("- [")]


async def lose(project: Project, how: str) -> None:
    if how == "forget":
        await project.run("forget", f"pr-{project.pull.number}", "--yes")
    elif how == "git clean":
        shutil.rmtree(text(project).parent)
    else:
        shutil.rmtree(text(project).parents[2])


@pytest.mark.parametrize("how", ["forget", "git clean", "rm -rf"])
async def test_an_open_todo_comes_back_when_a_pull_request_is_adopted_again(project: Project, how: str):
    number = str(project.pull.number)
    await project.run("adopt", number)
    thread = project.hub.inline(project.pull, "ann", "Rename this")
    for body in ("Faster", "Smaller"):
        project.hub.comment(project.pull, "ann", body)
    await project.run("start", "--once")
    rename, *others = boxes(text(project))
    assert len(others) == 2

    await lose(project, how)
    await project.run("adopt", number)
    assert boxes(text(project)) == [rename, *others]

    await project.run("start", "--once")
    assert boxes(text(project)) == [rename, *others]
    assert project.repository.agent_runs == 1
    assert len(project.replies) == 4  # one of them is the empty review that GitHub makes for the reply in the thread
    change(text(project), "- [ ] Do what github:discussion_r", "- [x] Do what github:discussion_r")
    await project.run("start", "--once")
    assert thread.thread.resolved_by is not None


@pytest.mark.parametrize("running", [True, False])
async def test_a_todo_that_was_done_or_taken_out_does_not_come_back(project: Project, *, running: bool):
    number = str(project.pull.number)
    await project.run("adopt", number)
    for body in ("Faster", "Smaller", "Louder"):
        project.hub.comment(project.pull, "ann", body)
    await project.run("start", "--once")
    first, second, third = boxes(text(project))
    change(text(project), first, first.replace("[ ]", "[x]"))
    change(text(project), second, "Not this:")
    if running:
        await project.run("start", "--once")

    await lose(project, "rm -rf" if running else "forget")
    await project.run("adopt", number)
    await project.run("start", "--once")

    assert boxes(text(project)) == [third]
    assert project.repository.agent_runs == 1


async def test_a_comment_that_became_a_todo_without_a_reply_is_not_read_again(project: Project):
    project.repository.agent.write_text(project.repository.agent.read_text().replace('"On it."', "None"))
    number = str(project.pull.number)
    await project.run("adopt", number)
    project.hub.comment(project.pull, "ann", "Faster")
    await project.run("start", "--once")
    change(text(project), "- [ ]", "- [x]")

    await lose(project, "forget")
    await project.run("adopt", number)
    await project.run("start", "--once")

    assert boxes(text(project)) == []
    assert project.repository.agent_runs == 1
    (event,) = [e for e in project.repository.json("events")["events"] if e["author"] == "ann"]
    assert event["state"] == "handled"
    assert event["reason"].startswith("prloom has made a TODO of it already: Do what github:issuecomment-")


def test_a_lost_plan_without_a_pull_request_gets_its_open_todos_back(repository: Repository):
    repository.run("emit", "work", "--body", "Faster", "--id", "e1")
    repository.run("start", "--once")
    file = repository.local / "plan.md"
    assert boxes(file) == ["- [ ] Do what e1 asks"]

    shutil.rmtree(repository.local.parents[1])
    repository.run("adopt", "--branch", "work")
    assert boxes(file) == ["- [ ] Do what e1 asks"]

    # What was said of a branch without a pull request stood in the worktree only, and is given up with it.
    repository.run("forget", "work", "--yes")
    repository.run("adopt", "--branch", "work")
    assert boxes(file) == []


def change(file: Path, old: str, new: str) -> None:
    """Change the first place at which a text stands."""
    content = file.read_text()
    assert old in content
    file.write_text(content.replace(old, new, 1))
