"""Wait for the reply to a message, and say what it means."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from prloom.cli.exchange import exit_codes
from prloom.exchange.protocol import MessageFilter

if TYPE_CHECKING:
    from datetime import timedelta

    from prloom.exchange.exchange import Exchange
    from prloom.exchange.message import Message


def wait(
    exchange: Exchange, request: Message, success: str | None, failure: str | None, patience: timedelta | None
) -> Message | None:
    """Return the first reply to a message; None where none came in time.

    A reply is what a worker published by settling the message, or any message on one of the two topics with this one as
    its parent.
    """
    topics = {success, failure} - {None}

    def find_reply() -> Message | None:
        return exchange.find_reply(request.id) or _poll_for_reply(exchange, request, topics)

    return exchange.wait_for(find_reply, patience=patience)


def _poll_for_reply(exchange: Exchange, request: Message, topics: set[str | None]) -> Message | None:
    if not topics:
        return None
    after = exchange.store.read(MessageFilter(conversation_id=request.conversation_id, since=request.id))
    return next((each for each in after if each.parent_id == request.id and each.topic in topics), None)


def outcome_of(reply: Message, failure: str | None) -> str:
    """Return the outcome that a reply reports, by its status, or by its topic where it has none."""
    outcome = exit_codes.of_status(str(reply.metadata.get("status", "")))
    if outcome in exit_codes.CODES:
        return outcome
    if reply.topic == failure:
        return "failure"
    return "success"


def later(message: Message, database: str | None) -> str:
    """Return the text that says that the work continues, and how to check it."""
    # A URL may contain a password, which must not be printed.
    named = database if database is None or "://" not in database else "URL"
    where = ""
    if named:
        where = f" --database {quote(named)}"
    check = f"prloom exchange check {message.conversation_id}{where}"
    cancel = f"prloom exchange cancel {message.id}{where}"
    return f"the work continues; check it later with `{check}`, or cancel it with `{cancel}`"
