"""Read the body of an answer, decompress it, and stop at an upper bound."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable

ACCEPTED = "gzip"
"""The only compression that is accepted, and only once: of what is compressed twice, a kilobyte can be a terabyte."""

_PIECE = 65_536
_GZIP = 16 + zlib.MAX_WBITS


class TooLargeError(Exception):
    """There is more than the bound allows."""


class UnreadableError(Exception):
    """It is compressed in a way that was not requested, or the data is damaged."""


async def read(parts: AsyncIterable[bytes], encoding: str, most: int) -> bytes:
    """Return the content, unpacked; raises TooLargeError beyond so many bytes, and UnreadableError.

    `encoding` is that of the `content-encoding` header (RFC 9110, 8.4).
    """
    match encoding.strip().lower():
        case "" | "identity":
            return await _plain(parts, most)
        case "gzip" | "x-gzip":
            return await _unpacked(parts, most)
        case _:
            raise UnreadableError(f"it is compressed as {encoding[:40]!r}, which prloom did not request")


async def _plain(parts: AsyncIterable[bytes], most: int) -> bytes:
    content = bytearray()
    async for part in parts:
        content += part
        if len(content) > most:
            raise TooLargeError
    return bytes(content)


async def _unpacked(parts: AsyncIterable[bytes], most: int) -> bytes:
    content = bytearray()
    unpacker = zlib.decompressobj(_GZIP)
    started = False
    async for part in parts:
        started = started or bool(part)
        packed, full = part, False
        while (packed or full) and not unpacker.eof:
            try:
                piece = unpacker.decompress(packed, _PIECE)
            except zlib.error as error:
                raise UnreadableError(f"it is not valid gzip: {error}") from error
            content += piece
            if len(content) > most:
                raise TooLargeError
            packed, full = unpacker.unconsumed_tail, len(piece) == _PIECE
    if started and not unpacker.eof:
        raise UnreadableError("its gzip data is incomplete")
    return bytes(content)
