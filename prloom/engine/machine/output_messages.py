"""Publish what an agent prints while its run goes on, for the dispatcher on another machine."""

from __future__ import annotations

import logging
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from prloom.agents import run_folder, run_message
from prloom.core.text.secret_scan import SecretMask
from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.errors import ExchangeError
from prloom.exchange.exchange import Exchange
from prloom.exchange.protocol import ExchangeStore

log = logging.getLogger(__name__)

PAUSE: Final = 0.5
"""Seconds between two looks at an output of which there was no more."""

_PIECE: Final = 1 << 18  # bytes


class OutputMessages:
    """Publishes the whole lines of a run's output, without secrets, each piece once and in order.

    The first message says that the program has started; it may have no lines. A line longer than a piece, and what
    comes after it, is left to the reply.
    """

    def __init__(self, store: ExchangeStore, claimed: ClaimedMessage, folder: Path, mask: SecretMask) -> None:
        self._exchange = Exchange(store)
        self._claimed = claimed
        self._folder = folder
        self._mask = mask
        self._read = 0
        self._published: int | None = None

    def publish_next(self) -> bool:
        """Publish the next piece, and return whether there was one; raises ExchangeError."""
        room = min(_PIECE, run_message.LONGEST_OUTPUT - self._read)
        printed = run_folder.read_from(self._folder, run_folder.OUTPUT, self._read, max(room, 0))
        lines = printed[: printed.rfind(b"\n") + 1]
        if not lines and (self._published is not None or not self._is_started()):
            return False
        piece = masked(lines, self._mask)
        offset = self._published or 0
        message, claim = self._claimed.message, self._claimed.id
        self._exchange.publish(
            run_message.output_topic(message.topic),
            run_message.packed_output(piece),
            parent=message.id,
            key=f"{claim}:{self._read}:{len(lines)}",
            metadata={
                run_message.CLAIM: claim,
                run_message.OFFSET: offset,
                run_message.MACHINE: platform.node(),
            },
        )
        self._read += len(lines)
        self._published = offset + len(piece)
        return True

    def _is_started(self) -> bool:
        return run_folder.read(self._folder, run_folder.SUPERVISOR, 0) is not None


def masked(output: bytes, mask: SecretMask) -> bytes:
    """Return output without secrets, line by line: so the whole begins with the pieces that were published before."""
    lines = (mask.masked(line) for line in output.decode("utf-8", "replace").split("\n"))
    return "\n".join(lines).encode("utf-8", "replace")


@contextmanager
def published(messages: OutputMessages) -> Iterator[None]:
    """Publish what a run prints until the block ends; what is missing then is in the reply."""
    over = threading.Event()

    def publish() -> None:
        while not over.is_set():
            try:
                if messages.publish_next():
                    continue
            except ExchangeError as error:
                log.info("what the run prints cannot be published now: %s", error)
            over.wait(PAUSE)

    thread = threading.Thread(target=publish, name="output")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
