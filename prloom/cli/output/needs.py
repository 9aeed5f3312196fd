"""Show what waits for the operator, each entry with its age and the command that resolves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from prloom.cli.output import layout, terminal
from prloom.cli.output.terminal import Role

if TYPE_CHECKING:
    from prloom.engine.views.dashboard_schema import Need

_GAP = "  "
_LEAST_TEXT = 30
"""The fewest columns of a text beside which its command stands; with fewer the command gets a line of its own."""
_BAD = frozenset(
    {"agent", "blocked", "error", "failed", "withheld", "lost", "bridge", "plugin", "dispatcher", "config"}
)


_MOST = 2
"""The most lines of what resolves an entry."""


def title(found: Sequence[Need]) -> str:
    """Return the title of the part."""
    order = ""
    if len(found) > 1:
        order = ", oldest first"
    return f"Needs you ({len(found)}{order})"


def lines(found: Sequence[Need]) -> Iterator[str]:
    """Yield all of the part, with an empty line before it; nothing if nothing waits for the operator."""
    if not found:
        return
    yield ""
    yield terminal.paint(title(found), "strong")
    for entry in entries(found, cut=False):
        yield from entry


def entries(found: Sequence[Need], *, cut: bool = True) -> list[list[str]]:
    """Return the lines of each entry; with `cut`, a text has one line, and what resolves it two; else all they need."""
    width = terminal.line_width()
    if width is not None and width < layout.NARROW:
        return [_narrow(each, cut=cut) for each in found]
    heads = terminal.table([_head(each) for each in found])
    taken = len(layout.INDENT) + max(map(len, heads), default=0) + len(_GAP)
    texts = [terminal.clean(each.text) for each in found]
    remedies = [terminal.clean(each.remedy) for each in found]
    room = _room(texts, remedies, taken)
    shown = []
    for need, head, text, remedy in zip(found, heads, texts, remedies, strict=True):
        start = _painted(need, f"{layout.INDENT}{head}".ljust(taken))
        if cut and room is not None and terminal.columns_of(remedy) <= room[1]:
            fitted = terminal.fit(text, room[0])
            shown.append([f"{start}{fitted}{' ' * (room[0] - terminal.columns_of(fitted))}{_GAP}{remedy}"])
        elif cut:
            shown.append([start + layout.cut(text, taken), *_way(need, taken)])
        else:
            shown.append([*_below(start, text, taken), *_below(" " * taken, remedy, taken)])
    return shown


def _room(texts: Sequence[str], remedies: Sequence[str], taken: int) -> tuple[int, int] | None:
    """Return the columns of texts and of commands that stand side by side; None where there is no room for that."""
    width = terminal.line_width()
    longest = max(map(terminal.columns_of, texts), default=0)
    if width is None:
        return longest, max(map(terminal.columns_of, remedies), default=0)
    least = max(_LEAST_TEXT, min(longest, (width - taken) // 2))
    for size in sorted(set(map(terminal.columns_of, remedies)), reverse=True):
        left = width - taken - len(_GAP) - size
        if left >= least:
            return min(longest, left), size
    return None


def _way(need: Need, taken: int) -> Iterator[str]:
    """Yield what resolves a need, in few lines below its text, or further to the left if it is long.

    No command is cut, for it is to be copied: if there is no room for it, `prloom status` shows it.
    """
    least = len(layout.INDENT * 2)
    room = terminal.width() - least
    lines = layout.wrap(terminal.clean(need.remedy), least)
    commands = [f"`{terminal.clean(each)}`" for each in need.commands]
    is_whole = all(terminal.columns_of(each) <= room for each in (*lines, *commands))
    if is_whole and len(lines) > 1 and len(commands) == 1:
        lines = commands
    elif not is_whole or len(lines) > _MOST:
        lines = layout.wrap(f"{layout.to_run('status', need.plan or ('--all',))} tells how", least)
    left = max(least, min(taken, terminal.width() - max(map(terminal.columns_of, lines))))
    yield from (" " * left + line for line in lines)


def _below(start: str, text: str, taken: int) -> Iterator[str]:
    """Yield a text behind a start as lines, as many as it needs."""
    for part in layout.wrap(text, taken):
        yield f"{start}{part}"
        start = " " * taken


def _narrow(need: Need, *, cut: bool) -> list[str]:
    head = layout.INDENT + "  ".join(filter(None, _head(need)))
    text, indent = terminal.clean(need.text), layout.INDENT * 2
    if cut:
        return [_painted(need, layout.cut(f"{head}  {text}", 0)), *_way(need, len(indent))]
    below = _below(indent, terminal.clean(need.remedy), len(indent))
    return [_painted(need, layout.cut(head, 0)), *_below(indent, text, len(indent)), *below]


def _head(need: Need) -> list[str]:
    age = ""
    if need.age_ms is not None:
        age = terminal.age(need.age_ms)
    return [age, terminal.fit(terminal.clean(need.plan or ""), 20), need.kind]


def _painted(need: Need, text: str) -> str:
    role: Role = "warn"
    if need.kind in _BAD:
        role = "bad"
    return terminal.paint(text, role)
