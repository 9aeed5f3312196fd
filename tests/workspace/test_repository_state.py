"""What a run did beside the files of its worktree is noticed, named and undone, and nothing of it is lost."""

from __future__ import annotations

import os
import stat
import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from prloom.core.work import worker_identity
from prloom.core.work.repository_changes import Difference, RepositoryState
from prloom.model import record
from prloom.workspace import backup_refs, branches, repository_state, undo, worktree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

BY_WHOM = "during the run, by the worker or by somebody else"


@pytest.fixture
def before(repo: Repository, place: Path) -> RepositoryState:
    """The state of the repository with a worktree of `feature` at `place`."""
    worktree.create(repo, place, "feature")
    return repository_state.record(repo, place)


def found(repo: Repository, place: Path, before: RepositoryState) -> tuple[Difference, ...]:
    return repository_state.since(repo, place, before, branch="feature")


def texts(repo: Repository, place: Path, before: RepositoryState) -> list[str]:
    return [each.text for each in found(repo, place, before)]


def the_worker(project: Project) -> Mapping[str, str]:
    """The environment of a worker, as far as its git is concerned."""
    key, value = worker_identity.setting(str(project.root))
    without = {name: value for name, value in os.environ.items() if not name.startswith("GIT_COMMITTER")}
    mine = {"GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": value}
    for number, what in ((1, "name"), (2, "email")):
        mine |= {f"GIT_CONFIG_KEY_{number}": f"user.{what}", f"GIT_CONFIG_VALUE_{number}": "x"}
    return without | mine


def worker_git(project: Project, *argv: str, cwd: Path) -> None:
    subprocess.run(["git", *argv], cwd=cwd, env=the_worker(project), check=True, capture_output=True)


def test_nothing_differs_where_nobody_did_anything(repo: Repository, place: Path, before: RepositoryState) -> None:
    (place / "README.md").write_text("the worker's own change\n")

    assert found(repo, place, before) == ()


def test_a_worktree_that_git_cannot_read_is_no_matter_of_another_plans(
    repo: Repository, place: Path, project: Project, tmp_path: Path
) -> None:
    worktree.create(repo, place, "feature")
    project.git("worktree", "add", "--quiet", "-b", "half", str(tmp_path / "half"))
    (repo.git_dir / "worktrees/half/HEAD").write_text("1" * 40 + "\n")

    before = repository_state.record(repo, place)

    assert found(repo, place, before) == ()
    (repo.git_dir / "worktrees/half/HEAD").write_text("2" * 40 + "\n")
    assert [each.kind for each in found(repo, place, before)] == ["checkout"]


def test_a_state_outlives_the_process(repo: Repository, place: Path, project: Project) -> None:
    project.git("branch", "odd-\udcff")
    worktree.create(repo, place, "feature")
    state = repository_state.record(repo, place)

    assert record.from_wire(RepositoryState, msgspec.json.decode(msgspec.json.encode(record.to_wire(state)))) == state


