"""Write the cockpit: what a plan is for, how far its TODOs are, and the boxes by which trusted people steer it.

It is a part of a pull request's description, between two markers; people's own text around it is theirs
(`cockpit_markers`). Titles, reasons and the plan's text may be from outside, so they are made inert.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Literal, get_args

from prloom.core.delivery import inert
from prloom.core.pull_requests.cockpit_markers import BEGIN, END
from prloom.core.text import markdown, reader_words
from prloom.model import record

Box = Literal["pause", "resume", "retry", "rebase", "go"]
BOXES: tuple[Box, ...] = get_args(Box)

CockpitTodoState = Literal["open", "running", "done", "blocked", "dropped"]

LONGEST_TEXT = 30_000
"""Characters of the plan's text that are shown; a forge takes about twice that for everything."""
MOST_TODOS = 100
"""TODOs that are shown; of those that are done, the last ones."""
_LONGEST_REASON = 300
_SHORT_COMMIT = 12

_LABELS: dict[Box, str] = {
    "pause": "pause the work on this plan",
    "resume": "continue the work on this plan",
    "retry": "try again what is blocked",
    "rebase": "rebase the branch onto its base",
    "go": "let what waits for your consent begin",
}

_ENDINGS = {
    "merged": "**Merged.** Nothing is worked on any more.",
    "closed": "**Closed.** Nothing is worked on until the pull request is reopened.",
}


@dataclass(frozen=True, kw_only=True)
class CockpitTodo:
    """A TODO as the cockpit shows it.

    `commit` is what it became, and `summary` what its worker says of that. `reason` says why it is blocked or waits,
    `until` (ISO 8601) how long it waits; `attempt` counts from 1.
    """

    title: str
    state: CockpitTodoState = "open"
    commit: str | None = None
    summary: str = ""
    reason: str | None = None
    until: str | None = None
    attempt: int = 1


@dataclass(frozen=True, kw_only=True)
class CockpitView:
    """What the cockpit shows.

    `signature` says who writes. `text` is the plan's text without its TODOs. `blocked` says that no TODO is worked on,
    and `block` why, where it is not one of the TODOs that says so.
    `checks` have passed before each commit. `drafts` counts the replies that wait until the operator sends them.
    `boxes` are those that would do something now. `ended` is the status of a plan that is over, for which no box does
    anything. `host` is the forge's, whose images are shown.
    """

    signature: str = ""
    text: str = ""
    todos: Sequence[CockpitTodo] = ()
    paused: bool = False
    blocked: bool = False
    block: str | None = None
    checks: Sequence[str] = ()
    drafts: int = 0
    boxes: Sequence[Box] = ()
    ended: str | None = None
    host: str | None = None


def render(view: CockpitView) -> str:
    """Return the cockpit between its markers, without an end of line; the same view, the same text."""
    parts = [BEGIN, view.signature]
    if view.text.strip():
        parts.append(inert.paragraphs(view.text, longest=LONGEST_TEXT, host=view.host, closes=True))
    parts += ["### TODO", _todo_list(view), _passed(view), _waiting(view.drafts)]
    if view.ended is None and view.boxes:
        parts += ["Tick a box to steer prloom:", "\n".join(_box_line(box) for box in BOXES if box in view.boxes)]
    parts.append(END)
    return "\n\n".join(part for part in parts if part)


def _todo_list(view: CockpitView) -> str:
    lines = list(_notices(view))
    shown, hidden = _shown(view.todos)
    if hidden:
        lines += [f"*{hidden} more that are done or dropped are not shown.*", ""]
    lines += [_todo_line(todo, view.host) for todo in shown]
    if not view.todos:
        lines.append("There is nothing to do.")
    return "\n".join(lines)


def _notices(view: CockpitView) -> Iterable[str]:
    if view.ended is not None:
        yield from (_ENDINGS[view.ended], "")
    if view.paused:
        yield from ("**Paused.** Nothing is worked on until a person resumes the plan.", "")
    if view.block:
        yield from (f"**Blocked:** {_reason(view.block, view.host)}", "")
        yield from (reader_words.WAY_ON, "")
    elif view.blocked:
        yield from (f"Work has stopped at the TODO that is blocked below. {reader_words.WAY_ON}", "")


def _shown(todos: Sequence[CockpitTodo]) -> tuple[Sequence[CockpitTodo], int]:
    """Return the TODOs to show, and how many of those that are over are left out: the first ones."""
    excess = len(todos) - MOST_TODOS
    if excess <= 0:
        return todos, 0
    over = [number for number, todo in enumerate(todos) if todo.state in {"done", "dropped"}]
    left_out = set(over[:excess])
    return [todo for number, todo in enumerate(todos) if number not in left_out], len(left_out)


def _todo_line(todo: CockpitTodo, host: str | None) -> str:
    title = inert.line(todo.title, host=host) or "(without a title)"
    mark = " "
    if todo.state in {"done", "dropped"}:
        mark = "x"
    line = " — ".join(filter(None, (f"- [{mark}] {title}", _note(todo, host))))
    summary = inert.line(todo.summary, longest=_LONGEST_REASON, host=host)
    if summary and todo.state == "done":
        return f"{line}\\\n  {summary}"
    return line


def _reason(text: str, host: str | None) -> str:
    return inert.line(reader_words.without_commands(text), longest=_LONGEST_REASON, host=host)


def _note(todo: CockpitTodo, host: str | None) -> str:
    """Return what is to be said of a TODO after its title."""
    reason = ""
    if todo.reason:
        reason = _reason(todo.reason, host)
    until = ""
    if todo.until:
        until = f"until {record.moment(todo.until).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    match todo.state:
        case "done" if todo.commit:
            return f"done in {todo.commit[:_SHORT_COMMIT]}"  # without code, so that a forge makes a link of it
        case "done":
            return "done without a change"
        case "dropped":
            return "dropped"
        case "blocked":
            return f"**blocked**: {reason}" if reason else "**blocked**"
        case "running":
            what = "in progress"
            if todo.attempt > 1:
                what = f"in progress, attempt {todo.attempt}"
            return f"**{what}**"
        case "open" if until or reason:
            return " ".join(filter(None, ("waits", until, f"({reason})" if reason else "")))
        case _:
            return ""


def _passed(view: CockpitView) -> str:
    """Return which checks have passed; their names are the operator's commands, and no advice to run them."""
    if not view.checks:
        return ""
    names = ", ".join(markdown.code(markdown.escaped_comments(markdown.one_line(each))) for each in view.checks)
    return f"Checked before each commit: {names}."


def _waiting(drafts: int) -> str:
    """Return how many replies wait; what they say is not published before they are sent."""
    match drafts:
        case 0:
            return ""
        case 1:
            return "1 reply waits for the operator to send it."
        case _:
            return f"{drafts} replies wait for the operator to send them."


def _box_line(box: Box) -> str:
    return f"- [ ] {_LABELS[box]} <!-- prloom:box {box} -->"
