from __future__ import annotations

import json
import os
import select
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import git

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project


def a_trap(path: Path, mark: Path) -> Path:
    return executable.write(path, f"#!/bin/sh\ntouch '{mark}'\ncat\n")


def a_git_that_tells(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git first in PATH that prints how it was called."""
    told = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd(), os.getsid(0)]))"
    executable.write(folder / "git", f'#!/bin/sh\nexec /usr/bin/env python3 -c "{told}" "$@"\n')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_the_answer_is_what_git_wrote(project: Project) -> None:
    assert git.run(["rev-parse", "HEAD"], cwd=project.root) == git.GitResult(0, f"{project.sha('main')}\n".encode())


def test_an_exit_code_that_the_caller_expects_is_an_answer(project: Project) -> None:
    assert git.run(["config", "no.such"], cwd=project.root, codes=(0, 1)).code == 1


def test_a_refusal_is_one_line_that_says_where_and_why(project: Project) -> None:
    with pytest.raises(WorkspaceError) as caught:
        git.run(["rev-parse", "--verify", "nowhere"], cwd=project.root)

    assert str(caught.value) == f"git rev-parse failed in {project.root}: fatal: Needed a single revision"


def test_the_line_that_says_what_is_wrong_is_chosen_before_what_git_was_about_to_do() -> None:
    said = "Preparing worktree (checking out 'x')\nfatal: 'x' is already checked out\nhint: no\n"

    assert git.reason(said, 128) == "fatal: 'x' is already checked out"
    assert git.reason("usage: git x\n  more", 129) == "usage: git x"
    assert git.reason("", 1) == "it ended with exit code 1 and no message"
    assert git.reason(" \n", -9) == "it ended with signal 9 and no message"


def test_what_git_says_is_shown_and_not_obeyed() -> None:
    assert git.reason("fatal: bad \x1b]0;title\x07 \x9b name", 1) == "fatal: bad \\x1b]0;title\\x07 \\x9b name"


def test_passwords_in_addresses_are_not_repeated() -> None:
    said = "fatal: unable to access 'https://me:ghp_@secret@example.org/x.git/': 403"

    assert git.reason(said, 128) == "fatal: unable to access 'https://…@example.org/x.git/': 403"


def test_a_git_that_hangs_is_ended_with_all_that_it_started(project: Project, tmp_path: Path) -> None:
    alive = tmp_path / "alive"  # a pipe whose other end the helper and its child hold as long as they live
    os.mkfifo(alive)
    watch = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    helper = executable.write(
        tmp_path / "helper", f"#!/bin/sh\ntrap '' TERM\nexec 3> {alive}\nsleep 600 &\necho up >&3\nwait\n"
    )
    project.git("config", "remote.origin.url", "ssh://nowhere.invalid/x")
    project.git("config", "core.sshCommand", str(helper))

    told = b""
    for seconds in (2, 16, 64):
        with pytest.raises(WorkspaceError, match=rf"git fetch in .* took longer than {seconds} s and was stopped"):
            git.run(["fetch", "origin"], cwd=project.root, limit=timedelta(seconds=seconds))
        with suppress(BlockingIOError):
            told = os.read(watch, 10)
        if told:  # on a busy machine, the helper may not have begun in the first of these times
            break

    assert told == b"up\n"
    ended = select.poll()
    ended.register(watch, select.POLLHUP)
    assert ended.poll(60_000)
    os.close(watch)


def test_the_time_limit_is_no_problem_for_output_of_any_size(project: Project) -> None:
    project.commit({"big": "x" * 3_000_000}, branch="big")

    assert len(git.run(["cat-file", "blob", "refs/heads/big:big"], cwd=project.root).out) == 3_000_000


def test_nothing_of_the_caller_leads_git_elsewhere(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
    ):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")

    assert git.run(["rev-parse", "--show-toplevel"], cwd=project.root).out.strip() == str(project.root)
    assert git.run(["status", "--porcelain"], cwd=project.root).out == ""


def test_git_gets_an_environment_of_its_own(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_git_that_tells(tmp_path / "bin", monkeypatch)
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "ANTHROPIC_API_KEY", "GIT_TRACE", "GIT_ASKPASS", "DISPLAY", "LD_PRELOAD"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")

    _, seen, cwd, session = json.loads(git.run(["x"], cwd=project.root).out)

    assert cwd == str(project.root)
    assert session != os.getsid(0)  # no terminal to ask at
    assert seen["SSH_AUTH_SOCK"] == "/agent"
    assert (seen["LC_ALL"], seen["GIT_TERMINAL_PROMPT"], seen["GIT_OPTIONAL_LOCKS"]) == ("C", "0", "0")
    assert not {"GITHUB_TOKEN", "GH_TOKEN", "ANTHROPIC_API_KEY", "GIT_TRACE", "GIT_ASKPASS", "DISPLAY"} & set(seen)
    assert "LD_PRELOAD" not in seen
    assert "GIT_DIR" not in seen


def test_the_precautions_stand_before_every_command(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_git_that_tells(tmp_path / "bin", monkeypatch)

    argv, seen, *_ = json.loads(git.run(["log", "x"], cwd=project.root, git_dir=tmp_path).out)

    settings = {argv[at + 1] for at, word in enumerate(argv) if word == "-c"}
    assert {"core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.ext.allow=never"} <= settings
    assert {"safe.bareRepository=explicit", "submodule.recurse=false", "commit.gpgSign=false"} <= settings
    assert argv[-5:] == ["log", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "x"]
    assert (seen["GIT_DIR"], seen["GIT_WORK_TREE"]) == (str(tmp_path), str(project.root))


def test_a_program_called_git_in_the_worktree_is_not_git(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = project.root / "pwned"
    a_trap(project.root / "git", mark)
    a_trap(project.root / "bin" / "git", mark)
    monkeypatch.setenv("PATH", f".::bin:{os.environ['PATH']}")
    monkeypatch.chdir(project.root)

    git.run(["rev-parse", "HEAD"], cwd=project.root)

    assert not mark.exists()


def test_a_missing_git_is_said_with_what_to_do(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(WorkspaceError, match="git was not found in PATH; install it from"):
        git.run(["status"], cwd=project.root)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"gone is not a folder; git cannot run there"):
        git.run(["status"], cwd=tmp_path / "gone")


@pytest.mark.parametrize("word", ["a\0b", "x" * 3_000_000])
def test_an_argument_that_no_process_can_take_is_said(project: Project, word: str) -> None:
    with pytest.raises(WorkspaceError, match="git rev-parse could not be started in"):
        git.run(["rev-parse", word], cwd=project.root)


def test_a_file_system_monitor_is_not_run(project: Project) -> None:
    mark = project.root.parent / "pwned"
    a_trap(project.root / "monitor", mark)
    project.git("config", "core.fsmonitor", "./monitor")

    git.run(["status", "--porcelain"], cwd=project.root)

    assert not mark.exists()


def test_no_driver_shows_a_difference(project: Project) -> None:
    mark = project.root.parent / "pwned"
    a_trap(project.root / "driver", mark)
    (project.root / "README.md").write_text("changed\n")
    (project.root / ".gitattributes").write_text("* diff=x\n")
    for key in ("diff.external", "diff.x.command", "diff.x.textconv"):
        project.git("config", key, "./driver")

    for argv in (["diff"], ["log", "-p"], ["show"], ["diff-index", "-p", "HEAD"]):
        assert "driver" not in git.run(argv, cwd=project.root).out

    assert not mark.exists()


def test_a_transport_that_is_a_program_is_refused(project: Project) -> None:
    mark = project.root.parent / "pwned"
    project.git("config", "protocol.ext.allow", "always")

    with pytest.raises(WorkspaceError, match="transport 'ext' not allowed"):
        git.run(["fetch", f"ext::touch {mark}"], cwd=project.root)

    assert not mark.exists()


def test_a_repository_among_the_files_of_a_branch_is_not_used(project: Project) -> None:
    mark = project.root.parent / "pwned"
    inner = project.root / "inner"
    project.git("init", "--quiet", "--bare", str(inner))
    project.git("config", "core.worktree", ".", cwd=inner)
    project.git("config", "core.fsmonitor", f"touch {mark}", cwd=inner)

    with pytest.raises(WorkspaceError, match=r"safe\.bareRepository"):
        git.run(["status"], cwd=inner)

    assert not mark.exists()


def test_status_does_not_look_into_submodules(project: Project) -> None:
    mark = project.root.parent / "pwned"
    inner = project.root / "inner"
    inner.mkdir()
    project.git("init", "--quiet", cwd=inner)
    (inner / "file").write_text("x\n")
    project.git("add", ".", cwd=inner)
    project.git("commit", "--quiet", "--message=x", cwd=inner)
    project.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    (project.root / ".gitmodules").write_text('[submodule "inner"]\npath = inner\nurl = ./x\nignore = none\n')
    trap = a_trap(project.root.parent / "trap", mark)
    project.git("config", "filter.x.clean", str(trap), cwd=inner)
    (inner / ".gitattributes").write_text("* filter=x\n")
    (inner / "file").write_text("y\n")

    git.run(["status", "--porcelain"], cwd=project.root)

    assert not mark.exists()


def test_only_what_talks_to_a_remote_gets_what_may_sign_in(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_git_that_tells(tmp_path, monkeypatch)
    own = {"GH_TOKEN": "t", "GIT_ASKPASS": "/ask", "GNUPGHOME": "/keys", "GCM_CREDENTIAL_STORE": "cache"}
    for name, value in (own | {"GIT_DIR": "/elsewhere", "GIT_INDEX_FILE": "/elsewhere"}).items():
        monkeypatch.setenv(name, value)

    for command, seen in (("fetch", own), ("push", own), ("ls-remote", own), ("rev-parse", {})):
        _, environ, *_ = json.loads(git.run([command], cwd=project.root, drivers=()).out)
        assert {name: value for name, value in environ.items() if name in own} == seen
        assert not {"GIT_DIR", "GIT_INDEX_FILE"} & environ.keys()


def test_settings_of_the_environment_reach_a_remote_and_drivers_stay_off(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_git_that_tells(tmp_path, monkeypatch)
    for name, value in (("COUNT", "1"), ("KEY_0", "credential.helper"), ("VALUE_0", "!gh auth git-credential")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)

    _, environ, *_ = json.loads(git.run(["fetch"], cwd=project.root, drivers=(("filter.a=b.clean", ""),)).out)

    assert {
        name: value for name, value in environ.items() if name.startswith("GIT_CONFIG_") and name[-1].isdigit()
    } == {
        "GIT_CONFIG_KEY_0": "credential.helper",
        "GIT_CONFIG_VALUE_0": "!gh auth git-credential",
        "GIT_CONFIG_KEY_1": "filter.a=b.clean",
        "GIT_CONFIG_VALUE_1": "",
    }
    assert environ["GIT_CONFIG_COUNT"] == "2"
