from __future__ import annotations

from datetime import UTC, datetime

from prloom.core.commands import permission
from prloom.model.permission import PermissionRequest
from prloom.model.record import Timestamp

NOW = Timestamp.of(datetime(2026, 11, 23, tzinfo=UTC))


def request(command: str) -> PermissionRequest:
    return PermissionRequest(
        id="ask-1",
        plan="pr-7",
        run="run-1",
        stage="worker",
        plugin="p",
        tool="deploy",
        arguments={"command": command},
        since=NOW,
        until=NOW,
    )


def test_a_person_who_is_asked_sees_that_an_argument_is_longer_than_what_is_shown() -> None:
    command = f"echo {'x' * 300}; rm -rf /"

    assert permission.arguments_line(request("ls")) == "command='ls'"
    assert permission.arguments_line(request(command)).endswith("… (317 characters)")


def test_a_question_on_a_pull_request_is_answered_by_the_next_comment() -> None:
    text = permission.question_text("ask-1", "Tabs?", ("yes", "no"), in_file=False)

    assert text.splitlines()[0] == "An agent asks (`ask-1`):"
    assert text.splitlines()[-1] == "The next comment here by a trusted person is the answer."


def test_a_question_in_review_md_says_that_an_item_there_counts_once_it_is_approved_while_a_worker_runs() -> None:
    text = permission.question_text("ask-1", "Tabs?", (), in_file=True)

    assert text.splitlines()[-1] == (
        "Answer with `w` in `prloom top`, or in `prloom web`. You can also write an item into this file; "
        "while a worker runs, it counts once you have run `prloom approve`."
    )
