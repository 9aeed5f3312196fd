"""A command at work on a message: its environment, its three pipes, and what is kept of its output."""

from __future__ import annotations

import hashlib
import os
import re
import selectors
import subprocess
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

from prloom import children
from prloom.exchange.store_url import VARIABLE as EXCHANGE
from prloom.exchange.worker.config import MOST_STDERR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prloom.exchange.claim import Claim
    from prloom.exchange.message import Message, Metadata, Scalar

WORKER = "PRLOOM_WORKER"
"""Holds the worker's name in the environment of its command, which may act on the exchange in that name."""

MARK = "PRLOOM_MARK"
"""Marks all that a worker starts, so that it is found when the worker was killed; it does not tell the name."""

META = "PRLOOM_META_"
MOST_CHARACTERS = 16 * 1024
"""How many characters of stdout, of stderr, and of a metadata value are passed on."""

_UNFIT = re.compile(r"[^A-Z0-9_]")
_MOST_METADATA = 256 * 1024  # bytes in all; the system refuses to start a command with far more
_END = 64 * 1024  # bytes of a long output's end that are kept
_CHUNK: Final = 1 << 16
_PIPEFULS: Final = 64  # a pipe holds a mebibyte at most, unless root says otherwise


def mark(worker: str) -> str:
    """Return the mark of what a worker starts."""
    return hashlib.sha256(worker.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def environment(
    base: Mapping[bytes, bytes], *, message: Message, claim: Claim, exchange: str, worker: str
) -> dict[bytes, bytes]:
    """Return the environment for the command that works on a message.

    It is the base, without the variables that a surrounding worker may have set for a message of its own.
    """
    about = {
        "PRLOOM_MESSAGE_ID": message.id,
        "PRLOOM_TOPIC": message.topic,
        "PRLOOM_CONVERSATION_ID": message.conversation_id,
        "PRLOOM_ATTEMPT": str(claim.attempt),
        EXCHANGE: exchange,
        WORKER: worker,
        MARK: mark(worker),
    }
    kept = {name: value for name, value in base.items() if not name.startswith(META.encode())}
    return kept | {name.encode(): os.fsencode(value) for name, value in (about | metadata(message.metadata)).items()}


def metadata(given: Metadata) -> dict[str, str]:
    """Return metadata as variables: `plugin-name` as PRLOOM_META_PLUGIN_NAME; of two with one name the first counts.

    Texts of more than 16,384 characters are cut, with a note, and what would be too much in all is left out.
    """
    found: dict[str, str] = {}
    room = _MOST_METADATA
    for key, value in given.items():
        name = META + _UNFIT.sub("_", key.upper())
        text = _text(value)
        room -= len(name) + len(text.encode())
        if room >= 0:
            found.setdefault(name, text)
    return found


def _text(value: Scalar) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    return shortened(str(value).replace("\0", "\ufffd"))


def shortened(text: str, limit: int = MOST_CHARACTERS) -> str:
    """Return a text, of which the middle is replaced by a note where it is longer than the limit."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters cut …]\n{text[-half:]}"


class BoundedBuffer:
    """Keeps about `limit` bytes of a stream: all of it, or its beginning and its end with a note between."""

    def __init__(self, limit: int) -> None:
        self._room = max(limit - _END, 0)
        self._start = bytearray()
        self._end = bytearray()
        self._cut = 0

    def add(self, chunk: bytes) -> None:
        """Add the next piece of the stream."""
        fits = max(self._room - len(self._start), 0)
        self._start += chunk[:fits]
        self._end += chunk[fits:]
        if len(self._end) > 2 * _END:
            self._shorten()

    def text(self) -> str:
        """Return the kept bytes as text; invalid UTF-8 is replaced, and a note says where something was cut."""
        if self._cut:
            self._shorten()
            # In ASCII: with one other letter in it, the text of a whole flood takes twice the memory.
            self._start += f"\n[... {self._cut} bytes cut ...]\n".encode()
        # Joined in place, since a copy may be as large as everything that is kept.
        self._start += self._end
        self._end.clear()
        self._cut = 0
        return self._start.decode("utf-8", "replace")

    def _shorten(self) -> None:
        surplus = len(self._end) - _END
        self._cut += surplus
        del self._end[:surplus]


class RunningCommand:
    """A command whose stdin is fed while its stdout and stderr are read, so that neither side ever waits for the other.

    Each pipe is registered with the selector as long as it is in use.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[bytes, bytes],
        body: bytes,
        max_output: int,
        selector: selectors.BaseSelector,
    ) -> None:
        """Start the command; raises OSError where that is not possible."""
        self.stdout = BoundedBuffer(max_output)
        self.stderr = BoundedBuffer(MOST_STDERR)
        self.code: int | None = None
        self._input = memoryview(body)
        self._selector = selector
        # A session of its own: Ctrl-C at the terminal goes to the worker alone, which decides about the command.
        self._process = subprocess.Popen(
            argv,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        process = self._process
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 (requested above)
        self._attach(process.stdout, selectors.EVENT_READ, self.stdout)
        self._attach(process.stderr, selectors.EVENT_READ, self.stderr)
        if body:
            self._attach(process.stdin, selectors.EVENT_WRITE, None)
        else:
            process.stdin.close()

    def _attach(self, pipe: IO[bytes], event: int, output: BoundedBuffer | None) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, event, output)

    def serve(self, key: selectors.SelectorKey) -> None:
        """Write or read one piece, and no more, so that a flood of output does not delay the time-out."""
        if isinstance(key.data, BoundedBuffer):
            self._read(key, key.data)
        else:
            self._write(key)

    def _write(self, key: selectors.SelectorKey) -> None:
        try:
            written = os.write(key.fd, self._input[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # it reads no more
            written = len(self._input)
        self._input = self._input[written:]
        if not self._input:
            self._close(key)

    def _read(self, key: selectors.SelectorKey, output: BoundedBuffer) -> bool:
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            output.add(chunk)
        else:
            self._close(key)
        return bool(chunk)

    def _close(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]

    def collect(self) -> bool:
        """Collect every dead child, adopted orphans among them; return whether there is none left, dead or alive."""
        ends: dict[int, int] = {}
        none_left = children.collect(ends)
        if self._process.pid in ends:
            self.code = self._process.returncode = os.waitstatus_to_exitcode(ends[self._process.pid])
        return none_left

    def finish(self) -> None:
        """Read what is still in the pipes; no more than they can hold, in case a writer survived."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, BoundedBuffer):
                for _ in range(_PIPEFULS):
                    if not self._read(key, key.data):
                        break

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
