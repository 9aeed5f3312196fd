from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prloom.engine.activity.activity_log import ActivityLog
from prloom.model import kinds
from prloom.model.activity import ActivityEvent
from prloom.storage.paths import RepositoryPaths

NOW = datetime(2026, 11, 23, 9, 0, 0, 250_000, tzinfo=UTC)
RUN = "20261123T090000000Z-worker-0123abcd"
KEY = "correct7horse9battery2staple"


def a_log(root: Path) -> ActivityLog:
    runs = root / "worktrees" / "p" / "prloom" / ".local" / "runs" / RUN
    runs.mkdir(parents=True, exist_ok=True)
    return ActivityLog(RepositoryPaths(root, root / "worktrees"), lambda: NOW, {"A_KEY": KEY})


def file_of(root: Path, *, run: bool) -> Path:
    local = root / "worktrees" / "p" / "prloom" / ".local"
    if run:
        local = local / "runs" / RUN
    return local / "activity.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_of_a_plan_is_written_in_an_envelope_and_published(tmp_path: Path) -> None:
    log, heard = a_log(tmp_path), list[ActivityEvent]()
    log.publisher.subscribe(["TODO_UPDATE"], heard.append)
    event = log.record("TODO_UPDATE", {"todos": []}, plan_id="p")
    assert heard == [event]
    (line,) = lines(file_of(tmp_path, run=False))
    assert line == {
        "ts": "2026-11-23T09:00:00.250Z",
        "kind": "activity",
        "schemaVersion": 1,
        "position": None,
        "data": {
            "id": "p:1",
            "seq": 1,
            "type": "TODO_UPDATE",
            "planId": "p",
            "runId": None,
            "stage": None,
            "parentId": None,
            "timestamp": 1795424400250,
            "data": {"todos": []},
        },
    }


def test_events_of_a_run_have_numbers_of_their_own_that_go_on_after_a_restart(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    log.record("TODO_UPDATE", {"todos": []}, plan_id="p")
    for _ in range(2):
        log.record("THOUGHT_COMPLETE", {"thinking": "hm"}, plan_id="p", run_id=RUN)
    again = a_log(tmp_path)
    assert again.record("THOUGHT_COMPLETE", {"thinking": "hm"}, plan_id="p", run_id=RUN).seq == 3
    assert again.record("TODO_UPDATE", {"todos": []}, plan_id="p").seq == 2
    assert [line["data"]["seq"] for line in lines(file_of(tmp_path, run=True))] == [1, 2, 3]


def test_a_torn_last_line_is_removed_and_its_number_used_again(tmp_path: Path) -> None:
    a_log(tmp_path).record("THOUGHT_COMPLETE", {"thinking": "hm"}, plan_id="p", run_id=RUN)
    with file_of(tmp_path, run=True).open("a") as file:
        file.write('{"ts":"2026-11-23T09:00:00.250Z","kind":"activity","da')
    a_log(tmp_path).record("THOUGHT_COMPLETE", {"thinking": "then"}, plan_id="p", run_id=RUN)
    assert [line["data"]["data"]["thinking"] for line in lines(file_of(tmp_path, run=True))] == ["hm", "then"]
    assert [line["data"]["seq"] for line in lines(file_of(tmp_path, run=True))] == [1, 2]


def test_secrets_of_the_environment_and_those_that_are_named_reach_neither_the_file_nor_a_subscriber(
    tmp_path: Path,
) -> None:
    log, heard = a_log(tmp_path), list[ActivityEvent]()
    log.publisher.subscribe(["THOUGHT_COMPLETE"], heard.append)
    forget = log.hide("the token of a run", "a-token-of-4f9b2c7d1e")
    log.record("THOUGHT_COMPLETE", {"thinking": f"{KEY} a-token-of-4f9b2c7d1e"}, plan_id="p")
    assert heard[0].data == {"thinking": "[secret] [secret]"}
    assert KEY not in file_of(tmp_path, run=False).read_text()
    forget()
    log.record("THOUGHT_COMPLETE", {"thinking": "a-token-of-4f9b2c7d1e"}, plan_id="p")
    assert heard[1].data == {"thinking": "a-token-of-4f9b2c7d1e"}


def test_a_subscriber_that_fails_keeps_no_other_from_its_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log, heard = a_log(tmp_path), list[ActivityEvent]()

    def fail(event: ActivityEvent) -> None:
        raise RuntimeError(event.id)

    log.publisher.subscribe(["TODO_UPDATE"], fail)
    log.publisher.subscribe(["TODO_UPDATE", "AGENT_END"], heard.append)
    with caplog.at_level(logging.ERROR):
        log.record("TODO_UPDATE", {"todos": []}, plan_id="p")
    assert len(heard) == 1
    assert "a subscriber to TODO_UPDATE did not get event p:1" in caplog.text


def test_a_subscriber_gets_nothing_after_it_has_unsubscribed(tmp_path: Path) -> None:
    log, heard = a_log(tmp_path), list[ActivityEvent]()
    unsubscribe = log.publisher.subscribe(kinds.ACTIVITY_TYPES, heard.append)
    unsubscribe()
    log.record("TODO_UPDATE", {"todos": []}, plan_id="p")
    assert heard == []


@pytest.mark.parametrize("kind", ["UNKNOWN", "TOOL_CALLED"])
def test_nobody_can_subscribe_to_unknown_or_to_a_type_that_does_not_exist(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ValueError, match=f"there is no activity event '{kind}' to subscribe to; name some of AGENT_S"):
        a_log(tmp_path).publisher.subscribe(["AGENT_END", kind], print)


def test_a_folder_that_is_gone_is_warned_of_once_and_subscribers_get_the_events(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log, heard = a_log(tmp_path), list[ActivityEvent]()
    log.publisher.subscribe(["TODO_UPDATE"], heard.append)
    for _ in range(2):
        log.record("TODO_UPDATE", {"todos": []}, plan_id="another")
    assert [event.seq for event in heard] == [1, 2]
    assert caplog.text.count("activity is not written down: the folder") == 1


def test_a_link_in_the_place_of_the_file_is_not_written_through(tmp_path: Path) -> None:
    log, outside = a_log(tmp_path), tmp_path / "outside"
    outside.write_text("")
    file_of(tmp_path, run=True).symlink_to(outside)
    log.record("THOUGHT_COMPLETE", {"thinking": "hm"}, plan_id="p", run_id=RUN)
    assert outside.read_text() == ""
