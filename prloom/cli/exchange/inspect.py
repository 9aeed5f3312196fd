"""`prloom exchange inspect`: show all that happened to a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import terminal
from prloom.cli.exchange import context, exit_codes
from prloom.cli.options import Options, json_option, pass_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from prloom.exchange.claim import Claim, Delivery, MessageEntry
    from prloom.exchange.message import Message

_SHOWN = 60  # characters of a body or a value; --json has all


@click.command("inspect", epilog="Example:  prloom exchange inspect --conversation 01m805j8em2w6qz6mjew")
@click.argument("message", required=False)
@click.option("--conversation", metavar="C", help="Show all messages of this conversation.")
@context.database_option
@json_option
@pass_options
def command(
    given: Options, /, message: str | None, conversation: str | None, database: str | None, *, as_json: bool
) -> None:
    """Show a MESSAGE, its state, and every claim on it: the worker, the times, and the result."""
    if (message is None) == (conversation is None):
        raise click.UsageError("give a MESSAGE or --conversation C")
    with context.open_exchange(given, database) as exchange:
        entries = (exchange.inspect(message),) if message else exchange.check(conversation or "").entries
        now = exchange.store.now()
    if as_json:
        terminal.echo_json({"entries": entries})
    else:
        click.echo("\n\n".join("\n".join(_lines(entry, now)) for entry in entries))


def _lines(entry: MessageEntry, now: datetime) -> Iterator[str]:
    message = entry.message
    name, topic = terminal.paint(message.id, "strong"), terminal.paint(message.topic, "name")
    yield f"{name}  {topic}  {_state_text(entry.delivery)}"
    yield from (f"  {line}" for line in terminal.table([[terminal.paint(k, "dim"), v] for k, v in _about(entry, now)]))
    for claim in entry.claims:
        yield f"  {_claim(claim, now)}"


def _state_text(delivery: Delivery) -> str:
    state = delivery.ending or delivery.state
    return terminal.paint(state.replace("_", " "), exit_codes.ROLES.get(state, "warn"))


def _about(entry: MessageEntry, now: datetime) -> Iterator[tuple[str, str]]:
    message, delivery = entry.message, entry.delivery
    yield "published", _published(message, now)
    if message.conversation_id != message.id:
        yield "conversation", terminal.clean(message.conversation_id)
    yield from ([("follows", terminal.clean(message.parent_id))] if message.parent_id else [])
    if delivery.available_at is not None:
        yield "next try", terminal.when(delivery.available_at, now)
    if delivery.attempts:
        most = ""
        if delivery.max_attempts:
            most = f" of {delivery.max_attempts}"
        yield "attempts", f"{delivery.attempts}{most}"
    for name, key in (("key", delivery.key), ("concurrency", delivery.concurrency_key)):
        if key is not None:
            yield name, terminal.clean(key)
    for name, value in message.metadata.items():
        yield terminal.clean(name), terminal.fit(terminal.clean(str(value)), _SHOWN)
    yield "body", _body(message.body)


def _published(message: Message, now: datetime) -> str:
    by = ""
    if message.producer:
        by = f" by {terminal.clean(message.producer)}"
    return f"{terminal.clock(message.created_at)}, {terminal.when(message.created_at, now)}{by}"


def _body(body: str) -> str:
    if body:
        return f"{len(body)} characters: {terminal.fit(terminal.clean(body[: 2 * _SHOWN]), _SHOWN)}"
    return "empty"


def _claim(claim: Claim, now: datetime) -> str:
    attempt = (
        f"attempt {claim.attempt}  {terminal.clean(claim.worker_group)}/{terminal.clean(claim.worker_instance_id)}"
    )
    began = f"claimed {terminal.clock(claim.claimed_at)}"
    if claim.completed_at is None:
        lease = f"lease ends {terminal.when(claim.lease_until, now)}"
        return f"{attempt}  {began}  {terminal.paint('active', 'warn')}, {lease}"
    took = terminal.duration(claim.completed_at - claim.claimed_at)
    how = terminal.paint(claim.status.replace("_", " "), exit_codes.ROLES.get(claim.status, "warn"))
    return f"{attempt}  {began}  {how} after {took}{f': {terminal.clean(claim.error)}' if claim.error else ''}"
