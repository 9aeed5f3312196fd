"""Completion in bash: of words with colons in them, and of words that the shell would obey."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stage import Stage, said

from prloom.api import Author
from prloom.cli import bash_completion
from prloom.cli.bash_completion import Written

BREAKS = " \t\n\"'@><=;|&(:"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
async def held(stage: Stage) -> Stage:
    """Events that wait for a person, by ids as a bridge makes them, and by ids as a program may."""
    stage.adopt()
    for event_id in ("github:issue_comment:21", "github:issue_comment:22", "$(touch owned)", "x 1;touch owned", "*"):
        stage.append(said(event_id, author=Author("eve", "none")))
    await stage.tick()
    return stage


@pytest.mark.parametrize(
    ("line", "begun"),
    [
        ("prloom approve ", Written("", 0)),
        ("prloom approve github:issue", Written("", 7)),
        ("prloom approve github:issue_comment:2", Written("", 21)),
        (r"prloom approve x\ 1\;to", Written("", 0)),
        ("prloom approve 'github:is", Written("'", 0)),
        ('prloom approve "a b:', Written('"', 0)),
        ("prloom approve 'a' ", Written("", 0)),
        ("prloom log --plan=pr", Written("", 7)),
    ],
)
def test_bash_keeps_what_is_before_the_last_break_that_is_not_quoted(line: str, begun: Written) -> None:
    assert bash_completion.written(line, BREAKS) == begun


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_word_is_written_so_that_bash_reads_it_as_it_is(quote: str) -> None:
    word = '$(touch owned) `id` "it\'s" \\ x;y *?~{a,b}!'

    line = f"printf %s {quote}{bash_completion.quoted(word, quote)}{quote}"

    assert subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout == word


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("prloom approve git", ["github:issue_comment:21", "github:issue_comment:22"]),
        ("prloom approve github:issue_comment:2", ["21", "22"]),
        ("prloom approve github:issue_comment:21", ["21"]),
        (r"prloom approve \$", [r"\$\(touch\ owned\)"]),
        ("prloom approve '$", ["$(touch owned)"]),
        ("prloom approve x", [r"x\ 1\;touch\ owned"]),
        ("prloom approve \\*", [r"\*"]),
        ("prloom appr", ["approve"]),
    ],
)
def test_the_script_offers_what_takes_the_place_of_the_part_that_bash_replaces(
    held: Stage, line: str, replies: list[str]
) -> None:
    script = (
        'eval "$(prloom completion bash)"; compopt() { :; }; '
        f"COMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}; _prloom_completion prloom; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "--norc", "-c", script]
    environ = {**os.environ, "PATH": PATH, "COMP_WORDBREAKS": BREAKS}

    done = subprocess.run(command, cwd=held.root, env=environ, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == replies


@contextmanager
def shell(cwd: Path) -> Iterator[int]:
    """Start bash on a terminal of its own, and yield the other end of it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        environ = {**os.environ, "PATH": PATH, "PS1": "$ ", "TERM": "dumb"}
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environ)
    try:
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def test_on_a_terminal_an_id_with_colons_is_completed_to_its_end(held: Stage) -> None:
    with shell(held.root) as terminal:
        os.write(terminal, b'eval "$(prloom completion bash)"; bind "set bell-style none"; echo rea""dy\n')
        shown = b""
        while b"ready\r\n" not in shown:
            shown += os.read(terminal, 65536)
        os.write(terminal, b"echo prloom; prloom approve git\t")
        while not shown.endswith(b"prloom approve github:issue_comment:2"):
            shown += os.read(terminal, 65536)
        os.write(terminal, b"1\t")
        while not shown.endswith(b"prloom approve github:issue_comment:21 "):
            shown += os.read(terminal, 65536)
