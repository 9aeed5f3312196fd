"""Understand a comment that is a command, and say what the built-in ones answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from prloom.core import trust
from prloom.core.plans.plan_file import TodoItem
from prloom.core.text import markdown, reader_words
from prloom.model import kinds, record
from prloom.model.event import Event
from prloom.model.kinds import WAITING, WaitState
from prloom.model.record import Position
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import TodoWork

BUILT_IN: Mapping[str, str] = {
    "status": "show what waits on this pull request, and why",
    "retry": "make deferred and parked events due now",
    "approve": "approve the comments held on this pull request, or the named ones",
    "pause": "stop working on this pull request; commands still work",
    "resume": "resume work on this pull request, also where it is blocked",
    "go": "let the TODOs begin that wait to be allowed, or the named ones",
    "allow": "allow the call of a tool that waits, by its id; `--always` allows all later ones too",
    "deny": "deny the call of a tool that waits, by its id",
    "rebase": "rebase the branch onto its base",
    "help": "list the commands",
}
"""The commands of `/prloom`, which no plugin can shadow, each with what it does."""

_LISTED = 20
"""Waits of one kind that the answer to `/prloom status` lists; a forge limits the length of a comment."""

_LINK = re.compile(r"https?://[\w.:/?#=&%~@+-]{1,500}", re.ASCII)
"""An address that ends no link before its end."""

_REASON = 300
"""Characters of a reason that are shown there."""


@dataclass(frozen=True)
class SlashCommand:
    """A comment's first word without its slash, and the words after it on the same line.

    For `/prloom` the command itself is the first of the words: `built_in` says which.
    """

    name: str
    words: tuple[str, ...]

    @property
    def built_in(self) -> str | None:
        """Which built-in command this is (`help` where none is named, "" for one that does not exist)."""
        if self.name.casefold() != "prloom":
            return None
        verb = "help"
        if self.words:
            verb = self.words[0].casefold()
        if verb in BUILT_IN:
            return verb
        return ""


def parse(event: Event) -> SlashCommand | None:
    """Return the command that a comment is, or None; a first line that is indented as code is none."""
    body = event.body.lstrip()
    blank = event.body.removesuffix(body).replace("\r", "\n")
    if not body.startswith("/") or markdown.is_code(blank.rpartition("\n")[2]):
        return None
    if not event.kind.commands:  # its text, if it has any, is not what a person has just said
        return None
    words = body.partition("\n")[0].split()
    name = words[0].removeprefix("/")
    if name:
        return SlashCommand(name, tuple(words[1:]))
    return None


def held_before(command: Event, opened: Iterable[OpenEvent], named: tuple[str, ...]) -> tuple[OpenEvent, ...]:
    """Return the held events that an approval covers: those it names, by id or by author, or all.

    An id names one text for ever. Otherwise it is what stood on the pull request, in its present form, when the
    approval was written, because people approve only what they can have read. Where a time is not known, it is what
    came in before the approval. An author whose text was approved is not trusted, and approves nothing.
    """
    events = tuple(opened)
    approval = next((event for event in events if event.id == command.id), None)
    if approval is not None and approval.vouched:
        return ()
    names = {name.strip(",") for name in named}
    authors = {name.removeprefix("@") for name in names}
    position = None
    if approval:
        position = approval.position
    held = [event for event in events if event.state == "held"]
    by_id = [event for event in held if event.id in names]
    readable = [event for event in held if event.id not in names and _was_readable_before(event, command, position)]
    by_author = [event for event in readable if not named or (event.author and trust.named(event.author, authors))]
    return (*by_id, *by_author)


def _was_readable_before(event: OpenEvent, command: Event, position: Position | None) -> bool:
    """Whether the text of an event was on the pull request, as it is, when the command was written."""
    approved_at, written_at = record.read_time(command.created_at), record.read_time(event.written_at)
    if approved_at is not None and written_at is None and event.created_at and not event.written_at:
        return False  # an edit that does not say when it was made
    if approved_at is not None and written_at == approved_at and event.created_at != event.written_at:
        return False  # an edit in the very second of the approval: the times do not say which was first
    arrived_before = position is not None and event.position < position
    if approved_at is None or written_at is None or written_at == approved_at:
        return arrived_before
    return written_at < approved_at


def help_text(plugin_commands: Mapping[str, str]) -> str:
    """Return the answer to `/prloom help`; `plugin_commands` are the plugins' own, with their help."""
    lines = [f"- `/prloom {name}`: {what}" for name, what in BUILT_IN.items()]
    own = [(name, markdown.one_line(what)) for name, what in sorted(plugin_commands.items())]
    lines += [f"- `/{name}`{': ' + what if what else ''}" for name, what in own]
    return "Commands, as the first word of a comment:\n\n" + "\n".join(lines)


