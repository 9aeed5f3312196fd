"""`prloom exchange check`, `inspect`, `stats`: how things stand."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import layouts
import pytest

from prloom.cli import main
from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.exchange import Exchange

Run = Callable[..., Any]


def claim(exchange: Exchange) -> ClaimedMessage:
    claimed = exchange.claim("jobs", max_attempts=1)
    assert claimed is not None
    return claimed


SETTLED: dict[str, tuple[int, Callable[[Exchange], object]]] = {
    "success": (0, lambda exchange: claim(exchange).complete("done")),
    "failure": (3, lambda exchange: claim(exchange).fail("broken")),
    "timed_out": (4, lambda exchange: claim(exchange).time_out("late")),
    "pending": (5, lambda exchange: claim(exchange).release()),
    "dead": (6, lambda exchange: claim(exchange).fail("gone", retry=True)),
    "cancelled": (7, lambda exchange: exchange.cancel(exchange.read()[0].id)),
}


@pytest.mark.parametrize("command", ["check", "inspect", "cancel", "retry"])
def test_what_is_no_text_is_unknown_in_one_line(command: str, run: Run):
    ran = run(command, "a\udcff")

    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "there is no " in ran.err


def test_the_exchange_is_the_one_that_the_repository_configures(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PRLOOM_EXCHANGE")
    root = layouts.plain(tmp_path)
    (root / "prloom.toml").write_text('[exchange]\nurl = "postgresql:///none?host=/no/such/folder"\n')
    monkeypatch.chdir(root)

    ran = run("stats")

    assert ran.code == 1
    assert "/no/such/folder" in ran.err
    assert not (root / "prloom/.local/exchange.db").exists()


@pytest.mark.parametrize("outcome", SETTLED)
def test_a_conversations_outcome_is_told_and_is_the_exit_code(outcome: str, run: Run, exchange: Exchange):
    code, settle = SETTLED[outcome]
    asked = exchange.publish("jobs", "x")

    settle(exchange)

    ran = run("check", asked.id)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.startswith(f"{outcome.replace('_', ' ')}  {asked.id}  ")
    document = run("check", asked.id, "--json").json
    assert (document["conversationId"], document["outcome"]) == (asked.id, outcome)
    assert document["messages"][0]["id"] == asked.id


def test_any_message_names_its_conversation(run: Run, exchange: Exchange):
    asked = exchange.publish("jobs", "x")
    settled = claim(exchange).complete("done")
    assert settled.reply is not None

    assert run("check", settled.reply.id) == run("check", asked.id)


def test_all_that_happened_to_a_message_is_shown(run: Run, exchange: Exchange):
    asked = exchange.publish("jobs", "x\x1b[2J", producer="me", metadata={"pr": 7}, key="k", concurrency_key="here")
    exchange.claim("jobs", group="old", instance="w1").release("tired")  # type: ignore[union-attr]
    exchange.claim("jobs", group="new", instance="w2", lease=timedelta(minutes=90))

    out = run("inspect", asked.id).out
    document = run("inspect", "--conversation", asked.id, "--json").json

    for text in ("leased", "by me", "pr", "7", "attempts", "1 of 5", "key", "here", r"x\x1b[2J", "lease ends in 1 h"):
        assert text in out
    assert "attempt 1  old/w1  claimed " in out
    assert "cancelled after" in out
    assert ": tired" in out
    assert "attempt 1  new/w2  claimed " in out
    assert [each["workerInstanceId"] for each in document["entries"][0]["claims"]] == ["w1", "w2"]


@pytest.mark.parametrize("args", [(), ("m", "--conversation", "c")])
def test_inspect_is_told_one_thing_to_look_at(args: tuple[str, ...], run: Run):
    ran = run("inspect", *args)

    assert (ran.code, "give a MESSAGE or --conversation C" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            ("check", "nobody"),
            "there is no conversation 'nobody' here; list the messages with `prloom exchange read`",
        ),
        (("inspect", "nobody"), "there is no message 'nobody' here"),
        (("inspect", "--conversation", "nobody"), "there is no conversation 'nobody' here"),
        (("cancel", "nobody"), "there is no message 'nobody' here"),
        (("retry", "nobody"), "there is no message 'nobody' here"),
        (("notify", "nobody", "--once"), "there is no conversation 'nobody' here"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(command: tuple[str, ...], text: str, run: Run):
    ran = run(*command)

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert text in ran.err


def test_each_topic_has_its_row(run: Run, exchange: Exchange):
    assert run("stats").out == "No messages yet; publish one with `prloom exchange publish`.\n"
    exchange.publish("jobs", "1")
    exchange.publish("jobs", "2")
    claim(exchange).complete("done")

    out = run("stats").out
    topics = {each["topic"]: each for each in run("stats", "--json").json["topics"]}

    assert "OLDEST READY" in out
    assert (topics["jobs"]["ready"], topics["jobs"]["done"], topics["jobs.completed"]["ready"]) == (1, 1, 1)
    assert topics["jobs"]["oldestReadyAgeMs"] >= 0
    assert topics["jobs"]["publishedPerMinute"] > 0
    assert "oldestReadyAge" not in topics["jobs"]


class Screen(io.StringIO):
    """What a command writes to a terminal."""

    def isatty(self) -> bool:
        return True


def shown(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> list[str]:
    run("publish", "upper", "x")  # sets where the exchange is
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen()
    with contextlib.redirect_stdout(screen):
        main.run(main.cli, ["exchange", "stats"])
    return click.unstyle(screen.getvalue()).splitlines()


@pytest.mark.parametrize("columns", [40, 59, 60, 72, 79, 80, 100])
def test_the_topics_fit_the_terminal(run: Run, exchange: Exchange, monkeypatch: pytest.MonkeyPatch, columns: int):
    exchange.publish("a.topic.that.has.a.name.of.many.words", "x")
    exchange.publish("upper", "x")

    lines = shown(run, monkeypatch, columns)

    assert max(map(len, lines)) <= columns
    assert any(line.startswith("upper") for line in lines)


def test_a_narrow_terminal_gets_lines_in_place_of_columns(
    run: Run, exchange: Exchange, monkeypatch: pytest.MonkeyPatch
):
    assert shown(run, monkeypatch, 80)[0].split()[:2] == ["TOPIC", "READY"]

    lines = shown(run, monkeypatch, 59)

    assert lines[0] == "upper"
    assert lines[1].startswith("  ready 2, delayed 0, leased 0, done 0, dead 0, ")
    assert " ".join(map(str.strip, lines[1:])).endswith("in/min 0.4, out/min 0.0")
