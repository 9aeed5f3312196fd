"""Show the dashboard to a person on one screen, whatever the number of plans: what needs them comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from prloom.cli.output import layout, needs, plan_table, row_shares, terminal
from prloom.engine.views import dashboard_words

if TYPE_CHECKING:
    from prloom.engine.views.dashboard_schema import Dashboard, Source, Wait, Working
    from prloom.engine.views.status_schema import Spent

Entries = Sequence[Sequence[str]]
"""The lines of each entry of a part."""

_WEIGHTS = (3, 1, 1, 1)
"""Where the rows are shared out, what needs a person gets as many as the other parts together."""
_IN_A_PIPE = (20, 20, 5, 30)
"""How many needs, runs, waits and plans are shown where nothing says how high the screen is."""


class Part(Struct, frozen=True):
    """One part of the screen: its title, its first entries with the lines of each, and how many entries there are."""

    title: str
    entries: Entries
    total: int

    def lines(self, count: int | None) -> Iterator[str]:
        """Yield its title, so many entries, and how many more there are; nothing for None."""
        if count is None or not self.title:
            return
        yield terminal.paint(layout.cut(self.title, 0), "strong")
        for entry in self.entries[:count]:
            yield from entry
        if 0 < count < self.total:
            more = f"… and {self.total - count} more, `prloom status --all`"
            yield layout.INDENT + terminal.paint(more, "dim")


def screen(shown: Dashboard, above: Sequence[str], rows: int | None) -> list[str]:
    """Return the dashboard with lines above it, within so many rows; None where the height is not known.

    What does not fit is counted.
    """
    found = parts(shown, at_most=rows or max(_IN_A_PIPE))
    counts: Sequence[int | None] = _IN_A_PIPE
    if rows is not None:
        extents = [
            row_shares.Extent([len(entry) for entry in part.entries], part.total, weight)
            for part, weight in zip(found, _WEIGHTS, strict=True)
        ]
        counts = row_shares.shares(extents, rows - len(above) - 1)
    return [*above, "", *(line for part, count in zip(found, counts, strict=True) for line in part.lines(count))]


def whole(shown: Dashboard, above: Sequence[str]) -> list[str]:
    """Return all of the dashboard, for a screen that scrolls."""
    return [*above, "", *(line for part in parts(shown) for line in part.lines(part.total))]


def progress(shown: Dashboard) -> Iterator[str]:
    """Yield all that goes on and all that waits, uncut, with an empty line before each of the two."""
    for title, rows in (
        (_working_title(shown), list(map(_working, shown.working))),
        (waiting_title(shown), list(map(_waiting, shown.waiting))),
    ):
        if rows:
            yield ""
            yield from layout.paragraph(terminal.paint(title, "strong"))
            yield from _uncut([list(map(terminal.clean, row)) for row in rows])


def _uncut(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of clean cells as a table, or each as a sentence below the plan's id where that is too wide."""
    table = [layout.INDENT + line for line in terminal.table(rows)]
    width = terminal.line_width()
    if width is None or all(terminal.columns_of(line) <= width for line in table):
        yield from table
        return
    for name, *cells in rows:
        yield from layout.paragraph(name, indent=layout.INDENT)
        yield from layout.paragraph(", ".join(filter(None, cells)), indent=layout.INDENT * 2)


def parts(shown: Dashboard, *, at_most: int | None = None) -> tuple[Part, Part, Part, Part]:
    """Return what needs a person, what goes on, what waits, and the plans; a part without an entry has no title.

    Of each part, `at_most` so many entries are laid out: of hundreds, few fit on a screen.
    """
    working, waiting = shown.working[:at_most], shown.waiting[:at_most]
    return (
        _part(needs.title(shown.needs), needs.entries(shown.needs[:at_most]), len(shown.needs)),
        _part(_working_title(shown), _lines(list(map(_working, working))), len(shown.working)),
        _part(waiting_title(shown), _lines(list(map(_waiting, waiting))), len(shown.waiting)),
        _part(f"Plans ({len(shown.plans)})", plan_table.entries(shown.plans[:at_most]), len(shown.plans)),
    )


def _part(title: str, entries: Entries, total: int) -> Part:
    if not entries:
        title = ""
    return Part(title, entries, total)


def header(shown: Dashboard) -> Iterator[str]:
    """Yield the lines that say whether prloom is at work, and what it took today."""
    words = [_dispatcher(shown), *map(_source, shown.sources)]
    if shown.runs_now:
        words.append(f"{shown.runs_now} {_plural(shown.runs_now, 'run')} now")
    if shown.today.runs:
        words.append(_today(shown.today))
    yield from layout.paragraph(" · ".join(words))


