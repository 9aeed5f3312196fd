"""Understand a comment that is a command, and say what the built-in ones answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prloom.core import trust
from prloom.core.plans.plan_file import TodoItem
from prloom.core.text import markdown
from prloom.model import record
from prloom.model.event import Event
from prloom.model.kinds import WAITING
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


def status_text(state: DispatchState, todos: Sequence[TodoItem] = ()) -> str:
    """Return the answer to `/prloom status`: counts, the work on TODOs, and every wait with its reason and its end."""
    pending = sum(event.state == "pending" for event in state.open.values())
    done = ", ".join(f"{count} {name}" for name, count in sorted(state.done.items())) or "nothing done yet"
    lines = [f"{pending} pending, {done}." + (" Paused: `/prloom resume` resumes work." if state.paused else "")]
    lines += _work_lines(state, todos)
    for name in WAITING:
        waiting = [event for event in state.open.values() if event.state == name]
        lines += [f"- {markdown.code(markdown.one_line(event.id))} {_wait_text(event)}" for event in waiting[:_LISTED]]
        if len(waiting) > _LISTED:
            lines.append(f"- and {len(waiting) - _LISTED} more that are {name}")
    return "\n".join(lines)


def _wait_text(event: OpenEvent) -> str:
    wait = event.deferral
    if event.state == "deferred" and wait is not None:
        ends = f"next try {wait.deferred_until}, at the latest {wait.deadline}"
        return f"deferred by {wait.owner}: {reason_text(wait.reason)}; {ends}"
    what_now = {"held": "`/prloom approve` approves it", "parked": "`/prloom retry` tries it again"}
    return f"{event.state}: {reason_text(event.reason)}; {what_now.get(event.state, 'it waits')}"


def _work_lines(state: DispatchState, todos: Sequence[TodoItem]) -> Iterator[str]:
    """Yield what is blocked and in progress, and which TODO waits to be allowed."""
    states = [todo.state for todo in todos if todo.state != "dropped"]
    if states:
        yield f"- TODOs: {states.count('done')} of {len(states)} done"
    block, work = state.block, state.work
    if block is not None:
        way_on = markdown.code(markdown.one_line(block.way_on))
        yield f"- blocked since {block.since}: {reason_text(block.reason)}; `/prloom resume` or {way_on} goes on"
    if work is not None:
        since = ""
        if work.started_at is not None:
            since = f" since {work.started_at}"
        yield f"- in progress: {_todo_text(work.id, work.title)}, attempt {work.attempt}{since}{_work_wait(work)}"
    proposed = next((todo for todo in todos if todo.id == state.proposed and todo.state == "open"), None)
    if proposed is not None and proposed.id is not None:
        yield f"- waits for `/prloom go`: {_todo_text(proposed.id, proposed.title)}"


def _todo_text(todo_id: str, title: str) -> str:
    return f"{markdown.code(markdown.one_line(todo_id))} {reason_text(title)}"


def _work_wait(work: TodoWork) -> str:
    if work.retry_at is None:
        return ""
    return f"; waits: {reason_text(work.waits_for)}; next try {work.retry_at}"


def reason_text(text: str | None) -> str:
    """Return a reason, which may be text from outside, as a part of one line of Markdown."""
    line = markdown.escaped_comments(markdown.one_line(text or "")) or "no reason was given"
    if len(line) <= _REASON:
        return line
    return line[: _REASON - 1] + "…"
