"""A pull request whose base is not `base_branch`, through the real command: it is rebased onto its own base."""

from __future__ import annotations

import pytest
from github_project import Project

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def commit_to(project: Project, branch: str, start: str) -> str:
    """Push a commit with a file of the branch's name to a branch of origin, and return it."""
    git, root = project.repository.git, project.repository.root
    git("checkout", "--quiet", "--detach", start)
    (root / branch).write_text("new\n")
    git("add", branch)
    git("commit", "--quiet", "-m", f"Change {branch}")
    git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
    tip = git("rev-parse", "HEAD").strip()
    git("checkout", "--quiet", "main")
    project.hub.world.repository.branches[branch] = tip
    return tip


async def test_one_that_was_adopted_is_rebased_onto_its_base_and_shows_no_commits_of_it(project: Project):
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        project.repository.git("config", key, value)
    toml = project.repository.root / "prloom.toml"
    toml.write_text(toml.read_text().replace('mode = "off"', 'mode = "auto"'))
    first = commit_to(project, "dev", "main")
    head = commit_to(project, "topic", first)
    dev = commit_to(project, "other", first)
    project.repository.git("push", "--quiet", "origin", f"{dev}:refs/heads/dev")
    commit_to(project, "main", "main")
    pull = project.hub.pull("A topic", by="prloom", branch="topic", base="dev", sha=head)
    await project.run("adopt", str(pull.number))
    assert "b/dev" not in (await project.run("diff", f"pr-{pull.number}")).stdout

    project.hub.comment(pull, "ann", "/prloom rebase")
    for _ in range(2):
        await project.run("start", "--once")

    project.repository.git("fetch", "--quiet", "origin")
    assert project.repository.git("rev-parse", "origin/topic^").strip() == dev