def _dispatcher(shown: Dashboard) -> str:
    tick = ""
    if shown.last_tick_age_ms is not None:
        tick = f", last tick {terminal.age(shown.last_tick_age_ms)} ago"
    if shown.dispatcher.silent_since and shown.last_tick_age_ms is not None:
        silent = terminal.paint(f"it has not answered for {terminal.age(shown.last_tick_age_ms)}", "bad")
        return f"dispatcher running, pid {shown.dispatcher.pid}, but {silent}"
    if shown.dispatcher.running:
        return f"dispatcher {terminal.paint('running', 'good')}, pid {shown.dispatcher.pid}{tick}"
    return f"dispatcher {terminal.paint('not running', 'warn')}{tick}; `prloom start` runs it"


def _source(source: Source) -> str:
    name = terminal.clean(source.name)
    if source.last_ok_age_ms is not None:
        words = f"last success {terminal.age(source.last_ok_age_ms)} ago"
    elif source.error is not None:
        words = "no success yet"
    elif source.idle is not None:
        words = "not asked"
    else:
        words = "not polled yet"
    if source.error is not None:
        words = terminal.paint(f"fails, {words}", "bad")
    return f"{name}: {words}"


def _today(today: Spent) -> str:
    words = [f"today {today.runs} {_plural(today.runs, 'run')}"]
    tokens = today.input_tokens + today.output_tokens
    if tokens:
        words.append(f"{dashboard_words.tokens(tokens)} tokens")
    if today.cost_usd is not None:
        words.append(f"${today.cost_usd:.2f}")
    text = ", ".join(words)
    if today.unmeasured_runs:
        return f"{text} ({dashboard_words.without_tokens(today.unmeasured_runs)})"
    return text


def _plural(count: int, noun: str) -> str:
    if count == 1:
        return noun
    return f"{noun}s"


def _working_title(shown: Dashboard) -> str:
    return f"Working ({len(shown.working)})"


def _working(each: Working) -> list[str]:
    title = ""
    if each.title:
        title = f'"{layout.title(each.title)}"'
    words = filter(None, [title, dashboard_words.step(each), *dashboard_words.efforts(each)])
    command = ""
    if each.run is not None:
        command = layout.to_run("logs", each.plan or each.run, ("-f",))
    stage = {"run": each.stage, "hook": each.stage, "step": "worker"}[each.kind]
    age = ""
    if each.age_ms is not None:
        age = terminal.age(each.age_ms, units=2)
    return [each.plan or "repository", stage, each.agent or "", age, ", ".join(words), command]


def waiting_title(shown: Dashboard) -> str:
    """Return the title of what waits: how many, since when the oldest, and when the first one ends."""
    words = [str(len(shown.waiting))]
    if shown.waiting_oldest_ms is not None:
        words.append(f"the oldest for {terminal.age(shown.waiting_oldest_ms)}")
    if shown.waiting_next_ms:
        words.append(f"next in {terminal.age(shown.waiting_next_ms, units=2)}")
    elif shown.waiting_next_ms is not None:
        words.append("next now")
    return f"Waiting ({'; '.join(words)})"


def _waiting(wait: Wait) -> list[str]:
    age, end = "", "until then"
    if wait.age_ms is not None:
        age = f"for {terminal.age(wait.age_ms)}"
    if wait.ends_in_ms is None:
        end = ""
    elif wait.ends_in_ms:
        end = f"next in {terminal.age(wait.ends_in_ms, units=2)}"
    else:
        end = "due now"
    return [wait.plan or "repository", wait.kind, age, end, f"{wait.reason}: {wait.text}"]


def _lines(rows: Sequence[Sequence[str]]) -> Entries:
    """Return rows of plain cells, the first the plan's id, as entries that fit the terminal."""
    width = terminal.line_width()
    cleaned = [[terminal.clean(cell) for cell in row] for row in rows]
    if width is not None and width < layout.NARROW:
        cleaned = [[row[0], " ".join(filter(None, row[1:]))] for row in cleaned]
    if width is not None:
        cleaned = [[terminal.fit(row[0], width // 4), *row[1:]] for row in cleaned]
    if width is None or not any(terminal.COMMAND in row[-1] for row in cleaned):
        return [[layout.INDENT + layout.cut(line, len(layout.INDENT))] for line in terminal.table(cleaned)]
    return [_with_command(line, row, width) for line, row in zip(terminal.table(cleaned), cleaned, strict=True)]


def _with_command(line: str, row: Sequence[str], width: int) -> list[str]:
    """Return a line of a table; a command at its end gets lines of its own where there is no room for it."""
    whole = layout.INDENT + line
    if terminal.columns_of(whole) <= width:
        return [whole]
    _, begun, command = row[-1].rpartition(terminal.COMMAND)
    if not begun:
        return [layout.INDENT + layout.cut(line, len(layout.INDENT))]
    about = line.removesuffix(begun + command).rstrip()
    indent = layout.INDENT * 2
    return [
        layout.INDENT + layout.cut(about, len(layout.INDENT)),
        *(indent + part for part in layout.wrap(begun + command, len(indent))),
    ]
