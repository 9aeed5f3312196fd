"""Understand a comment that is a command, and say what the built-in ones answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prloom.model.event import Event
from prloom.model.state import DispatchState, OpenEvent

BUILT_IN: Mapping[str, str] = {
    "status": "say what waits on this pull request, and why",
    "retry": "look again now at what is deferred or parked",
    "approve": "vouch for the comments held on this pull request, or for those named",
    "pause": "stop working on this pull request; commands still work",
    "resume": "go on",
    "help": "list the commands",
}
"""The commands of `/prloom`, which no plugin can shadow, each with what it does."""


@dataclass(frozen=True)
class Command:
    """A comment's first word without its slash, and the words after it on the same line.

    For `/prloom` the command itself is the first of the words: `built_in` says which.
    """

    name: str
    words: tuple[str, ...]

    @property
    def built_in(self) -> str | None:
        """Which built-in command this is (`help` where none is named, "" for one that does not exist)."""
        if self.name != "prloom":
            return None
        verb = self.words[0].casefold() if self.words else "help"
        return verb if verb in BUILT_IN else ""


def parse(event: Event) -> Command | None:
    """Return the command that a comment is, or None."""
    if not event.type.startswith("pr_") and event.type != "review_feedback":
        return None
    first_line = event.body.lstrip().partition("\n")[0]
    if not first_line.startswith("/"):
        return None
    words = first_line.split()
    name = words[0].removeprefix("/")
    return Command(name, tuple(words[1:])) if name else None


def held_before(command: Event, opened: Iterable[OpenEvent], named: tuple[str, ...]) -> tuple[OpenEvent, ...]:
    """Return the held events that an approval vouches for.

    Those it names, by id or by author; or all that stood on the pull request when it was written, for nobody vouches
    for what they cannot have read.
    """
    held = [event for event in opened if event.state == "held"]
    if named:
        wanted = {name.removeprefix("@").casefold() for name in named}
        return tuple(e for e in held if e.id.casefold() in wanted or (e.author or "").casefold() in wanted)
    if command.created_at is None:
        return tuple(held)
    return tuple(e for e in held if e.created_at is None or e.created_at <= command.created_at)


def help_text(plugin_commands: Mapping[str, str]) -> str:
    """Return the answer to `/prloom help`; `plugin_commands` are the plugins' own, with their help."""
    lines = [f"- `/prloom {name}`: {what}" for name, what in BUILT_IN.items()]
    lines += [f"- `/{name}`{': ' + what if what else ''}" for name, what in sorted(plugin_commands.items())]
    return "Commands, as the first word of a comment:\n\n" + "\n".join(lines)


def status_text(state: DispatchState) -> str:
    """Return the answer to `/prloom status`: counts, and every wait with its reason and its end."""
    by_state = {name: [e for e in state.open.values() if e.state == name] for name in ("deferred", "held", "parked")}
    pending = sum(event.state == "pending" for event in state.open.values())
    done = ", ".join(f"{count} {name}" for name, count in sorted(state.done.items())) or "nothing done yet"
    lines = [f"{pending} pending, {done}." + (" Paused: `/prloom resume` goes on." if state.paused else "")]
    lines += [f"- {_waits(event)}" for event in by_state["deferred"]]
    lines += [f"- held: {event.reason}; `/prloom approve` vouches for it" for event in by_state["held"]]
    lines += [f"- parked: {event.reason}; `/prloom retry` looks again" for event in by_state["parked"]]
    return "\n".join(lines)


def _waits(event: OpenEvent) -> str:
    wait = event.deferral
    if wait is None:
        return "deferred"
    return f"deferred by {wait.owner}: {wait.reason}; next try {wait.deferred_until}, at the latest {wait.deadline}"
