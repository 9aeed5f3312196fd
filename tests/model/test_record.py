from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.model import action, decision, event, hook, plan, record, state
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, Decision, Deferral, Intake
from prloom.model.event import Author, Event, Target
from prloom.model.record import START, Cursor, Position, Record, Timestamp

AT = "2026-11-21T12:00:00.000Z"
TIME = Timestamp(2026, 11, 21, 12, tzinfo=UTC)
KINDS = [
    kind
    for module in (action, decision, event, hook, plan, state)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, Record) and kind.__module__ == module.__name__
]

WAIT = Deferral("quiet", "loud", 2, TIME, TIME, TIME, "pass")
CHANGE = Change(
    event_id="e1",
    verdict="deferred",
    state="deferred",
    reason="loud",
    intake=Intake(
        position=Position(1, 5), type="t", source="s", digest="d", author="ann", created_at=AT, written_at=AT
    ),
    deferral=WAIT,
    plugin="quiet",
    alone=True,
)


def over_the_wire(sample: Record) -> Any:
    return msgspec.json.decode(msgspec.json.encode(record.to_wire(sample)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_names_on_the_wire_are_in_camel_case(kind: type[Record]) -> None:
    assert [field.encode_name for field in msgspec.structs.fields(kind) if "_" in field.encode_name] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_record_is_frozen_and_lets_fields_pass_that_it_does_not_know(kind: type[Record]) -> None:
    config = kind.__struct_config__

    assert config.frozen
    assert not config.forbid_unknown_fields
    assert not config.array_like


def test_there_are_records_to_look_at() -> None:
    assert len(KINDS) > 30


def test_only_a_records_own_optional_fields_are_left_out_where_they_are_none() -> None:
    event = Event(id="e1", source="s", type="t", reply_to=Target("local"), context={"a": None})

    wire = record.to_wire(event)

    assert "url" not in wire
    assert (wire["replyTo"], wire["context"]) == ({"target": "local", "token": None}, {"a": None})


def test_a_decision_says_no_more_than_it_must() -> None:
    assert over_the_wire(Decision(seq=1, stage="intake", by="prloom")) == {"seq": 1, "stage": "intake", "by": "prloom"}


def test_places_in_a_journal_are_short_arrays_and_ordered() -> None:
    wire = over_the_wire(Decision(seq=1, stage="s", by="b", cursor=Cursor(2, 3, 4), changes=(CHANGE,)))

    assert wire["cursor"] == [2, 3, 4]
    assert wire["changes"][0]["intake"]["position"] == [1, 5]
    assert Position(1, 900) < Position(2, 0) < Position(2, 1)
    assert Cursor(1, 0, 0) == START


def test_without_leaves_the_mapping_as_it_was() -> None:
    mapping = {"a": 1, "b": 2}

    assert record.without(mapping, "a", "x") == {"b": 2}
    assert mapping == {"a": 1, "b": 2}


# ---- times


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 11, 21, 6, 54, 50, 288_000, tzinfo=UTC), "2026-11-21T06:54:50.288Z"),
        (datetime(2026, 11, 21, 6, 54, 50, tzinfo=UTC), "2026-11-21T06:54:50.000Z"),
        (datetime(2026, 11, 21, 6, 54, 50, 999_999, tzinfo=UTC), "2026-11-21T06:54:50.999Z"),
        (datetime(2026, 11, 21, 1, tzinfo=timezone(timedelta(hours=2))), "2026-11-20T23:00:00.000Z"),
    ],
)
def test_a_time_is_written_in_utc_with_milliseconds(moment: datetime, text: str) -> None:
    assert record.iso(moment) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T06:54:50.288Z", datetime(2026, 11, 21, 6, 54, 50, 288_000, tzinfo=UTC)),
        ("2026-11-21T06:54:50Z", datetime(2026, 11, 21, 6, 54, 50, tzinfo=UTC)),
        ("2026-11-21T06:54:50", datetime(2026, 11, 21, 6, 54, 50, tzinfo=UTC)),
        ("2026-11-21T08:54:50+02:00", datetime(2026, 11, 21, 6, 54, 50, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_every_form_that_sources_use(text: str, moment: datetime) -> None:
    assert record.moment(text) == moment
    assert record.moment(text).tzinfo is not None


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1700000000", "2026-11-21T25:00:00Z"])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid isoformat string|must be in"):
        record.moment(text)


MOMENTS = st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.timezones())  # noqa: DTZ001 - the zone comes with `timezones`


