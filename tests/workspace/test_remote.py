"""Fetching and pushing a plan's branch: never over what others pushed, and with a reason where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import executable
import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import integrate, rebase, remote, repository, worktree
from prloom.workspace.integrate import UpToDate
from prloom.workspace.remote import Fetched, NoRemote, Pushed, Rejected, RemoteAddresses

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


@pytest.fixture
def origin(project: Project, tmp_path: Path) -> Project:
    """The remote of the project, with its branches."""
    path = tmp_path / "origin.git"
    project.git("init", "--quiet", "--bare", str(path))
    project.git("remote", "add", "origin", str(path))
    project.git("push", "--quiet", "origin", "main", "feature")
    return type(project)(path)


def test_without_a_remote_there_is_nothing_to_do(project: Project, repo: Repository) -> None:
    assert not remote.has(repo)
    assert remote.fetch(repo, "feature") == NoRemote()
    assert remote.push(repo, "feature", project.sha("feature"), None) == NoRemote()


def test_the_addresses_of_all_remotes_are_those_of_the_configuration(project: Project, repo: Repository) -> None:
    project.git("remote", "add", "a.b", "https://x/1")
    project.git("remote", "set-url", "--add", "--push", "a.b", "ssh://x/2")

    assert remote.addresses(repo) == {"a.b": RemoteAddresses(("https://x/1",), ("ssh://x/2",))}


def test_a_fetch_says_what_the_remote_has_and_had(project: Project, repo: Repository, origin: Project) -> None:
    before = project.sha("feature")
    theirs = origin.commit({"theirs": "x\n"}, branch="feature")

    assert remote.fetch(repo, "feature") == Fetched(theirs, before)
    assert project.sha("feature") == before
    assert remote.fetch(repo, "never") == Fetched(None, None)


@pytest.mark.parametrize("head", ["0" * 40, "1" * 40], ids=["half-made", "damaged"])
def test_the_broken_worktree_of_another_branch_keeps_nothing_from_being_fetched(
    project: Project, repo: Repository, origin: Project, tmp_path: Path, head: str
) -> None:
    project.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    (repo.git_dir / "worktrees/other/HEAD").write_text(f"{head}\n")
    theirs = origin.commit({"theirs": "x\n"}, branch="feature")

    fetched = remote.fetch(repo, "feature")

    assert isinstance(fetched, Fetched)
    assert fetched.sha == theirs


def test_a_branch_that_was_deleted_is_said_to_be_again_and_again(
    project: Project, repo: Repository, origin: Project
) -> None:
    before = project.sha("feature")
    origin.git("update-ref", "-d", "refs/heads/feature")

    for _ in range(2):
        found = remote.fetch(repo, "feature")
        assert found == Fetched(None, before)
        assert found.is_deleted


def test_a_push_moves_the_remotes_branch_from_where_it_was(project: Project, repo: Repository, origin: Project) -> None:
    before = project.sha("feature")
    made = project.commit({"x": "x\n"}, branch="feature")

    assert remote.push(repo, "feature", made, before) == Pushed(made)
    assert origin.sha("feature") == made
    assert remote.push(repo, "feature", made, before) == Pushed(made)  # as after a crash


def test_what_prloom_pushed_is_told_from_what_somebody_else_fetched_since(
    project: Project, repo: Repository, origin: Project
) -> None:
    made = project.commit({"x": "x\n"}, branch="feature")
    remote.push(repo, "feature", made, project.git("rev-parse", "refs/remotes/origin/feature"))
    origin.git("update-ref", "refs/heads/feature", project.sha("main"))
    project.git("fetch", "--quiet", "origin")

    assert remote.fetch(repo, "feature") == Fetched(project.sha("main"), made)


def test_a_first_push_makes_the_branch_and_replaces_none(project: Project, repo: Repository, origin: Project) -> None:
    made = project.commit({"x": "x\n"}, branch="new")

    assert remote.push(repo, "new", made, None) == Pushed(made)

    other = project.commit({"y": "y\n"}, branch="other")
    lost = remote.push(repo, "new", other, None)
    assert isinstance(lost, Rejected)
    assert lost.failure.cause == "lost_race"
    assert origin.sha("new") == made


def test_a_lost_race_is_one_that_may_be_tried_again(project: Project, repo: Repository, origin: Project) -> None:
    before = project.sha("feature")
    theirs = origin.commit({"theirs": "x\n"}, branch="feature")
    made = project.commit({"ours": "x\n"}, branch="feature")

    lost = remote.push(repo, "feature", made, before)

    assert isinstance(lost, Rejected)
    assert (lost.failure.cause, lost.failure.retryable) == ("lost_race", True)
    assert lost.failure.reason == "[rejected] (stale info)"
    assert origin.sha("feature") == theirs


def test_commits_are_removed_from_the_remote_only_by_a_rebase_that_was_asked_for(
    project: Project, repo: Repository, origin: Project, place: Path
) -> None:
    before = project.sha("feature")
    other = project.commit({"x": "x\n"}, branch="other")

    with pytest.raises(WorkspaceError, match="it was not pushed, because that would remove commits"):
        remote.push(repo, "feature", other, before)

    worktree.create(repo, place, "feature")
    rebase.start(repo, place, "feature", onto=other)
    assert remote.push(repo, "feature", project.sha("feature"), before) == Pushed(project.sha("feature"))


def test_after_a_rebase_nothing_that_was_pushed_meanwhile_is_removed(
    project: Project, repo: Repository, origin: Project, place: Path
) -> None:
    worktree.create(repo, place, "feature")
    before = project.sha("feature")
    rebase.start(repo, place, "feature", onto=project.commit({"x": "x\n"}))
    assert isinstance(integrated(repo, place), UpToDate)
    theirs = origin.commit({"theirs": "x\n"}, branch="feature")

    lost = remote.push(repo, "feature", project.sha("feature"), before)
    assert isinstance(lost, Rejected)
    assert lost.failure.cause == "lost_race"
    integrated(repo, place)

    assert project.sha("feature") == theirs
    assert remote.push(repo, "feature", theirs, theirs) == Pushed(theirs)


def test_a_rebase_whose_push_was_stopped_is_pushed_later_with_what_came_after_it(
    project: Project, repo: Repository, origin: Project, place: Path
) -> None:
    worktree.create(repo, place, "feature")
    rebase.start(repo, place, "feature", onto=project.commit({"x": "x\n"}))
    rebase.start(repo, place, "feature", onto=project.commit({"y": "y\n"}))
    later = project.commit({"z": "z\n"}, branch="feature")
    fetched = remote.fetch(repo, "feature")
    assert isinstance(fetched, Fetched)

    assert isinstance(integrated(repo, place), UpToDate)
    assert remote.push(repo, "feature", later, fetched.sha) == Pushed(later)


def integrated(repo: Repository, place: Path) -> integrate.Integrated:
    fetched = remote.fetch(repo, "feature")
    assert isinstance(fetched, Fetched)
    assert fetched.sha is not None
    return integrate.integrate(repo, place, "feature", theirs=fetched.sha, before=fetched.before)


def a_hook(origin: Project, name: str, text: str) -> None:
    executable.write(origin.root / "hooks" / name, f"#!/bin/sh\n{text}\n")


def test_a_refusal_is_none_that_is_tried_again_and_says_why(
    project: Project, repo: Repository, origin: Project
) -> None:
    a_hook(origin, "pre-receive", "echo 'GH006: Protected branch update failed for refs/heads/feature.'; exit 1")
    before = project.sha("feature")
    made = project.commit({"x": "x\n"}, branch="feature")

    refused = remote.push(repo, "feature", made, before)

    assert isinstance(refused, Rejected)
    assert (refused.failure.cause, refused.failure.retryable) == ("refused", False)
    assert refused.failure.reason == (
        "[remote rejected] (pre-receive hook declined); GH006: Protected branch update failed for refs/heads/feature."
    )


def test_what_a_server_says_is_shown_and_not_obeyed(project: Project, repo: Repository, origin: Project) -> None:
    a_hook(origin, "pre-receive", "printf 'no \\033]0;title\\007 way\\n'; exit 1")
    made = project.commit({"x": "x\n"}, branch="feature")

    refused = remote.push(repo, "feature", made, project.git("rev-parse", "refs/remotes/origin/feature"))

    assert isinstance(refused, Rejected)
    assert refused.failure.reason.isprintable()


def test_no_hook_of_the_operators_runs(project: Project, repo: Repository, origin: Project, tmp_path: Path) -> None:
    a_hook(type(project)(project.root / ".git"), "pre-push", f"touch {tmp_path}/ran")
    made = project.commit({"x": "x\n"}, branch="new")

    assert remote.push(repo, "new", made, None) == Pushed(made)
    assert not (tmp_path / "ran").exists()


def test_a_remote_that_is_gone_is_a_failure_of_both(
    project: Project, repo: Repository, origin: Project, tmp_path: Path
) -> None:
    origin.root.rename(tmp_path / "moved")

    for failed in (remote.fetch(repo, "feature"), remote.push(repo, "new", project.sha("main"), None)):
        assert isinstance(failed, Rejected)
        assert failed.failure.cause == "denied"
        assert "does not appear to be a git repository" in failed.failure.reason


@pytest.mark.parametrize("branch", ["", "a b", "x..y", "HEAD", "a:b", "+a"])
def test_a_name_is_never_a_part_of_a_refspec(repo: Repository, branch: str, origin: Project) -> None:
    if branch == "+a":
        assert remote.fetch(repo, branch) == Fetched(None, None)
    else:
        with pytest.raises(WorkspaceError, match="is not a valid name for a branch"):
            remote.fetch(repo, branch)


@pytest.mark.parametrize(("there", "wanted"), [("x", "x/y"), ("x/y/z", "x/y")])
def test_a_branch_beside_which_git_cannot_have_ours_is_a_refusal_that_names_it(
    project: Project, repo: Repository, origin: Project, there: str, wanted: str
) -> None:
    origin.git("update-ref", f"refs/heads/{there}", "main")

    done = remote.push(repo, wanted, project.sha("main"), None)

    assert isinstance(done, Rejected)
    assert (done.failure.cause, done.failure.retryable) == ("refused", False)
    assert done.failure.reason.startswith(f"it has a branch {there}, and git cannot have {wanted} beside it; ")


@pytest.mark.parametrize(("stale", "wanted"), [(["x"], "x/y"), (["x/y/z", "x/y/w"], "x/y")])
def test_what_the_remote_no_longer_has_stands_in_the_way_of_no_fetch(
    project: Project, repo: Repository, origin: Project, stale: list[str], wanted: str
) -> None:
    for name in (*stale, "other"):
        project.git("update-ref", f"refs/remotes/origin/{name}", "feature")
    origin.git("update-ref", f"refs/heads/{wanted}", "main")

    assert remote.fetch(repo, wanted) == Fetched(project.sha("main"), None)
    assert project.git("rev-parse", "origin/other").strip() == project.sha("feature")


def test_a_pull_request_is_fetched_although_a_stale_branch_is_in_the_way(
    project: Project, repo: Repository, origin: Project
) -> None:
    project.git("update-ref", "refs/remotes/origin/x", "feature")
    origin.git("update-ref", "refs/heads/x/y", "main")

    assert repository.fetch_pull_request(repo, branch="x/y", ref=None, number=1, fork=False) == "x/y"
    assert project.git("rev-parse", "origin/x/y").strip() == project.sha("main")


def test_what_was_noted_of_an_earlier_branch_keeps_no_push_from_being_noted(
    project: Project, repo: Repository, origin: Project
) -> None:
    project.git("update-ref", "refs/prloom/remote/x", "feature")

    assert remote.push(repo, "x/y", project.sha("main"), None) == Pushed(project.sha("main"))
    assert remote.noted(repo, "x/y") == project.sha("main")
