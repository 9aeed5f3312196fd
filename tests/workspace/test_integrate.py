"""What others push to a plan's branch comes into its worktree; no commit of a person is rewritten or brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers
from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, commits, integrate, snapshot, worktree_files
from prloom.workspace.integrate import CommitConflict, FastForwarded, PeoplesCommits, Rebased, UpToDate

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


def ours(repo: Repository, place: Path, parent: str, files: dict[str, str], todo: str = "t1") -> str:
    """Commit files as prloom does."""
    for path, text in files.items():
        (place / path).write_text(text)
    said = commit_message.write(f"Do {todo}", title="", trailers=Trailers(plan="p", todo=todo))
    tree = snapshot.take(repo, place, parent).tree
    return commits.commit(repo, place, tree=tree, parent=parent, message=said, branch="feature")


def theirs(project: Project, files: dict[str, str], *, on: str) -> str:
    """Commit files on another branch that begins at a commit, as if they were fetched from the remote."""
    project.git("branch", "--force", "theirs", on)
    return project.commit(files, branch="theirs")


def integrated(repo: Repository, place: Path, tip: str, before: str | None) -> integrate.Integrated:
    return integrate.integrate(repo, place, "feature", theirs=tip, before=before)


def test_a_branch_that_has_all_of_the_remotes_stays(repo: Repository, place: Path, base: str) -> None:
    made = ours(repo, place, base, {"x": "x\n"})

    assert integrated(repo, place, base, base) == UpToDate(made, 1)


def test_a_branch_that_only_the_remote_has_moved_is_fast_forwarded(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    tip = theirs(project, {"theirs": "x\n"}, on=base)

    assert integrated(repo, place, tip, base) == FastForwarded(base, tip)
    assert project.sha("feature") == tip
    assert (place / "theirs").read_text() == "x\n"
    assert project.git("status", "--porcelain", cwd=place) == ""


def test_prlooms_own_commits_are_made_again_on_what_was_pushed(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    first = ours(repo, place, base, {"one": "1\n"}, "t1")
    second = ours(repo, place, first, {"two": "2\n"}, "t2")
    tip = theirs(project, {"theirs": "x\n"}, on=base)

    made = integrated(repo, place, tip, base)

    assert isinstance(made, Rebased)
    assert [old for old, _ in made.new] == [first, second]
    assert project.git("log", "--format=%s|%an", f"{tip}..feature") == "Do t2|Ada\nDo t1|Ada"
    assert project.git("log", "--format=%ad", f"{tip}..feature") == project.git("log", "-2", "--format=%ad", second)
    assert project.sha("feature") == made.tip == commits.find(repo, "feature", plan="p", todo="t2")
    assert {each.name for each in place.iterdir()} >= {"one", "two", "theirs"}
    assert [sha for _, sha in backup_refs.kept_refs(repo, "rebased")] == [second]


def test_a_conflict_names_the_files_and_changes_nothing(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    made = ours(repo, place, base, {"README.md": "ours\n", "x": "x\n"})
    tip = theirs(project, {"README.md": "theirs\n"}, on=base)

    assert integrated(repo, place, tip, base) == CommitConflict(made, ("README.md",))
    assert project.sha("feature") == made
    assert project.git("status", "--porcelain", cwd=place) == ""


def test_a_persons_commit_is_not_rewritten(project: Project, repo: Repository, place: Path, base: str) -> None:
    mine = project.commit({"mine": "x\n"}, branch="feature")
    project.git("reset", "--quiet", "--hard", cwd=place)
    ours(repo, place, mine, {"x": "x\n"})
    tip = theirs(project, {"theirs": "x\n"}, on=base)

    assert integrated(repo, place, tip, base) == PeoplesCommits((mine,))


def test_a_commit_that_a_person_removed_from_the_remote_is_not_brought_back(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    pushed = ours(repo, place, base, {"removed": "x\n"}, "t1")
    ours(repo, place, pushed, {"kept": "x\n"}, "t2")
    tip = theirs(project, {"theirs": "x\n"}, on=base)

    assert isinstance(integrated(repo, place, tip, before=pushed), Rebased)
    assert project.git("log", "--format=%s", f"{base}..feature") == "Do t2\na commit"
    assert not (place / "removed").exists()


def test_a_force_push_without_commits_of_ours_is_followed(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    pushed = ours(repo, place, base, {"removed": "x\n"})

    assert integrated(repo, place, project.sha("main"), before=pushed) == Rebased(pushed, project.sha("main"), ())
    assert project.sha("feature") == project.sha("main")


def test_a_commit_of_which_nothing_is_left_is_left_out(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    made = ours(repo, place, base, {"x": "x\n"})
    tip = theirs(project, {"y": "y\n"}, on=base)
    project.git("worktree", "add", "--quiet", str(place.with_name("pick")), "theirs")
    project.git("cherry-pick", made, cwd=place.with_name("pick"))

    tip = project.sha("theirs")
    assert integrated(repo, place, tip, base) == Rebased(made, tip, ((made, None),))


def test_what_would_replace_prlooms_own_files_is_refused(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    tip = theirs(project, {"prloom/.local/state.json": "{}"}, on=base)

    with pytest.raises(WorkspaceError, match=r"of the remote contains the folder prloom/\.local"):
        integrated(repo, place, tip, base)

    assert project.sha("feature") == base


def test_a_branch_that_is_gone_is_an_error(project: Project, repo: Repository, place: Path, base: str) -> None:
    project.git("update-ref", "-d", "refs/heads/feature")

    with pytest.raises(WorkspaceError, match="branch feature no longer exists"):
        integrated(repo, place, base, base)


def test_attributes_of_the_branch_decide_no_merge_and_run_nothing(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    project.git("config", "merge.x.driver", f"touch {tmp_path}/ran")
    (project.root / ".gitattributes").write_text("* merge=x\n")
    ours(repo, place, base, {"README.md": "ours\n", ".gitattributes": "* merge=x\n"})
    tip = theirs(project, {"README.md": "theirs\n"}, on=base)

    assert isinstance(integrated(repo, place, tip, base), CommitConflict)
    assert not (tmp_path / "ran").exists()


def test_a_move_that_was_stopped_is_ended_and_changes_made_meanwhile_are_kept(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    tip = theirs(project, {"theirs": "x\n"}, on=base)
    worktree_files.note_move(snapshot.require(repo, place), base, tip)
    commits.move(repo, "feature", to=tip, expected=base)  # and here it was stopped
    (place / "README.md").write_text("a person's\n")

    assert commits.recover(repo, place, branch="feature") == tip
    assert project.git("status", "--porcelain", cwd=place) == "M README.md"
    assert (place / "README.md").read_text() == "a person's\n"
    assert commits.recover(repo, place, branch="feature") is None


def test_a_move_that_was_stopped_before_it_began_touches_nothing(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    worktree_files.note_move(snapshot.require(repo, place), base, project.sha("main"))
    (place / "README.md").write_text("a worker's\n")

    assert commits.recover(repo, place, branch="feature") is None
    assert (place / "README.md").read_text() == "a worker's\n"
