"""What is kept of a stream."""

from __future__ import annotations

import re
import tracemalloc

import pytest

from prloom.exchange.worker.bounded_buffer import BoundedBuffer

END = 64 * 1024


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

    cut = re.search(r"\n\[… (\d+) bytes cut …\]\n", text)
    missing = int(cut[1]) if cut else 0
    assert len(text) - len(cut[0] if cut else "") + missing == size
    assert text.startswith(content[:END].decode())
    assert text.endswith(content[-END:].decode())
    assert len(text) < 3.1 * END


def test_a_flood_takes_no_more_memory_than_the_limit():
    stream, chunk = BoundedBuffer(4 * END), b"x" * END
    tracemalloc.start()
    for _ in range(1000):
        stream.add(chunk)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 12 * END
