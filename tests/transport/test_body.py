"""What an answer holds, unpacked, and never more of it than a bound allows."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterable

import pytest

from prloom.transport import body
from prloom.transport.body import TooLargeError, UnreadableError

MIB = 1 << 20


async def parts(*given: bytes) -> AsyncIterator[bytes]:
    for part in given:
        yield part


def bomb(size: int) -> Iterable[bytes]:
    """Yield so many packed zeros, a thousandth of that in size."""
    packer = zlib.compressobj(wbits=31)
    for _ in range(size // MIB):
        yield packer.compress(bytes(MIB))
    yield packer.flush()


@pytest.mark.parametrize("encoding", ["gzip", "X-GZip", " gzip "])
async def test_what_is_packed_is_unpacked(encoding: str) -> None:
    packed = gzip.compress(b"hello " * 100_000)

    assert await body.read(parts(packed[:7], b"", packed[7:]), encoding, MIB) == b"hello " * 100_000


@pytest.mark.parametrize("encoding", ["", "identity"])
async def test_what_is_not_packed_is_as_it_is(encoding: str) -> None:
    assert await body.read(parts(b"a", b"b"), encoding, 2) == b"ab"


async def test_nothing_is_nothing_however_it_is_said_to_be_packed() -> None:
    assert await body.read(parts(), "gzip", 10) == b""


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_the_bound_is_the_last_byte_that_may_be_there(encoding: str) -> None:
    packed = gzip.compress(bytes(100)) if encoding else bytes(100)

    assert len(await body.read(parts(packed), encoding, 100)) == 100
    with pytest.raises(TooLargeError):
        await body.read(parts(packed), encoding, 99)


async def test_very_much_in_very_little_is_given_up_at_the_bound_and_needs_no_more_memory_than_that() -> None:
    packed = b"".join(bomb(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError):
            await body.read(parts(packed), "gzip", 8 * MIB)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert most < 20 * MIB


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "deflate", "x" * 1000])
async def test_what_is_packed_as_nobody_asked_for_is_not_unpacked(encoding: str) -> None:
    with pytest.raises(UnreadableError, match="which prloom did not request") as caught:
        await body.read(parts(b"x"), encoding, 10)

    assert len(str(caught.value)) < 100


async def test_what_is_not_packed_as_it_says_is_an_error() -> None:
    with pytest.raises(UnreadableError, match="it is not valid gzip"):
        await body.read(parts(b"{}"), "gzip", 10)


async def test_what_ends_in_the_middle_is_an_error() -> None:
    with pytest.raises(UnreadableError, match="its gzip data is incomplete"):
        await body.read(parts(gzip.compress(b"hello")[:-9]), "gzip", 10)
