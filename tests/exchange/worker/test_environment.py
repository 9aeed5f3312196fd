"""The environment that a command gets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from prloom.exchange.claim import Claim
from prloom.exchange.message import Message
from prloom.exchange.worker import environment

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CLAIM = Claim(
    id="c",
    message_id="m",
    worker_group="g",
    worker_instance_id="i",
    claimed_at=NOW,
    lease_until=NOW + timedelta(minutes=1),
    status="active",
    attempt=3,
)


def environment_of(base: dict[bytes, bytes], **metadata: Any) -> dict[bytes, bytes]:
    message = Message(id="m", topic="t", body="", created_at=NOW, conversation_id="c", metadata=metadata)
    return environment.environment(base, message=message, claim=CLAIM, exchange="/x/ä.db", worker="w-1")


def test_the_workers_own_environment_is_inherited_byte_by_byte():
    assert environment_of({b"ODD": b"\xff"})[b"ODD"] == b"\xff"


def test_a_command_finds_its_message_its_exchange_and_its_worker():
    made = environment_of({b"PRLOOM_MESSAGE_ID": b"an outer one"})

    assert made == {
        b"PRLOOM_MESSAGE_ID": b"m",
        b"PRLOOM_TOPIC": b"t",
        b"PRLOOM_CONVERSATION_ID": b"c",
        b"PRLOOM_ATTEMPT": b"3",
        b"PRLOOM_EXCHANGE": "/x/ä.db".encode(),
        b"PRLOOM_WORKER": b"w-1",
    }


def test_what_a_surrounding_worker_said_of_its_own_message_is_not_passed_on():
    assert b"PRLOOM_META_PR" not in environment_of({b"PRLOOM_META_PR": b"7"})


def test_a_key_becomes_a_variables_name():
    assert environment.metadata({"pr-number": 7, "a.b c": "x", "größe": 1.5}) == {
        "PRLOOM_META_PR_NUMBER": "7",
        "PRLOOM_META_A_B_C": "x",
        "PRLOOM_META_GR_SSE": "1.5",
    }


def test_of_two_keys_with_one_name_the_first_counts():
    assert environment.metadata({"a-b": "first", "a_b": "second"}) == {"PRLOOM_META_A_B": "first"}


def test_values_are_spelled_as_in_json_but_texts_are_themselves():
    given = {"t": True, "f": False, "n": None, "s": 'a "quoted" one'}

    assert list(environment.metadata(given).values()) == ["true", "false", "", 'a "quoted" one']


def test_no_value_holds_a_nul():
    assert environment.metadata({"x": "a\0b"}) == {"PRLOOM_META_X": "a\ufffdb"}


def test_a_long_value_is_cut_with_a_note_and_what_is_too_much_in_all_is_left_out():
    found = environment.metadata({f"k{number}": "ä" * 100_000 for number in range(50)})

    assert all(len(value) < 17_000 and "cut" in value for value in found.values())
    assert 1 < len(found) < 10
    assert sum(len(value.encode()) for value in found.values()) < 256 * 1024