def status_text(
    state: DispatchState, todos: Sequence[TodoItem] = (), text_of: Callable[[OpenEvent], Event | None] = lambda _: None
) -> str:
    """Return the answer to `/prloom status`: how far the TODOs are, and what waits, why, and until when.

    `text_of` returns the comment that an event is, for its link.
    """
    lines = list(_work_lines(state, todos))
    if state.paused:
        lines.insert(0, "Paused: `/prloom resume` resumes work.")
    pending = [event for event in state.open.values() if event.state == "pending"]
    if pending:
        lines.append(f"- {_counted(pending)} {'is' if len(pending) == 1 else 'are'} being read")
    for name in WAITING:
        waiting = [event for event in state.open.values() if event.state == name]
        lines += [f"- {_named(event, text_of(event))} {_wait_text(event)}" for event in waiting[:_LISTED]]
        if len(waiting) > _LISTED:
            lines.append(f"- and {_counted(waiting[_LISTED:])} more that {_WAITS[name]}")
    drafts = sum(queued.draft for queued in state.queue.values())
    if drafts:
        lines.append(f"- replies that wait for the operator to send them: {drafts}")
    return "\n".join(lines) or "Nothing is open, and nothing waits."


_WAITS: Mapping[WaitState, str] = {
    "deferred": "wait for a time",
    "held": "wait for an approval",
    "parked": "need a person",
}


def _counted(events: Sequence[OpenEvent]) -> str:
    """Return how many comments there are, or how many of whatever they are."""
    nouns = {kinds.kind(event.type, by_person=event.author is not None).noun for event in events}
    one, several = nouns.pop() if len(nouns) == 1 else ("event", "events")
    return f"{len(events)} {one if len(events) == 1 else several}"


def _named(opened: OpenEvent, event: Event | None) -> str:
    """Return what people call an event, with a link to it where it has one."""
    noun = kinds.kind(opened.type, by_person=opened.author is not None).noun[0]
    if opened.author:
        name = f"the {noun} of {markdown.code(markdown.one_line(opened.author))}"
    else:
        name = f"the {noun}"
    url = None if event is None else event.url
    if url is not None and _LINK.fullmatch(url):
        return f"[{name}]({url})"
    return name


def _wait_text(event: OpenEvent) -> str:
    wait = event.deferral
    if event.state == "deferred" and wait is not None:
        return f"waits: {reason_text(wait.reason)}; next try {_moment(wait.deferred_until)}"
    what_now = {"held": "`/prloom approve` lets it in", "parked": "`/prloom retry` tries it again"}
    return f"waits: {reason_text(event.reason)}; {what_now.get(event.state, 'it is tried again')}"


def _work_lines(state: DispatchState, todos: Sequence[TodoItem]) -> Iterator[str]:
    """Yield what is blocked and in progress, and which TODO waits to be allowed."""
    states = [todo.state for todo in todos if todo.state != "dropped"]
    if states:
        yield f"- {states.count('done')} of {len(states)} TODOs are done"
    block, work = state.block, state.work
    if block is not None:
        yield f"- blocked since {_moment(block.since)}: {reason_text(block.reason)}. {reader_words.WAY_ON}"
    if work is not None:
        attempt = f", attempt {work.attempt}" if work.attempt > 1 else ""
        yield f"- in progress: {reason_text(work.title)}{attempt}{_work_wait(work)}"
    proposed = next((todo for todo in todos if todo.id == state.proposed and todo.state == "open"), None)
    if proposed is not None:
        yield f"- waits for `/prloom go`: {reason_text(proposed.title)}"


def _work_wait(work: TodoWork) -> str:
    if work.retry_at is None:
        return ""
    return f"; waits: {reason_text(work.waits_for)}; next try {_moment(work.retry_at)}"


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def reason_text(text: str | None) -> str:
    """Return a reason, which may be text from outside, as a part of one line of Markdown."""
    line = (
        markdown.escaped_comments(markdown.one_line(reader_words.without_commands(text or ""))) or "no reason was given"
    )
    if len(line) <= _REASON:
        return line
    return line[: _REASON - 1] + "…"
