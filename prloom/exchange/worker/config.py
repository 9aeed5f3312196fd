"""Configure a worker: which messages, which command, and how long everything may take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath

from prloom.exchange import validation
from prloom.exchange.claim import DEFAULT_ATTEMPTS, DEFAULT_LEASE
from prloom.exchange.errors import ExchangeError

MOST_OUTPUT = 128 << 20
"""Bytes that are kept of a command's stdout: all but the flood of a command that has lost its way."""

MOST_STDERR = 1 << 20
"""Bytes that are kept of its stderr."""


@dataclass(frozen=True, kw_only=True)
class ClaimConfig:
    """Which messages a worker claims, under which name, for how long, and how often each at most."""

    topics: tuple[str, ...]
    group: str = "default"
    lease: timedelta = DEFAULT_LEASE
    max_attempts: int = DEFAULT_ATTEMPTS


@dataclass(frozen=True, kw_only=True)
class WorkerConfig(ClaimConfig):
    """What a worker claims, the command that it runs, and the limits; `checked` says whether they make sense.

    `grace` is how long a running command may go on when the worker is asked to stop. With `retry_failures` a command
    that fails is tried again as one is that could not be started; without, its failure is final.
    """

    command: tuple[str, ...]
    success_topic: str | None = None
    failure_topic: str | None = None
    timeout: timedelta = timedelta(seconds=60)
    retry_failures: bool = False
    grace: timedelta = timedelta(seconds=5)
    max_output: int = MOST_OUTPUT

    @property
    def plugin(self) -> str:
        """The command's name in the metadata of replies."""
        return PurePath(self.command[0]).name.encode("utf-8", "replace").decode() or self.command[0]


def checked(config: WorkerConfig) -> WorkerConfig:
    """Return the configuration, or raise ExchangeError for what could never be settled, before any work is done."""
    validation.checked_topics(config.topics)
    for topic in (config.success_topic, config.failure_topic):
        if topic is not None:
            validation.checked_topic(topic)
    if config.success_topic in config.topics or config.failure_topic in config.topics:
        raise ExchangeError(
            "a worker that publishes its replies on a topic of its own would work on them endlessly; name other topics"
        )
    validation.checked_lease(config.lease)
    validation.checked_name("group", config.group)
    validation.checked_attempts(config.max_attempts)
    return config
