"""`prloom exchange check`, `inspect` and `stats`: show conversations, messages and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.exchange import context, output
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from prloom.exchange.claim import Claim, Delivery, MessageEntry, TopicStats
    from prloom.exchange.exchange import Checked, Exchange
    from prloom.exchange.message import Message


@click.command("check", epilog="Example:  prloom exchange check 01m805j8em2w6qz6mjew && echo done")
@click.argument("conversation")
@context.database_option
@json_option
@pass_options
def check(given: Options, /, conversation: str, database: str | None, *, as_json: bool) -> None:
    """Show the outcome of a CONVERSATION, which you can name by any of its messages.

    Exit codes: 0 success, 5 pending, 3 failure, 4 timed out, 6 dead (out of attempts), 7 cancelled.
    """
    with context.open_exchange(given, database) as exchange:
        checked = _checked(exchange, conversation)
    if as_json:
        terminal.echo_json(_conversation_document(checked))
    else:
        outcome = terminal.paint(checked.outcome.replace("_", " "), output.ROLES[checked.outcome])
        click.echo(f"{outcome}  {checked.conversation_id}  {_count(checked)}")
    raise click.exceptions.Exit(output.CODES[checked.outcome])


def _checked(exchange: Exchange, name: str) -> Checked:
    from prloom.exchange.errors import UnknownMessageError  # noqa: PLC0415 - `--help` needs none

    try:
        return exchange.check(name)
    except UnknownMessageError as error:
        try:
            conversation = exchange.message(name).conversation_id
        except UnknownMessageError:
            raise error from None
    return exchange.check(conversation)


def _count(checked: Checked) -> str:
    count = len(checked.entries)
    return f"{count} {'message' if count == 1 else 'messages'}"


def _conversation_document(checked: Checked) -> dict[str, object]:
    return {
        "conversationId": checked.conversation_id,
        "outcome": checked.outcome,
        "messages": [
            {
                "id": entry.message.id,
                "topic": entry.message.topic,
                "parentId": entry.message.parent_id,
                "state": entry.delivery.state,
                "ending": entry.delivery.ending,
                "attempts": entry.delivery.attempts,
                "error": entry.claims[-1].error if entry.claims else None,
            }
            for entry in checked.entries
        ],
    }


_SHOWN = 60  # characters of a body or a value; --json has all


@click.command("inspect", epilog="Example:  prloom exchange inspect --conversation 01m805j8em2w6qz6mjew")
@click.argument("message", required=False)
@click.option("--conversation", metavar="C", help="Show all messages of this conversation.")
@context.database_option
@json_option
@pass_options
def inspect(
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
        click.echo("\n\n".join("\n".join(_entry_lines(entry, now)) for entry in entries))


def _entry_lines(entry: MessageEntry, now: datetime) -> Iterator[str]:
    message = entry.message
    state = _delivery_state(entry.delivery)
    yield f"{terminal.paint(message.id, 'strong')}  {terminal.paint(message.topic, 'name')}  {state}"
    yield from (f"  {line}" for line in terminal.table([[terminal.paint(k, "dim"), v] for k, v in _about(entry, now)]))
    for claim in entry.claims:
        yield f"  {_claim(claim, now)}"


def _delivery_state(delivery: Delivery) -> str:
    word = delivery.ending or delivery.state
    return terminal.paint(word.replace("_", " "), output.ROLES.get(word, "warn"))


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
    how = terminal.paint(claim.status.replace("_", " "), output.ROLES.get(claim.status, "warn"))
    return f"{attempt}  {began}  {how} after {took}{f': {terminal.clean(claim.error)}' if claim.error else ''}"


_HEADS = ("TOPIC", "READY", "DELAYED", "LEASED", "DONE", "DEAD", "OLDEST READY", "IN/MIN", "OUT/MIN")


@click.command("stats", epilog="Example:  prloom exchange stats --json")
@context.database_option
@json_option
@pass_options
def stats(given: Options, /, database: str | None, *, as_json: bool) -> None:
    """Show each topic: messages by state, the age of the oldest ready one, and rates over five minutes."""
    with context.open_exchange(given, database) as exchange:
        topics = exchange.stats()
    if as_json:
        terminal.echo_json({"topics": [_topic_document(each) for each in topics]})
    elif topics:
        click.echo("\n".join(_topic_lines(topics)))
    else:
        click.echo("No messages yet; publish one with `prloom exchange publish`.")


def _topic_lines(topics: Sequence[TopicStats]) -> list[str]:
    """Return a table; where that is too wide for the terminal, each topic with its figures below it."""
    rows = [_cells(each) for each in topics]
    table = terminal.table([[terminal.paint(head, "dim") for head in _HEADS], *rows])
    width = terminal.line_width()
    if width is None or all(terminal.columns_of(line) <= width for line in table):
        return table
    lines: list[str] = []
    for topic, *figures in rows:
        named = [f"{head.lower()} {figure}" for head, figure in zip(_HEADS[1:], figures, strict=True)]
        lines += layout.paragraph(topic)
        lines += layout.paragraph(", ".join(named), indent=layout.INDENT)
    return lines


def _cells(stats: TopicStats) -> list[str]:
    age = stats.oldest_ready_age
    return [
        terminal.paint(stats.topic, "name"),
        *(str(count) for count in (stats.ready, stats.delayed, stats.leased, stats.done)),
        terminal.paint(str(stats.dead), "bad") if stats.dead else "0",
        "-" if age is None else terminal.duration(age),
        f"{stats.published_per_minute:.1f}",
        f"{stats.ended_per_minute:.1f}",
    ]


def _topic_document(stats: TopicStats) -> dict[str, object]:
    from datetime import timedelta  # noqa: PLC0415 - only `--json` needs them

    import msgspec  # noqa: PLC0415

    document: dict[str, object] = msgspec.to_builtins(stats)
    del document["oldestReadyAge"]
    age = stats.oldest_ready_age
    return document | {"oldestReadyAgeMs": None if age is None else age // timedelta(milliseconds=1)}
