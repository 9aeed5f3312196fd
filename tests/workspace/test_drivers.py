"""Drivers that git's configuration names: none runs for prloom, whatever their command looks like."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import git, worktree

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

# Each finds what it runs through the folder that it is started in, and none has to name the file.
COMMANDS = {
    "path": "tools/x",
    "dot": "./tools/x %f",
    "shell": "sh -c 'cd tools && ./x'",
    "quoted": "sh -c 'd=tools; \"$d\"/x'",
    "sourced": 'for f in t*ls/*; do . "$f"; done',
    "make": "make --quiet x",
    "python": "python3 -m stripout",
    "import": "PYTHONPATH=. python3 -c 'import stripout'",
    "perl": "perl -I. -Mstripout -e 1",
    "path variable": "PATH=tools:$PATH x",
    "git": "git -c alias.y='!tools/x' y",
}


def a_branch_with_programs(project: Project, mark: Path) -> None:
    """Commit on `feature` what the commands run, and a file for each driver."""
    attributes = "".join(f"file{number} filter=driver{number}\n" for number in range(len(COMMANDS)))
    shell = f"#!/bin/sh\necho ran >>'{mark}'\ncat\n"
    python = f"open({str(mark)!r}, 'a').write('ran')\n"
    files = {
        ".gitattributes": attributes,
        "tools/x": shell,
        "Makefile": f"x:\n\t@echo ran >>'{mark}'; cat\n",
        "stripout.py": python,
        "stripout.pm": f"open(my $f, '>>', '{mark}'); print $f 'ran'; 1;\n",
        **{f"file{number}": "text\n" for number in range(len(COMMANDS))},
    }
    project.commit(files, branch="feature")


def test_no_filter_runs_whatever_its_command_looks_like(
    project: Project, repo: Repository, place: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    a_branch_with_programs(project, mark)
    for number, command in enumerate(COMMANDS.values()):
        for key in ("smudge", "clean"):
            project.git("config", f"filter.driver{number}.{key}", command)
        project.git("config", f"filter.driver{number}.required", "true")

    worktree.create(repo, place, "feature")
    for file in place.glob("file*"):
        assert file.read_text() == "text\n"
        os.utime(file, (1, 1))  # now git has to read it to know whether it was changed
    assert not worktree.is_dirty(repo, place)
    worktree.remove(repo, place)

    assert not mark.exists()
    assert not place.exists()


def seen_by_git(project: Project, key: str) -> str:
    """Return the value of a key as a command of ours that is not about the configuration sees it."""
    project.git("config", "alias.seen", f"!git config --get '{key}'")
    return git.run(["seen"], cwd=project.root).out.removesuffix("\n")


@pytest.mark.parametrize("name", ["a=b", 'a "quoted" name', "with.dots", "", "-c", "ünï\udcff", "required"])
def test_a_driver_of_any_name_is_turned_off(project: Project, name: str) -> None:
    project.git("config", f"filter.{name}.smudge", "evil")

    assert seen_by_git(project, f"filter.{name}.smudge") == ""


def test_drivers_of_included_files_are_turned_off_too(project: Project, tmp_path: Path) -> None:
    included = tmp_path / "included"
    included.write_text('[filter "x"]\n\tsmudge = evil\n')
    project.git("config", "includeIf.onbranch:main.path", str(included))

    assert seen_by_git(project, "filter.x.smudge") == ""


def test_drivers_of_a_worktrees_own_configuration_are_turned_off_too(
    project: Project, repo: Repository, place: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    project.commit({".gitattributes": "file filter=own\n", "file": "x"}, branch="feature")
    project.git("config", "extensions.worktreeConfig", "true")
    worktree.create(repo, place, "feature")
    project.git("config", "--worktree", "filter.own.clean", f"touch '{mark}'; cat", cwd=place)
    os.utime(place / "file", (1, 1))

    assert not worktree.is_dirty(repo, place)
    assert not mark.exists()


def test_a_broken_configuration_is_said_and_nothing_runs(project: Project) -> None:
    with (project.root / ".git" / "config").open("a") as file:
        file.write("[filter\n")

    with pytest.raises(WorkspaceError, match=r"git config failed in .*bad config line"):
        git.run(["status"], cwd=project.root)


def test_every_kind_of_driver_is_turned_off_once() -> None:
    keys = (
        "filter.x.smudge",
        "filter.x.clean",
        "merge.m.name",
        "merge.tool",
        "hook.h.command",
        "core.bare",
        "merge.ff",
    )

    assert git.drivers_turned_off(keys) == (
        ("filter.x.smudge", ""),
        ("filter.x.clean", ""),
        ("filter.x.process", ""),
        ("filter.x.required", "false"),
        ("merge.m.driver", "false"),
        ("hook.h.enabled", "false"),
    )


@pytest.mark.parametrize(
    "argv", [("update-ref", "refs/heads/x", "HEAD"), ("symbolic-ref", "refs/x", "refs/heads/main")]
)
def test_a_hook_of_the_configuration_is_turned_off_where_refs_move(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    """Only git 2.54 and later would run it; so what git is told counts."""
    said, real = tmp_path / "said", shutil.which("git")
    project.git("config", "hook.h.command", "evil")
    executable.write(tmp_path / "bin/git", f"#!/bin/sh\necho \"$@\" >>'{said}'\nexec '{real}' \"$@\"\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    git.run(argv, cwd=project.root)

    assert "hook.h.enabled=false" in said.read_text().splitlines()[-1]


def test_a_merge_without_its_driver_is_a_conflict_and_not_a_success(project: Project) -> None:
    project.commit({".gitattributes": "file merge=x\n", "file": "a\n"})
    for branch in ("ours", "theirs"):
        project.commit({"file": f"{branch}\n"}, branch=branch)
    project.git("checkout", "--quiet", "--force", "ours")
    project.git("config", "merge.x.driver", "true")

    assert git.run(["merge", "--no-commit", "theirs"], cwd=project.root, codes=(1,)).code == 1
