"""The environment that a command gets, and what is kept of its output."""

from __future__ import annotations

import re
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from prloom.exchange.claim import Claim
from prloom.exchange.message import Message
from prloom.exchange.worker import command
from prloom.exchange.worker.command import BoundedBuffer

END = 64 * 1024
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
    return command.environment(base, message=message, claim=CLAIM, exchange="/x/ä.db", worker="w-1")


def test_the_workers_own_environment_is_inherited_byte_by_byte():
    assert environment_of({b"ODD": b"\xff"})[b"ODD"] == b"\xff"


def test_a_command_finds_its_message_its_exchange_and_its_worker():
    made = environment_of({b"PRLOOM_MESSAGE_ID": b"an outer one"}, pr=7)

    assert made == {
        b"PRLOOM_MESSAGE_ID": b"m",
        b"PRLOOM_TOPIC": b"t",
        b"PRLOOM_CONVERSATION_ID": b"c",
        b"PRLOOM_ATTEMPT": b"3",
        b"PRLOOM_EXCHANGE": "/x/ä.db".encode(),
        b"PRLOOM_WORKER": b"w-1",
        b"PRLOOM_MARK": command.mark("w-1").encode(),
        b"PRLOOM_META_PR": b"7",
    }


def test_what_a_surrounding_worker_said_of_its_own_message_is_not_passed_on():
    assert b"PRLOOM_META_PR" not in environment_of({b"PRLOOM_META_PR": b"7"})


def test_a_key_becomes_a_variables_name():
    assert command.metadata({"pr-number": 7, "a.b c": "x", "größe": 1.5}) == {
        "PRLOOM_META_PR_NUMBER": "7",
        "PRLOOM_META_A_B_C": "x",
        "PRLOOM_META_GR_SSE": "1.5",
    }


def test_of_two_keys_with_one_name_the_first_counts():
    assert command.metadata({"a-b": "first", "a_b": "second"}) == {"PRLOOM_META_A_B": "first"}


def test_values_are_spelled_as_in_json_but_texts_are_themselves():
    given = {"t": True, "f": False, "n": None, "s": 'a "quoted" one'}

    assert list(command.metadata(given).values()) == ["true", "false", "", 'a "quoted" one']


def test_no_value_contains_a_nul():
    assert command.metadata({"x": "a\0b"}) == {"PRLOOM_META_X": "a\ufffdb"}


def test_a_long_value_is_cut_with_a_note_and_what_is_too_much_in_all_is_left_out():
    found = command.metadata({f"k{number}": "ä" * 100_000 for number in range(50)})

    assert all(len(value) < 17_000 and "cut" in value for value in found.values())
    assert 1 < len(found) < 10
    assert sum(len(value.encode()) for value in found.values()) < 256 * 1024


def kept(*chunks: bytes, limit: int) -> str:
    stream = BoundedBuffer(limit)
    for chunk in chunks:
        stream.add(chunk)
    return stream.text()


@pytest.mark.parametrize("limit", [10, 1000, END, END + 5, 10 * END])
def test_what_fits_is_kept_whole_also_where_a_letter_is_torn_between_two_reads(limit: int):
    assert kept("grö".encode()[:3], "grö".encode()[3:] + b"\n", limit=limit) == "grö\n"


@pytest.mark.parametrize("size", [2 * END, 2 * END + 1, 3 * END, 50 * END])
def test_of_what_does_not_fit_the_beginning_and_the_end_are_kept_with_a_note_of_how_much_is_missing(size: int):
    content = bytes(65 + number // 1000 % 26 for number in range(size))

    text = kept(*(content[at : at + 1000] for at in range(0, size, 1000)), limit=2 * END)

    cut = re.search(r"\n\[\.\.\. (\d+) bytes cut \.\.\.\]\n", text)
    missing = int(cut[1]) if cut else 0
    assert len(text) - len(cut[0] if cut else "") + missing == size
    assert text.startswith(content[:END].decode())
    assert text.endswith(content[-END:].decode())
    assert len(text) < 3.1 * END


def test_a_flood_takes_little_more_memory_than_its_bytes_and_its_text():
    limit, chunk = 64 * END, b"x" * END
    stream = BoundedBuffer(limit)
    tracemalloc.start()
    for _ in range(1000):
        stream.add(chunk)
    stream.text()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 2.5 * limit


def test_a_long_text_is_cut_in_the_middle_with_a_note():
    text = "a" * 100 + "b" * 100

    assert command.shortened(text, 20) == "a" * 10 + "\n[… 180 characters cut …]\n" + "b" * 10
    assert command.shortened("x" * 20, 20) == "x" * 20
