"""Show the history of a TODO to a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from prloom.engine.views.event_history import EventHistory
    from prloom.engine.views.status_schema import BlockStatus, CurrentTodo
    from prloom.engine.views.todo_history import TodoHistory

_SHOWN_LINES = 20


def about(life: TodoHistory) -> Iterator[str]:
    """Yield what the TODO is, and the events that requested it."""
    head = f"{layout.shown_id(life.item.id or '')}  TODO of plan {terminal.clean(life.plan)}"
    yield from layout.paragraph(head)
    yield layout.INDENT + terminal.paint(terminal.clean(life.item.title), "strong")
    yield from layout.quoted(life.item.context, at_most=_SHOWN_LINES)
    for event in life.events:
        yield from layout.paragraph(f"requested by {_event(event)}", indent=layout.INDENT)


def now(life: TodoHistory, current: CurrentTodo | None, block: BlockStatus | None) -> Iterator[str]:
    """Yield what is the matter with the TODO now, and what a person can do about it."""
    state = terminal.paint(life.state, "good" if life.state == "done" else "warn")
    more = ""
    if life.commit is not None and life.state == "done":
        more = f" in commit {terminal.clean(life.commit)}"
    elif current is not None:
        more = f"; attempt {current.attempt} is in progress"
        if block is not None:
            more = f"; attempt {current.attempt} has stopped"
        elif life.now.paused and current.run is None:
            way_on = layout.to_run("resume", life.plan)
            more = f"; attempt {current.attempt} has stopped, because the plan is paused: {way_on}"
        elif current.wait and current.wait.until is None:
            more = f"; it waits: {terminal.clean(current.wait.reason)}"
        elif current.wait and current.wait.until is not None:
            more = f"; it waits until {layout.clock(current.wait.until)}: {terminal.clean(current.wait.reason)}"
    yield from layout.paragraph(f"Now {state}{more}.")
    if block is not None:
        way_on = f"to go on, run `{terminal.clean(block.way_on)}`"
        yield from layout.paragraph(f"The plan is blocked: {terminal.clean(block.reason)}; {way_on}.")


def _event(history: EventHistory) -> str:
    event = history.event
    author = "the operator"
    if event.author is not None:
        author = terminal.clean(event.author.login)
    where = ""
    if event.url:
        where = f" {terminal.clean(event.url)}"
    return f"{layout.shown_id(event.id)}, {terminal.clean(event.type)} by {author}, now {history.state}{where}"
