"""One running command: feed its stdin while its stdout and stderr are read, so that neither side ever waits for us."""

from __future__ import annotations

import os
import selectors
import subprocess
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

from prloom.exchange.worker.bounded_buffer import BoundedBuffer
from prloom.exchange.worker.config import MOST_STDERR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CHUNK: Final = 1 << 16
_PIPEFULS: Final = 64  # a pipe holds a mebibyte at most, unless root says otherwise


class RunningCommand:
    """A command with its three pipes, each of them in the selector as long as it is of use."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[bytes, bytes],
        body: bytes,
        max_output: int,
        selector: selectors.BaseSelector,
    ) -> None:
        """Start it; raises OSError where that is not possible."""
        self.stdout = BoundedBuffer(max_output)
        self.stderr = BoundedBuffer(MOST_STDERR)
        self.code: int | None = None
        self._rest = memoryview(body)
        self._selector = selector
        # A session of its own: Ctrl-C at the terminal is the worker's to hear, which then decides about the command.
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
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 (asked for above)
        self._attach(process.stdout, selectors.EVENT_READ, self.stdout)
        self._attach(process.stderr, selectors.EVENT_READ, self.stderr)
        if body:
            self._attach(process.stdin, selectors.EVENT_WRITE, None)
        else:
            process.stdin.close()

    def _attach(self, pipe: IO[bytes], event: int, kept: BoundedBuffer | None) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, event, kept)

    def serve(self, key: selectors.SelectorKey) -> None:
        """Write or read one piece; only one a turn, so that a flood stops no clock."""
        if isinstance(key.data, BoundedBuffer):
            self._take(key, key.data)
        else:
            self._feed(key)

    def _feed(self, key: selectors.SelectorKey) -> None:
        try:
            written = os.write(key.fd, self._rest[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # it wants no more
            written = len(self._rest)
        self._rest = self._rest[written:]
        if not self._rest:
            self._close(key)

    def _take(self, key: selectors.SelectorKey, kept: BoundedBuffer) -> bool:
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            kept.add(chunk)
        else:
            self._close(key)
        return bool(chunk)

    def _close(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]

    def collect(self) -> bool:
        """Collect every dead child, adopted orphans among them; return whether there is none left, dead or alive."""
        try:
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                if dead[0] == self._process.pid:
                    self.code = self._process.returncode = os.waitstatus_to_exitcode(dead[1])
        except ChildProcessError:
            return True
        return False

    def finish(self) -> None:
        """Read what is still in the pipes. Their writers are gone; one that got away does not hold us for long."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, BoundedBuffer):
                for _ in range(_PIPEFULS):
                    if not self._take(key, key.data):
                        break

    def close(self) -> None:
        """Let go of the pipes."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