def test_every_ref_that_moved_is_named(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    project.git("branch", "new", "main")
    project.git("tag", "v1", "main")
    project.git("update-ref", "refs/notes/x", "main")
    main, feature = project.sha("main"), project.sha("feature")
    project.git("update-ref", "refs/heads/main", feature)

    assert [(each.text, each.is_violation) for each in found(repo, place, before)] == [
        (f"branch main was moved from {main[:10]} to {feature[:10]}", True),
        (f"branch new was created at {main[:10]}", True),
        (f"refs/notes/x was created at {main[:10]}", True),
        (f"tag v1 was created at {main[:10]}", True),
        (f"files in the checkout {project.root} were changed {BY_WHOM}: src/app.py", True),
    ]


def test_a_remote_branch_may_move_and_is_named(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    project.git("update-ref", "refs/remotes/origin/main", "main")

    (only,) = found(repo, place, before)

    assert only.text == f"remote branch origin/main was created at {project.sha('main')[:10]}"
    assert not only.is_violation


def test_what_another_plan_commits_meanwhile_is_no_violation(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    project.git("branch", "other", "main")
    worktree.create(repo, place.with_name("other"), "other")
    project.commit({"x": "x\n"}, branch="other")
    (place.with_name("other") / "README.md").write_text("its worker's change\n")

    assert [each.is_violation for each in found(repo, place, before)] == [False]


def test_a_branch_that_prloom_makes_meanwhile_is_no_violation_at_any_moment_of_it(
    repo: Repository, place: Path, project: Project, before: RepositoryState
) -> None:
    branches.create(repo, "new", project.sha("main"))
    assert [each.is_violation for each in found(repo, place, before)] == [False]  # it has no worktree yet

    worktree.create(repo, place.with_name("new"), "new")

    assert [each.kind for each in found(repo, place, before)] == ["plan"]
    assert project.git("for-each-ref", "refs/prloom/new") == ""
    project.git("branch", "theirs", "main")
    assert [each.name for each in found(repo, place, before) if each.is_violation] == ["refs/heads/theirs"]


def test_settings_hooks_and_what_else_steers_git_are_named(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    project.git("config", "core.sshCommand", "evil")
    project.git("config", "branch.feature.remote", "origin")  # git does that whenever a branch is made
    (project.root / ".git" / "hooks").mkdir(exist_ok=True)
    (project.root / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (project.root / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (project.root / ".git" / "info" / "exclude").write_text("*\n")

    assert texts(repo, place, before) == [
        "git's setting core.sshcommand was added",
        "git's file hooks/pre-push was added",
        "git's file info/attributes was added",
        "git's file info/exclude was changed",
    ]


def test_the_operators_checkout_is_watched_also_where_it_was_changed_before(
    project: Project, repo: Repository, place: Path
) -> None:
    worktree.create(repo, place, "feature")
    (project.root / "README.md").write_text("my change\n")
    before = repository_state.record(repo, place)
    (project.root / "README.md").write_text("their change\n")
    (project.root / "new\n").write_text("x\n")
    project.git("checkout", "--quiet", "--detach")

    assert texts(repo, place, before) == [
        f"the checkout {project.root} was switched to {project.sha('main')}",
        f"files in the checkout {project.root} were changed {BY_WHOM}: README.md, new\\n",
    ]


def test_another_worktree_of_a_person_is_watched(
    project: Project, repo: Repository, place: Path, tmp_path: Path
) -> None:
    project.git("worktree", "add", "--quiet", "-b", "mine", str(tmp_path / "mine"))
    worktree.create(repo, place, "feature")
    before = repository_state.record(repo, place)
    (tmp_path / "mine" / "README.md").write_text("x\n")

    assert texts(repo, place, before) == [
        f"files in the checkout {tmp_path / 'mine'} were changed {BY_WHOM}: README.md"
    ]


def test_what_a_worker_committed_is_kept_and_its_branch_goes_back(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    (place / "new").write_text("x\n")
    worker_git(project, "add", "new", cwd=place)
    worker_git(project, "commit", "--quiet", "--message=mine", cwd=place)
    theirs = project.sha("feature")

    done = undo.undo(repo, place, before, branch="feature", todo="t1")

    old = before.head
    assert done == (f"branch feature was moved from {old[:10]} to {theirs[:10]}; this was undone",)
    assert project.sha("feature") == old
    assert (place / "new").exists()
    assert [sha for _, sha in backup_refs.kept_refs(repo, "t1")] == [theirs]
    assert undo.undo(repo, place, before, branch="feature", todo="t1") == ()


def test_a_worktree_that_was_switched_is_switched_back(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    worker_git(project, "checkout", "--quiet", "-b", "elsewhere", cwd=place)
    worker_git(project, "commit", "--quiet", "--allow-empty", "--message=mine", cwd=place)
    theirs = project.sha("elsewhere")

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert project.git("symbolic-ref", "HEAD", cwd=place) == "refs/heads/feature"
    assert project.sha("elsewhere") == ""
    assert {sha for _, sha in backup_refs.kept_refs(repo, "t1")} == {theirs}


def test_a_worktree_on_a_branch_without_a_commit_is_switched_back(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    worker_git(project, "switch", "--quiet", "--orphan", "nothing", cwd=place)

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert project.git("symbolic-ref", "HEAD", cwd=place) == "refs/heads/feature"


def test_a_branch_that_the_worker_moved_goes_back_and_one_that_a_person_moved_stays(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    main, feature = project.sha("main"), project.sha("feature")
    project.git("branch", "mine", "main")
    project.git("branch", "theirs", "main")
    before = repository_state.record(repo, place)
    worker_git(project, "branch", "--force", "theirs", "feature", cwd=place)
    project.git("branch", "--force", "mine", "feature")

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert (project.sha("mine"), project.sha("theirs")) == (feature, main)


def test_what_steers_git_goes_back_and_what_replaced_it_is_kept_under_another_name(
    project: Project, repo: Repository, place: Path
) -> None:
    hooks = project.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("mine\n")
    project.git("config", "core.editor", "vi")
    project.git("config", "--add", "remote.x.fetch", "a")
    project.git("config", "--add", "remote.x.fetch", "b")
    worktree.create(repo, place, "feature")
    before = repository_state.record(repo, place)
    (hooks / "pre-commit").write_text("theirs\n")
    (hooks / "post-merge").write_text("theirs\n")
    project.git("config", "core.editor", "evil")
    project.git("config", "core.sshCommand", "evil")
    project.git("config", "--unset-all", "remote.x.fetch")

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert found(repo, place, before) == ()
    assert sorted(os.listdir(hooks)) == ["post-merge.kept-by-prloom", "pre-commit", "pre-commit.kept-by-prloom"]
    assert (hooks / "pre-commit").read_text() == "mine\n"
    assert project.git("config", "--get-all", "remote.x.fetch") == "a\nb"


def test_a_configuration_that_git_cannot_read_any_more_goes_back(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    config = project.root / ".git" / "config"
    text = config.read_bytes()
    config.write_text("[broken\n")
    assert texts(repo, place, before) == ["git cannot use its file config any more"]

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert config.read_bytes() == text
    assert config.with_name("config.kept-by-prloom").read_text() == "[broken\n"


@pytest.mark.parametrize("name", ["HEAD", "commondir", "gitdir"])
def test_a_worktree_that_git_does_not_find_any_more_is_found_again(
    project: Project, repo: Repository, place: Path, before: RepositoryState, name: str
) -> None:
    file = project.root / ".git" / "worktrees" / "plan" / name
    text = file.read_text()
    file.write_text("elsewhere\n")
    assert texts(repo, place, before) == [f"git cannot use its file worktrees/plan/{name} any more"]

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert file.read_text() == text
    assert found(repo, place, before) == ()


def test_a_worktree_that_was_taken_off_gits_list_is_back_on_it(
    project: Project, repo: Repository, place: Path, before: RepositoryState
) -> None:
    for file in sorted((project.root / ".git" / "worktrees" / "plan").rglob("*"), reverse=True):
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink()

    undo.undo(repo, place, before, branch="feature", todo="t1")

    assert project.git("rev-parse", "HEAD", cwd=place) == before.head


@pytest.mark.parametrize("earlier", [False, True])
def test_the_file_with_the_workers_name_is_its_owners_alone_whatever_the_umask(
    repo: Repository, place: Path, *, earlier: bool
) -> None:
    worktree.create(repo, place, "feature")
    file = repo.root / worker_identity.FILE
    before = os.umask(0)
    try:
        if earlier:  # as an earlier version has left it
            repository_state.record(repo, place)
            file.chmod(0o666)
        repository_state.record(repo, place)
    finally:
        os.umask(before)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
