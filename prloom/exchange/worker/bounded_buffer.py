"""Keep of a stream what fits: all of it, or its beginning and its end with a note between."""

from __future__ import annotations

_END = 64 * 1024


class BoundedBuffer:
    """Takes bytes without end, and holds at most about `limit` of them."""

    def __init__(self, limit: int) -> None:
        self._room = max(limit - _END, 0)
        self._start = bytearray()
        self._end = bytearray()
        self._cut = 0

    def add(self, chunk: bytes) -> None:
        """Take the next piece."""
        fits = self._room - len(self._start)
        self._start += chunk[:fits]
        self._end += chunk[fits:]
        if len(self._end) > 2 * _END:
            self._shorten()

    def text(self) -> str:
        """Return what was kept; what is no UTF-8 is replaced, and what was cut is noted where it was."""
        if len(self._end) > _END and self._cut:
            self._shorten()
        if not self._cut:
            if self._end:
                whole = self._start + self._end
            else:
                whole = self._start
            return whole.decode("utf-8", "replace")
        start, end = (part.decode("utf-8", "replace") for part in (self._start, self._end))
        return f"{start}\n[… {self._cut} bytes cut …]\n{end}"

    def _shorten(self) -> None:
        surplus = len(self._end) - _END
        self._cut += surplus
        del self._end[:surplus]
