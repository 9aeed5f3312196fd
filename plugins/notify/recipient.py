"""Send to one place beside the others: each has its own time, its own tries again, and its own trouble."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Thread

from plugins.notify.waiting import Need

log = logging.getLogger("notify")

Send = Callable[[str, str], bool]
"""Sends a title and a text to one place, and returns whether it got there."""

_FIRST_WAIT = 60.0
_LONGEST_WAIT = 3600.0


@dataclass(frozen=True)
class Target:
    """Where to send: `key` tells it apart from the others, `name` says to an operator which it is; no URL is in them.

    Without `send` it is not usable, and `problem` says why.
    """

    key: str
    name: str
    send: Send | None
    problem: str | None = None


@dataclass
class Recipient:
    """A target, and how sending to it goes: `problem` says what an operator has to know."""

    target: Target
    problem: str | None = field(init=False)
    collecting_since: float | None = field(default=None, init=False)
    retry_at: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)
    _sending: Future[bool] | None = field(default=None, init=False)
    _sent: Sequence[Need] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Know from the start what is wrong with the target itself."""
        self.problem = self.target.problem

    @property
    def is_free(self) -> bool:
        """Whether a message can be sent: the target is usable, and no earlier message is still on its way."""
        return self.target.send is not None and self._sending is None

    def begin(self, title: str, body: str, needs: Sequence[Need]) -> Future[bool]:
        """Begin to send a message about some needs; return what comes of it."""
        assert self.target.send is not None  # noqa: S101 - only a place that is free is sent anything
        self._sent = needs
        self._sending = Future()
        Thread(target=_send, args=(self._sending, self.target.send, title, body), daemon=True).start()
        return self._sending

    def late(self, now: float) -> None:
        """Say that it takes too long to send; nothing else is sent to the place until that has ended."""
        self.problem = f"{self.target.name}: a message is on its way for too long"
        self.retry_at = now

    def arrived(self, now: float) -> Sequence[Need]:
        """Return what a message that has arrived since the last look was about; a failed one is tried again later."""
        if self._sending is None or not self._sending.done():
            return ()
        error, sent = self._sending.exception(), self._sent
        succeeded = error is None and self._sending.result()
        self._sending, self._sent = None, ()
        if succeeded:
            self.problem, self.collecting_since, self._failures, self.retry_at = None, None, 0, 0.0
            return sent
        if error is not None:  # its text may have the URL in it
            log.warning("%s: %s", self.target.name, type(error).__name__)
        self._failures += 1
        self.retry_at = now + min(_FIRST_WAIT * 2.0 ** (self._failures - 1), _LONGEST_WAIT)
        self.problem = f"{self.target.name}: messages do not arrive; they are sent again later"
        return ()


def _send(result: Future[bool], send: Send, title: str, body: str) -> None:
    try:
        result.set_result(bool(send(title, body)))
    except Exception as error:  # noqa: BLE001 - whatever a service's code raises, the message has not arrived
        result.set_exception(error)
