from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prloom.core.commands import permission
from prloom.model.permission import PermissionRequest
from prloom.model.record import Timestamp
from prloom.testing import a_comment

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

    asked = "An agent asks (`ask-1`):\n\n> Tabs?\n\n- yes\n- no\n\n"
    assert text == f"{asked}The next comment here by a trusted person is the answer."


def test_a_question_in_review_md_says_that_an_item_there_counts_once_it_is_approved_while_a_worker_runs() -> None:
    text = permission.question_text("ask-1", "Tabs?", (), in_file=True)

    assert text.splitlines()[-1] == (
        "Answer with `w` in `prloom top`, or in `prloom web`. You can also write an item under `## ready`; "
        "while a worker runs, it counts once you have run `prloom approve`."
    )


@pytest.mark.parametrize(
    ("title", "body", "answer"),
    [
        ("ann commented", "pg\n", "pg"),
        ("ann commented", "> Which database?\n\npg", "> Which database?\n\npg"),
        ("ann approved", "", "ann approved"),
        ("pg, as in the other…", "pg, as in the other service", "pg, as in the other service"),
    ],
)
def test_an_answer_is_what_a_person_wrote_and_not_the_title_that_a_bridge_gave_it(
    title: str, body: str, answer: str
) -> None:
    assert permission.answer_text(a_comment(body, title=title)) == answer
