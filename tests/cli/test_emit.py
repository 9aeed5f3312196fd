from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import command_server
import pytest
from command_line import Prloom, Refusal
from stage import Stage

pytestmark = pytest.mark.usefixtures("pr_7")


def appended(stage: Stage) -> list[Mapping[str, Any]]:
    """Return the events on the plan's bus."""
    journal = stage.local() / "bus/events.jsonl"
    return [json.loads(line)["data"] for line in journal.read_text().splitlines()] if journal.exists() else []


def test_an_event_is_appended_and_its_id_printed(stage: Stage, prloom: Prloom) -> None:
    ran = prloom("emit", "pr-7", "--body", "Please cache it")

    (event,) = appended(stage)
    assert (ran.code, ran.out) == (0, f"{event['id']}\n")
    assert event["id"].startswith("cli-20")
    assert (event["source"], event["type"], event["severity"]) == ("cli", "pr_comment", "info")
    assert (event["body"], event["pr"]) == ("Please cache it", 7)
    assert event["createdAt"].endswith("Z")
    assert "author" not in event


def test_everything_about_it_can_be_said(stage: Stage, prloom: Prloom) -> None:
    said = ("--type", "check_failed", "--author", "ci", "--trust", "write", "--id", "e1", "--title", "CI", "--url", "u")

    assert prloom("emit", "pr-7", "--body", "red", *said, "--severity", "error").out == "e1\n"

    (event,) = appended(stage)
    assert (event["id"], event["type"], event["title"], event["url"]) == ("e1", "check_failed", "CI", "u")
    assert (event["author"], event["severity"]) == ({"login": "ci", "trust": "write", "bot": False}, "error")


@pytest.mark.parametrize(
    ("options", "author"),
    [
        ((), None),
        (("--author", "ann"), {"login": "ann", "trust": "operator", "bot": False}),
        (("--author", "eve", "--trust", "none"), {"login": "eve", "trust": "none", "bot": False}),
        (("--trust", "read"), {"login": "cli", "trust": "read", "bot": False}),
    ],
)
def test_it_speaks_for_the_operator_unless_trust_says_otherwise(
    stage: Stage, prloom: Prloom, options: tuple[str, ...], author: Any
) -> None:
    prloom("emit", "pr-7", "--body", "b", *options)

    assert appended(stage)[0].get("author") == author


def test_the_body_can_come_from_stdin(stage: Stage, prloom: Prloom) -> None:
    prloom("emit", "pr-7", "--body", "-", stdin="grüße\n\xff".encode("latin-1"))

    assert appended(stage)[0]["body"] == "gr\ufffd\ufffde\n\ufffd"


def test_a_file_of_events_is_appended_whole(stage: Stage, prloom: Prloom, tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_text('[{"id": "a", "source": "ci", "type": "t"}, {"id": "b", "source": "ci", "type": "t"}]')

    assert prloom("emit", "pr-7", "--file", str(file)).out == "a\nb\n"
    assert [event["id"] for event in appended(stage)] == ["a", "b"]


def test_events_can_come_from_stdin(stage: Stage, prloom: Prloom) -> None:
    ran = prloom("emit", "pr-7", "--file", "-", stdin='{"id": "a", "source": "ci", "type": "t"}\n')

    assert (ran.code, ran.out) == (0, "a\n")


def test_a_file_that_is_not_json_is_named_with_the_place_and_a_way_to_fix_it(
    stage: Stage, refused: Refusal, tmp_path: Path
) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"id": "a",\n "source": ci}')

    assert refused("emit", "pr-7", "--file", str(file)) == (
        f"prloom: {file}: line 2, column 12: not valid JSON: Expecting value; fix that place, or write one event such "
        'as {"id": "ci-1", "source": "ci", "type": "pr_comment", "body": "…"}\n'
    )


@pytest.mark.parametrize("length", [512, 513])
async def test_an_id_is_read_by_the_dispatcher_or_refused(stage: Stage, prloom: Prloom, length: int) -> None:
    ran = prloom("emit", "pr-7", "--body", "b", "--id", "x" * length)
    await stage.tick()

    if length > 512:
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("prloom: --id has 513 characters; use at most 512")
    assert sum(map(len, stage.triager.batches)) == len(appended(stage)) == (length <= 512)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--body", "b", "--id", ""), "--id is empty; give it a value, or remove it"),
        (("--body", "b", "--author", "", "--trust", "none"), "--author is empty; give it a value, or remove it"),
        (("--body", "b", "--type", " "), "--type is empty; give it a value, or remove it"),
        ((), "give --body TEXT or --file FILE"),
        (("--body", "b", "--file", "f"), "give --body TEXT or --file FILE"),
        (("--file", "f", "--id", "e"), "--file can be combined only with --trust; the events contain everything else"),
        (("--body", "  "), "the body is empty; write what the event is about"),
        (("--body", "b", "--trust", "some"), "Invalid value for '--trust': 'some' is not one of 'none', 'read'"),
    ],
)
def test_a_mistake_of_usage_is_one_line_and_exit_code_2(
    stage: Stage, refused: Refusal, args: tuple[str, ...], told: str
) -> None:
    assert refused("emit", "pr-7", *args, code=2).startswith(f"prloom: {told}")
    assert appended(stage) == []


def test_a_file_that_is_not_there_and_a_plan_that_is_not_are_one_line(stage: Stage, prloom: Prloom) -> None:
    assert prloom("emit", "pr-7", "--file", "/no/such").err == (
        "prloom: /no/such cannot be read: No such file or directory; name a file that contains events as JSON\n"
    )
    assert prloom("emit", "pr-8", "--body", "b").err == "prloom: no plan pr-8; did you mean pr-7?\n"


def test_many_at_once_lose_nothing(stage: Stage) -> None:
    commands = [["emit", "pr-7", "--body", "b", "--id", f"e{number}"] for number in range(4)]

    many = [command_server.begin(each, cwd=stage.root, env=os.environ) for each in commands]

    assert [process.wait(command_server.LIMIT) for process in many] == [0] * 4
    assert sorted(event["id"] for event in appended(stage)) == ["e0", "e1", "e2", "e3"]
