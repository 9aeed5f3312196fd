"""Check what is to be published, claimed or settled, once, at the edge."""

from __future__ import annotations

import functools
import math
import os
import re
import socket
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from prloom.exchange.claim import DEFAULT_ATTEMPTS, DEFAULT_LEASE, ClaimRequest, Completed, Failed, Released, TimedOut
from prloom.exchange.errors import ExchangeError
from prloom.exchange.message import Draft, new_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prloom.exchange.claim import Settlement
    from prloom.exchange.message import Metadata

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST_NAME = 200
_LONGEST_DELAY = timedelta(days=3650)


class PublishOptions(TypedDict, total=False):
    """Options of a message that is published.

    `parent`: the message that this one follows. `conversation`: by default the parent's, or its own. `delay`: the
    message cannot be claimed before. `key`: publishing on this topic with this key again returns the first message;
    with another body it raises KeyTakenError. `concurrency_key`: of all messages with it, one at a time is worked on.
    `max_attempts`: by default the worker's. `track`: a notifier reports the conversation's end.
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


class ClaimOptions(TypedDict, total=False):
    """Options of a worker that claims messages.

    `group` and `instance` name it in the history; by default, an instance is one opened exchange of one process.
    `lease`: how long a claim lasts (90 s). `max_attempts`: for messages whose publisher set none (5). `success_topic`
    and `failure_topic`: where replies go that name no topic themselves (`<topic>.completed`, `<topic>.failed`).
    """

    group: str
    instance: str | None
    lease: timedelta
    max_attempts: int
    success_topic: str | None
    failure_topic: str | None


def draft(
    topic: str,
    body: str,
    *,
    parent: str | None = None,
    conversation: str | None = None,
    producer: str | None = None,
    metadata: Metadata | None = None,
    delay: timedelta | None = None,
    key: str | None = None,
    concurrency_key: str | None = None,
    max_attempts: int | None = None,
    track: bool = False,
) -> Draft:
    """Return the draft of a message, or raise ExchangeError for what no message can be; see `PublishOptions`."""
    return Draft(
        id=new_id(),
        topic=checked_topic(topic),
        body=checked_text("body", body),
        parent_id=_optional_name("parent", parent),
        conversation_id=_optional_name("conversation", conversation),
        producer=_optional_name("producer", producer),
        metadata=checked_metadata(metadata or {}),
        delay=_checked_delay(delay),
        key=_optional_name("key", key),
        concurrency_key=_optional_name("concurrency key", concurrency_key),
        max_attempts=checked_attempts(max_attempts),
        track=track,
    )


def claim_request(
    topics: str | Iterable[str],
    *,
    group: str = "default",
    instance: str | None = None,
    lease: timedelta = DEFAULT_LEASE,
    max_attempts: int = DEFAULT_ATTEMPTS,
    success_topic: str | None = None,
    failure_topic: str | None = None,
) -> ClaimRequest:
    """Return a worker's request for a message, or raise ExchangeError for what is impossible; see `ClaimOptions`."""
    if isinstance(topics, str):
        topics = (topics,)
    for topic in (success_topic, failure_topic):
        if topic is not None:
            checked_topic(topic)
    if instance is None:
        instance = new_instance()
    return _checked_request(tuple(topics), group, instance, lease, max_attempts)


@functools.lru_cache(maxsize=64)  # a worker repeats its request
def _checked_request(
    topics: tuple[str, ...], group: str, instance: str, lease: timedelta, max_attempts: int
) -> ClaimRequest:
    checked_attempts(max_attempts)
    return ClaimRequest(
        topics=checked_topics(topics),
        group=checked_name("group", group),
        instance=checked_name("instance", instance),
        lease=checked_lease(lease),
        max_attempts=max_attempts,
    )


def new_instance() -> str:
    """Return a name for a worker that no other has: host, process, and a random part."""
    return f"{socket.gethostname()}-{os.getpid()}-{new_id()[-6:]}"


