"""What may be said beside a topic where one publishes and claims; both faces of the exchange take the same."""

from __future__ import annotations

from datetime import timedelta
from typing import TypedDict

from prloom.exchange.message import Metadata


class Publishing(TypedDict, total=False):
    """About a message; nothing of it is needed.

    `parent`: the message that this one follows. `conversation`: the parent's, or its own, where none is given. `delay`:
    not to be claimed before. `key`: publishing on this topic with this key again returns the first message; with
    another body it is a KeyTakenError. `concurrency_key`: of all messages with it, one at a time is worked on.
    `max_attempts`: else the worker says. `track`: a notifier is told when the conversation has ended.
    """

    parent: str | None
    conversation: str | None
    producer: str | None
    metadata: Metadata | None
    delay: timedelta | None
    key: str | None
    concurrency_key: str | None
    max_attempts: int | None
    track: bool


class Working(TypedDict, total=False):
    """About a worker; nothing of it is needed.

    `group` and `instance` name it in the history; without one, an instance is host, process and the exchange that was
    opened. `lease`: how long a claim lasts (90 s). `max_attempts`: for messages
    whose publisher set none (5). `success_topic` and `failure_topic`: where replies go that name no topic themselves
    (`<topic>.completed`, `<topic>.failed`).
    """

    group: str
    instance: str | None
    lease: timedelta
    max_attempts: int
    success_topic: str | None
    failure_topic: str | None
