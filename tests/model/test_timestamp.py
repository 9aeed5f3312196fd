"""Times are datetimes in memory and text on disk; what prloom wrote is written again to the letter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from prloom.model import record
from prloom.model.decision import Decision, Deferral
from prloom.model.plan import Adopted, Plan
from prloom.model.record import Record, Timestamp
from prloom.model.state import DeliveryState, DispatchState, IssuedPost
from prloom.storage import json_codec

_WAIT = (
    b'{"owner":"quiet","reason":"loud","attempts":2,"firstDeferredAt":"2026-11-20T23:54:50.288Z",'
    b'"deferredUntil":"2026-11-21T04:54:50.000Z","deadline":"2026-11-21T06:54:50.999Z","onExpire":"pass"}'
)
_PLAN = (
    b'{"id":"p","branch":"b","title":"","status":"active","pr":7,"forge":"github","url":"u","preset":"x",'
    b'"createdAt":"2026-11-20T23:54:50.288Z","lastError":"x","lastErrorAt":"2026-11-21T04:54:50.000Z","blocked":false}'
)
# As prloom wrote them when it kept times as texts in memory, too; those of an event are as its source wrote them.
GOLDEN: list[tuple[type[Record], bytes]] = [
    (
        Decision,
        b'{"seq":3,"stage":"s","by":"b","changes":[{"eventId":"e1","verdict":"deferred","state":"deferred",'
        b'"intake":{"position":[1,5],"type":"t","source":"s","digest":"d","createdAt":"yesterday",'
        b'"writtenAt":"2026-11-21"},"deferral":' + _WAIT + b'}],"deliveries":[{"actionId":"a-1","state":"retrying",'
        b'"attempts":1,"nextTry":"2026-11-21T06:54:50.999Z"}]}',
    ),
    (
        DispatchState,
        b'{"seq":3,"log":[1,0,0],"cursor":[1,0,0],"outbox":[1,0,0],"open":{"e1":{"id":"e1","state":"deferred",'
        b'"position":[1,5],"type":"t","source":"s","digest":"d","since":"2026-11-20T23:54:50.288Z",'
        b'"createdAt":"yesterday","writtenAt":"2026-11-21","deferral":' + _WAIT + b","
        b'"firstDeferredAt":"2026-11-21T04:54:50.000Z","deferredAt":"2026-11-21T06:54:50.999Z"}},"done":{},'
        b'"queue":{"a-1":{"id":"a-1","position":[1,0],"target":"github","since":"2026-11-20T23:54:50.288Z",'
        b'"nextTry":"2026-11-21T04:54:50.000Z","triedAt":"2026-11-21T06:54:50.999Z"}},"delivered":0,"todos":{},'
        b'"paused":false,"rebaseRequested":false}',
    ),
    (
        DeliveryState,
        (
            b'{"attempts":{"a-1":{"count":1,"startedAt":"2026-11-20T23:54:50.288Z"}},'
            b'"receipts":[{"actionId":"a-1","at":"2026-11-21T04:54:50.000Z","url":"u","remoteId":"r"}]}'
        ),
    ),
    (Plan, _PLAN),
    (Adopted, b'{"plan":' + _PLAN + b',"worktree":"/w","countedAt":"2026-11-21T06:54:50.999Z"}'),
    (IssuedPost, b'{"actionId":"a-1","found":true,"writtenAt":"2026-11-21"}'),
]


def known(value: Any, golden: Any) -> Any:
    """Return a JSON value without the fields that the golden one lacks."""
    match value, golden:
        case dict(), dict():
            return {key: known(item, golden[key]) for key, item in value.items() if key in golden}
        case list(), list():
            return [known(item, other) for item, other in zip(value, golden, strict=True)]
    return value


@pytest.mark.parametrize(("kind", "line"), GOLDEN, ids=[kind.__name__ for kind, _ in GOLDEN])
def test_what_was_written_is_read_and_written_again_to_the_letter(kind: type[Record], line: bytes) -> None:
    decoded = record.decode(kind, line)

    for written in (json_codec.encode(record.sparse(decoded)), json_codec.encode(record.to_wire(decoded))):
        # Fields that a later prloom has are left aside.
        assert json_codec.encode(known(msgspec.json.decode(written), msgspec.json.decode(line))) == line
    assert record.from_wire(kind, msgspec.json.decode(line)) == decoded


def test_half_a_character_in_a_record_keeps_no_time_from_being_written() -> None:
    wait = record.decode(Deferral, _WAIT.replace(b"loud", b"half"))

    written = json_codec.encode(msgspec.structs.replace(wait, reason="cut \ud83d"))

    assert written == _WAIT.replace(b"loud", "cut \ufffd".encode())


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T04:54:50Z", datetime(2026, 11, 21, 4, 54, 50, tzinfo=UTC)),
        ("2026-11-21T04:54:50", datetime(2026, 11, 21, 4, 54, 50, tzinfo=UTC)),
        ("2026-11-21 06:54:50+02:00", datetime(2026, 11, 21, 4, 54, 50, tzinfo=UTC)),
        ("20261121T045450.288Z", datetime(2026, 11, 21, 4, 54, 50, 288_000, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_a_time_of_another_form_is_read_from_an_old_file_and_written_in_ours(text: str, moment: datetime) -> None:
    plan = record.decode(Plan, _PLAN.replace(b"2026-11-20T23:54:50.288Z", text.encode()))

    assert plan.created_at == moment
    assert plan.created_at.tzinfo is UTC
    assert record.to_wire(plan)["createdAt"] == record.iso(moment)


@pytest.mark.parametrize("wrong", ['"yesterday"', "7", '""', '"0001-01-01T00:00:00+02:00"'])
def test_a_wrong_time_is_an_error_that_names_its_field(wrong: str) -> None:
    line = _PLAN.replace(b'"2026-11-20T23:54:50.288Z"', wrong.encode())

    with pytest.raises(msgspec.ValidationError, match=r"`\$\.createdAt`"):
        record.decode(Plan, line)


def test_a_timestamp_is_in_utc_with_milliseconds_and_its_text_is_that_on_disk() -> None:
    at = Timestamp.of(datetime(2026, 11, 21, 1, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=2))))

    assert at == datetime(2026, 11, 20, 23, 0, 0, 999_000, tzinfo=UTC)
    assert f"{at}" == str(at) == "2026-11-20T23:00:00.999Z"


def test_a_timestamp_moves_and_compares_as_any_aware_time_does() -> None:
    at = Timestamp.of(datetime(2026, 11, 21, tzinfo=UTC))

    assert at < at + timedelta(seconds=1) == datetime(2026, 11, 21, 0, 0, 1, tzinfo=UTC)
    assert (at + timedelta(days=1)) - at == timedelta(days=1)


@pytest.mark.parametrize("text", [None, "", "yesterday", "0000-00-00"])
def test_a_text_from_outside_that_is_no_time_is_none(text: str | None) -> None:
    assert record.read_time(text) is None


def test_a_value_that_is_no_json_is_refused_as_msgspec_refuses_it() -> None:
    with pytest.raises(TypeError, match="Encoding objects of type object is unsupported"):
        json_codec.encode({"at": object()})