@given(moment=MOMENTS)
def test_a_time_comes_back_to_the_millisecond(moment: datetime) -> None:
    back = record.moment(record.iso(moment))

    assert timedelta() <= moment - back < timedelta(milliseconds=1)


@given(first=MOMENTS, second=MOMENTS)
def test_times_that_we_wrote_are_ordered_as_their_texts_are(first: datetime, second: datetime) -> None:
    if first.astimezone(UTC) <= second.astimezone(UTC):
        assert record.iso(first) <= record.iso(second)
    else:
        assert record.iso(first) >= record.iso(second)


AT_ONCE = """
import sys, threading
from collections.abc import Mapping
from typing import Literal

import msgspec

from prloom.model import record
from prloom.model.record import Record

sys.setswitchinterval(1e-6)
fields = [(f"f{number}", Literal["a", "b"] | None, None) for number in range(20)]
for number in range(60):
    inner = msgspec.defstruct(f"Inner{number}", fields, bases=(Record,), frozen=True, kw_only=True)
    more = [("a", inner), ("b", Mapping[str, inner] | None, None)]
    outer = msgspec.defstruct(f"Outer{number}", more, bases=(Record,), frozen=True, kw_only=True)
    begin = threading.Barrier(2)

    def one(kind=outer, begin=begin):
        begin.wait()
        record.from_wire(kind, {"a": {"f1": "a"}})

    def other(kind=outer, begin=begin):
        begin.wait()
        record.decode(kind, b'{"a": {"f1": "a"}}')

    threads = [threading.Thread(target=each) for each in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_two_threads_may_read_a_kind_for_the_first_time_at_once():
    ended = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_fields_for_an_encoder_are_what_goes_on_the_wire():
    event = Event(id="e", source="s", type="t", author=Author("ann"), context={"a": [1, None]}, pr=7)
    action = Action(id="a", target=Target("forge", {"pr": 7}), payload=Comment("hello"))
    change = Change(event_id="e", verdict="handled", state="handled")
    decisions = (Decision(seq=1, stage="s", by="b"), Decision(seq=2, stage="s", by="b", changes=(change,), note="n"))

    for each in (event, action, change, *decisions):
        assert msgspec.json.encode(record.sparse(each)) == msgspec.json.encode(record.to_wire(each))


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("ahead", "turned"),
    [
        (-HOUR, False),
        (timedelta(), False),
        (record.SLACK, False),
        (record.SLACK + SECOND, True),
        (HOUR, True),
    ],
)
def test_what_was_written_by_a_time_that_is_yet_to_come_says_that_the_clock_went_back(ahead: timedelta, turned: bool):  # noqa: FBT001 - a row of the table
    assert record.clock_rolled_back(NOW + ahead, NOW) is turned


def test_what_was_never_written_says_nothing():
    assert not record.clock_rolled_back(None, NOW)


@pytest.mark.parametrize(
    ("later", "by"), [(HOUR, timedelta()), (-SECOND, timedelta()), (-HOUR, HOUR)], ids=["on", "put right", "back"]
)
def test_only_a_real_step_back_counts(later: timedelta, by: timedelta):
    assert record.rolled_back_by(NOW, NOW + later) == by


def test_a_decision_of_a_stage_that_this_version_does_not_know_can_be_read():
    assert record.decode(Decision, b'{"seq": 1, "stage": "tomorrow", "by": "prloom"}').stage == "tomorrow"