def process_of(instance: str) -> int | None:
    """Return the process id of a worker of this machine, by its name; None for a worker of another machine."""
    host, _, rest = instance.rpartition("-")[0].rpartition("-")
    if host == socket.gethostname() and rest.isdecimal():
        return int(rest)
    return None


def checked_topic(topic: str) -> str:
    """Return the topic's name, or raise ExchangeError where it is none."""
    if not _TOPIC.fullmatch(topic) or len(topic) > _LONGEST_NAME:
        shown = ascii(topic[:_LONGEST_NAME])
        raise ExchangeError(
            f"{shown} is not a valid topic; use letters, digits, '.', '_' and '-', at most {_LONGEST_NAME}"
        )
    return topic


def checked_topics(topics: str | Iterable[str]) -> tuple[str, ...]:
    """Return one or several topics as a tuple, each once."""
    if isinstance(topics, str):
        topics = (topics,)
    distinct = tuple(dict.fromkeys(topics))
    if not distinct:
        raise ExchangeError("no topic was given; give at least one")
    return tuple(checked_topic(topic) for topic in distinct)


def checked_text(what: str, text: str) -> str:
    """Return a text that UTF-8 can hold; raises ExchangeError."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        place = f"lone surrogate at {error.start}"
        raise ExchangeError(f"the {what} is not valid UTF-8 text ({place}); replace what was not decoded") from None
    return text


def checked_metadata(metadata: Metadata) -> Metadata:
    """Return the metadata, or raise ExchangeError where a key is no name or a value no JSON scalar."""
    for key, value in metadata.items():
        checked_name("metadata key", key)
        if isinstance(value, str):
            checked_text(f"metadata {key}", value)
        elif not (
            value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
        ):
            raise ExchangeError(f"metadata {key} is a {type(value).__name__}; use text, a number, true, false or null")
    return metadata


def checked_attempts(number: int | None) -> int | None:
    """Return how many attempts a message gets, or raise ExchangeError where that is not at least one."""
    if number is not None and not 1 <= number <= 1_000_000:  # noqa: PLR2004 (what every store can hold)
        raise ExchangeError(f"{number} is not a valid number of attempts; use 1 or more")
    return number


def checked_lease(lease: timedelta) -> timedelta:
    """Return how long a claim lasts, or raise ExchangeError where that is nothing or beyond all use."""
    if not timedelta(0) < lease <= _LONGEST_DELAY:
        raise ExchangeError(f"a lease of {lease} is not possible; use more than 0 and at most ten years")
    return lease


def _checked_delay(delay: timedelta | None) -> timedelta | None:
    if delay is not None and not timedelta(0) <= delay <= _LONGEST_DELAY:
        raise ExchangeError(f"a delay of {delay} is not possible; use 0 or more, at most ten years")
    return delay or None


def checked_name(what: str, name: str) -> str:
    """Return a name that can be shown in one line, or raise ExchangeError."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        shown = ascii(name[:_LONGEST_NAME])
        raise ExchangeError(f"{shown} is not a valid {what}; use up to {_LONGEST_NAME} printable characters")
    return name


def _optional_name(what: str, name: str | None) -> str | None:
    if name is None:
        return None
    return checked_name(what, name)


def checked_settlement(settlement: Settlement) -> Settlement:
    """Return a settlement, or raise ExchangeError for a reply that no message can be."""
    match settlement:
        case Completed(body=body) | Failed(body=body) if body is not None:
            checked_text("body", body)
    match settlement:
        case Completed(topic=topic) | Failed(topic=topic) if topic is not None:
            checked_topic(topic)
    match settlement:
        case Failed(error=text) | TimedOut(error=text) | Released(reason=text):
            checked_text("error", text)
    if isinstance(settlement, Released):
        _checked_delay(settlement.delay)
    else:
        checked_metadata(settlement.metadata)
    return settlement
