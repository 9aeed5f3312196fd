from collections.abc import Callable
from pathlib import Path

import layouts
import pytest

from prloom.cli import context
from prloom.cli.context import Options
from prloom.errors import ConfigError, PrloomError

Git = Callable[..., None]


@pytest.fixture
def git() -> Git:
    return layouts.git


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    """A repository with one commit."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
    return root


def test_the_repository_is_the_nearest_one_at_or_above(repo: Path) -> None:
    below = repo / "src/deep"
    below.mkdir(parents=True)

    assert context.repo_root(Options(str(repo))) == repo
    assert context.repo_root(Options(str(below))) == repo


def test_a_folder_outside_any_repository_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        PrloomError, match=r"^no git repository at /.* or above; go into one, or name it with `prloom -C"
    ):
        context.repo_root(Options(str(tmp_path)))


def test_in_a_plans_worktree_the_configuration_is_that_of_its_checkout(repo: Path, git: Git) -> None:
    (repo / "prloom.toml").write_text('worktrees_dir = "trees"')
    git(repo, "worktree", "add", "--quiet", "trees/pr-7")
    (repo / "trees/pr-7/prloom.toml").write_text('base_branch = "evil"')

    inside = Options(str(repo / "trees/pr-7"))

    assert context.repo_root(inside) == repo
    assert context.worktrees_dir(inside) == repo / "trees"
    assert context.config(inside).base_branch == "main"


def test_a_worktree_that_a_person_made_leads_to_the_same_checkout(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "mine"))

    assert context.repo_root(Options(str(tmp_path / "mine"))) == repo


def test_flags_and_presets_reach_the_configuration(repo: Path) -> None:
    (repo / "prloom.toml").write_text('[presets.careful.trust]\nminimum = "admin"')

    chosen = context.config(Options(str(repo), ("base_branch=trunk",)), preset="careful")

    assert (chosen.base_branch, chosen.trust.minimum) == ("trunk", "admin")


def test_the_environment_reaches_the_configuration(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRLOOM_WORKTREES_DIR", "from-environment")

    assert context.worktrees_dir(Options(str(repo))) == repo / "from-environment"


def test_a_mistake_in_the_configuration_comes_through(repo: Path) -> None:
    with pytest.raises(ConfigError, match="unknown key x"):
        context.config(Options(str(repo), ("x=1",)))
