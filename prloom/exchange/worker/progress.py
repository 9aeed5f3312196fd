"""What a worker tells whoever started it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

How: TypeAlias = Literal["began", "completed", "failed", "timed_out", "retrying", "dead", "lost", "handed_back"]
"""What became of a message in this worker's hands; `retrying` is a failure after which it is tried again."""


@dataclass(frozen=True)
class Progress:
    """A message was begun, or is done with, after so many seconds.

    `why` is the error, `reply` the topic on which the reply went out, and `pause` the seconds until it is tried again.
    """

    how: How
    topic: str
    message_id: str
    attempt: int
    seconds: float = 0.0
    why: str = ""
    reply: str | None = None
    pause: float | None = None


@dataclass(frozen=True)
class WorkerError:
    """The exchange could not be used; the worker tries again after so many seconds."""

    error: str
    pause: float


News: TypeAlias = Progress | WorkerError
