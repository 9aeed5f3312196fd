"""Show the dashboard to a person on one screen, whatever the number of plans: what needs them comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from prloom.cli.output import layout, needs, plan_table, terminal
from prloom.engine.views import dashboard_words

if TYPE_CHECKING:
    from prloom.engine.views.dashboard_schema import Dashboard, Source, Wait, Working
    from prloom.engine.views.status_schema import Spent

Entries = Sequence[Sequence[str]]
"""The lines of each entry of a part."""

_LEAST = 6
"""Rows that each part of the screen has at least, as far as it has entries for them."""
_IN_A_PIPE = (20, 20, 5, 30)
"""How many needs, runs, waits and plans are shown where nothing says how high the screen is."""
_MILLION = 1_000_000
_THOUSAND = 1000


class Part(NamedTuple):
    """One part of the screen: its title, its first entries with the lines of each, and how many entries there are."""

    title: str
    entries: Entries
    total: int

    @property
    def rows(self) -> int:
        """How many lines it fills, as far as its entries are here."""
        if not self.title:
            return 0
        return 1 + sum(map(len, self.entries)) + (self.total > len(self.entries))


def screen(shown: Dashboard, above: Sequence[str], rows: int | None) -> list[str]:
    """Return the dashboard with lines above it, within so many rows; None where the height is not known.

    What does not fit is counted.
    """
    found = parts(shown, at_most=rows or max(_IN_A_PIPE))
    if rows is None:
        budgets = [1 + sum(map(len, part.entries[:most])) for part, most in zip(found, _IN_A_PIPE, strict=True)]
        budgets = [budget + (part.rows > budget) for part, budget in zip(found, budgets, strict=True)]
    else:
        budgets = _budgets([part.rows for part in found], rows - len(above) - 1)
    lines = [*above, ""]
    for part, budget in zip(found, budgets, strict=True):
        if part.title and budget > 0:
            title = terminal.paint(layout.cut(part.title, 0), "strong")
            lines += [title, *_fitting(part, budget - 1)]
    return lines


def whole(shown: Dashboard, above: Sequence[str]) -> list[str]:
    """Return all of the dashboard, for a screen that scrolls."""
    lines = [*above, ""]
    for part in parts(shown):
        if part.title:
            lines += [terminal.paint(part.title, "strong"), *(line for entry in part.entries for line in entry)]
    return lines


def progress(shown: Dashboard) -> Iterator[str]:
    """Yield all that goes on and all that waits, with an empty line before each of the two."""
    for part in parts(shown)[1:3]:
        if part.title:
            yield from ("", terminal.paint(part.title, "strong"), *(line for entry in part.entries for line in entry))


def parts(shown: Dashboard, *, at_most: int | None = None) -> tuple[Part, Part, Part, Part]:
    """Return what needs a person, what goes on, what waits, and the plans; a part without an entry has no title.

    Of each part, `at_most` so many entries are laid out: of hundreds, few fit on a screen.
    """
    working, waiting = shown.working[:at_most], shown.waiting[:at_most]
    return (
        _part(needs.title(shown.needs), needs.entries(shown.needs[:at_most]), len(shown.needs)),
        _part(f"Working ({len(shown.working)})", _lines(list(map(_working, working))), len(shown.working)),
        _part(waiting_title(shown), _lines(list(map(_waiting, waiting))), len(shown.waiting)),
        _part(f"Plans ({len(shown.plans)})", plan_table.entries(shown.plans[:at_most]), len(shown.plans)),
    )


def _part(title: str, entries: Entries, total: int) -> Part:
    if not entries:
        title = ""
    return Part(title, entries, total)


def _budgets(wanted: Sequence[int], available: int) -> list[int]:
    """Return how many rows each part gets: first some for each, then needs up to half, then the others."""
    given = [min(rows, _LEAST) for rows in wanted]
    given[2] = min(wanted[2], 1)
    left = available - sum(given)
    for part, most in ((0, available // 2), (1, available // 3), (3, available), (2, available), (0, available)):
        more = max(0, min(wanted[part], most) - given[part])
        more = min(more, max(0, left))
        given[part] += more
        left -= more
    while left < 0 and max(given[1:]) > 1:  # a screen that is lower than what each part gets at least
        largest = given.index(max(given[1:]), 1)
        given[largest] -= 1
        left += 1
    return given


def _fitting(part: Part, rows: int) -> list[str]:
    """Return the lines of as many entries as fit, and how many do not; nothing where there is no room at all."""
    if rows <= 0:
        return []
    if part.rows - 1 <= rows and part.total == len(part.entries):
        return [line for entry in part.entries for line in entry]
    lines: list[str] = []
    shown = 0
    for entry in part.entries:
        if len(lines) + len(entry) > rows - 1:
            break
        lines += entry
        shown += 1
    more = f"… and {part.total - shown} more, `prloom status --all`"
    return [*lines, layout.INDENT + terminal.paint(more, "dim")]


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
        words.append(f"{_short(tokens)} tokens")
    if today.cost_usd is not None:
        words.append(f"${today.cost_usd:.2f}")
    text = ", ".join(words)
    if today.unmeasured_runs:
        return f"{text} ({today.unmeasured_runs} {_plural(today.unmeasured_runs, 'run')} unmeasured)"
    return text


def _short(count: int) -> str:
    """Return a number of tokens in few signs: `950`, `1.2 k`, `3.4 M`."""
    if count >= _MILLION:
        return f"{count / _MILLION:.1f} M"
    if count >= _THOUSAND:
        return f"{count / _THOUSAND:.1f} k"
    return str(count)


def _plural(count: int, noun: str) -> str:
    if count == 1:
        return noun
    return f"{noun}s"


def _working(each: Working) -> list[str]:
    title = ""
    if each.title:
        title = f'"{terminal.clean(each.title)}"'
    words = filter(None, [title, dashboard_words.step(each), *dashboard_words.efforts(each)])
    command = ""
    if each.run is not None:
        command = layout.to_run("logs", each.plan or each.run, "-f")
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
        words.append(f"next in {terminal.age(shown.waiting_next_ms)}")
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
        end = f"next in {terminal.age(wait.ends_in_ms)}"
    else:
        end = "due now"
    return [wait.plan or "repository", wait.kind, age, end, f"{wait.reason}: {wait.text}"]


def _lines(rows: Sequence[Sequence[str]]) -> Entries:
    """Return rows of plain cells, the first the plan's id, as entries of one line each that fit the terminal."""
    width = terminal.line_width()
    cleaned = [[terminal.clean(cell) for cell in row] for row in rows]
    if width is not None and width < layout.NARROW:
        cleaned = [[row[0], " ".join(filter(None, row[1:]))] for row in cleaned]
    if width is not None:
        cleaned = [[terminal.fit(row[0], width // 4), *row[1:]] for row in cleaned]
    return [[layout.INDENT + layout.cut(line, len(layout.INDENT))] for line in terminal.table(cleaned)]
