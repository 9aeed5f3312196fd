"""`prloom exchange publish`, and where the exchange is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import command_server
import git_folder
import pytest

from prloom.exchange.exchange import Exchange

Run = Callable[..., Any]


def test_a_message_is_there_with_all_that_was_said_of_it(run: Run, exchange: Exchange):
    first = run("publish", "jobs", "before").out.strip()

    about = ("--parent", first, "--producer", "me", "--meta", "a=b=c", "--meta", "d=", "--delay", "1h", "--key", "k")
    ran = run("publish", "jobs", "hello", *about, "--concurrency-key", "here", "--max-attempts", "2")

    entry = exchange.inspect(ran.out.strip())
    assert (ran.code, ran.err) == (0, "")
    assert (entry.message.body, entry.message.parent_id, entry.message.conversation_id) == ("hello", first, first)
    assert (entry.message.producer, entry.message.metadata) == ("me", {"a": "b=c", "d": ""})
    assert entry.delivery.available_at == entry.message.created_at + timedelta(hours=1)
    assert (entry.delivery.key, entry.delivery.concurrency_key, entry.delivery.max_attempts) == ("k", "here", 2)


@pytest.mark.parametrize("args", [(), ("-",)])
def test_without_a_body_stdin_is_the_body_byte_by_byte(args: tuple[str, ...], run: Run, exchange: Exchange):
    ran = run("publish", "jobs", *args, stdin="grüße\r\n\0\n".encode())

    assert exchange.message(ran.out.strip()).body == "grüße\r\n\0\n"


def test_the_whole_message_is_printed_as_json_where_that_is_asked_for(run: Run):
    message = run("publish", "jobs", "grüße", "--conversation", "c", "--json").json

    assert (message["topic"], message["body"], message["conversationId"], message["parentId"]) == (
        *("jobs", "grüße", "c", None),
    )


def test_publishing_with_the_same_key_again_prints_the_first_ones_id(run: Run):
    first = run("publish", "jobs", "x", "--key", "k")

    assert run("publish", "jobs", "x", "--key", "k") == first


@pytest.mark.parametrize(
    ("args", "stdin", "code", "text"),
    [
        (("no topic", "x"), "", 1, "'no topic' is not a valid topic; use letters, digits"),
        (("jobs", "x", "--parent", "nobody"), "", 1, "there is no message 'nobody' here"),
        (("jobs", "x", "--meta", "a"), "", 2, "a is not KEY=VALUE"),
        (("jobs", "x", "--delay", "5"), "", 2, "Invalid value for '--delay': it is \"5\", which is not a duration"),
        (("jobs", "x", "--max-attempts", "0"), "", 2, "0 is not in the range"),
        (("jobs",), b"a\xff", 1, "stdin is not valid UTF-8 (at byte 1); messages are text; encode it first"),
        (("jobs", "a\udcff"), "", 1, "the body is not valid UTF-8 text"),
    ],
)
def test_what_cannot_be_published_is_told_in_one_line(
    args: tuple[str, ...], stdin: bytes | str, code: int, text: str, run: Run
):
    ran = run("publish", *args, stdin=stdin)

    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert text in ran.err
    assert run("read").out == ""


def test_a_named_database_is_stronger_than_the_environments(run: Run, exchange: Exchange, tmp_path: Path):
    other = str(tmp_path / "other.db")
    run("publish", "jobs", "there", "--database", other)

    assert exchange.read() == ()
    assert run("read", "--body", "--database", other).out == "there"


def test_in_a_repository_the_exchange_is_among_prlooms_own_files(tmp_path: Path):
    git_folder.make(tmp_path / "repo" / ".git")
    (tmp_path / "repo" / "deep").mkdir()
    environ = {name: value for name, value in os.environ.items() if name != "PRLOOM_EXCHANGE"}

    prloom = partial(command_server.run, env=environ)

    prloom(["exchange", "publish", "jobs", "hello"], cwd=tmp_path / "repo" / "deep")
    read = prloom(["-C", str(tmp_path / "repo"), "exchange", "read", "--body"], cwd=tmp_path)
    lost = prloom(["exchange", "read"], cwd=tmp_path)

    assert read.stdout == "hello"
    assert (tmp_path / "repo" / "prloom" / ".local" / "exchange.db").stat().st_mode & 0o777 == 0o600
    assert (lost.returncode, lost.stderr.count("\n")) == (1, 1)
    assert "or name a database with --database or PRLOOM_EXCHANGE" in lost.stderr


def test_in_a_repository_git_sees_nothing_of_the_exchange(tmp_path: Path):
    repo, linked = tmp_path / "repo", tmp_path / "linked"
    environ = {name: value for name, value in os.environ.items() if name != "PRLOOM_EXCHANGE"}

    def run(*argv: str, cwd: Path) -> str:
        return subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, text=True, check=True).stdout

    run("git", "init", "-q", str(repo), cwd=tmp_path)
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x", cwd=repo)
    run("git", "worktree", "add", "-q", str(linked), cwd=repo)
    for checkout in (repo, linked):
        command_server.run(["exchange", "publish", "jobs", "hello"], cwd=checkout, env=environ)

        assert run("git", "status", "--porcelain", cwd=checkout) == ""
    assert (repo / "prloom" / ".local" / "exchange.db").exists()
    assert not (linked / "prloom").exists()


def test_what_is_no_exchange_is_refused_untouched(run: Run, database: Path):
    database.write_text("shopping list")

    ran = run("publish", "jobs", "x")

    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "is not an exchange" in ran.err
    assert database.read_text() == "shopping list"
