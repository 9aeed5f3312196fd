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
