"""Write the crash matrix down as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

BEGIN, END = "<!-- crash matrix: begin -->", "<!-- crash matrix: end -->"
COLUMNS = ("kill", "torn", "EIO", "ENOSPC", "short")
_EXTRA = ("twice", "power", "traced")
NONE = "-"
APART = {"work once": ("once", "work"), "work twice": ("twice", "work"), "requests": ("once", "pull")}
"""The stories that have a line of their own instead of a place in the matrix: the kind of faults, and the story."""

Report = Mapping[str, Any]


def page(text: str, reports: Mapping[str, Report], apart: Mapping[str, Report], kills: Report) -> str:
    """Return the text of the page with the tables between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    parts = (_matrix(reports), _totals(reports, apart, kills))
    return "\n".join((before + BEGIN, "", *("\n".join((*part, "")) for part in parts), END + after))


def _matrix(reports: Mapping[str, Report]) -> list[str]:
    counts = {kind: _counts(report["rows"]) for kind, report in reports.items()}
    keys = sorted({key for kind in counts.values() for key, _ in kind}, key=lambda key: key.split("|"))
    head = ("Protocol", "Call", *COLUMNS, "twice in a row", "power cut", "strace")
    lines = [_line(head), _line(["---"] * len(head))]
    for key in keys:
        cells = [_cell(counts["once"].get((key, fault))) for fault in (*COLUMNS,)]
        if key == "locks|flock":
            cells = [_cell(counts["once"].get((key, "held"))), *[NONE] * 4]
        more = [_cell(_sum(counts[kind], key)) for kind in _EXTRA]
        lines.append(_line([*key.split("|"), *cells, *more]))
    return lines


def _counts(rows: Sequence[Sequence[Any]]) -> dict[tuple[str, str], tuple[int, int]]:
    return {(row, fault): (runs, failed) for row, fault, runs, failed in rows}


def _sum(counts: Mapping[tuple[str, str], tuple[int, int]], key: str) -> tuple[int, int] | None:
    mine = [count for (row, _), count in counts.items() if row == key]
    return (sum(runs for runs, _ in mine), sum(failed for _, failed in mine)) if mine else None


def _cell(count: tuple[int, int] | None) -> str:
    if count is None:
        return NONE
    runs, failed = count
    return f"failed ({failed} of {runs})" if failed else str(runs)


def _totals(reports: Mapping[str, Report], apart: Mapping[str, Report], kills: Report) -> list[str]:
    names = {
        "once": "one fault, by the file layer",
        "twice": "a second fault while the first is fixed, by the file layer",
        "power": "power cuts, by the file layer",
        "traced": "one fault, by strace",
        "work once": "one kill in the work on a plan, before a change, a command of git or the start of a program",
        "work twice": "a second kill while the work on a plan recovers",
        "requests": "one kill or broken connection before or after a request to the forge about a pull request",
    }
    lines = [_line(("What was tried", "Runs", "Went wrong")), _line(["---", "---:", "---:"])]
    for kind, report in {**reports, **apart}.items():
        wrong = sum(failed for *_, failed in report["rows"])
        lines.append(_line((names[kind], str(report["cells"]), str(wrong))))
    rounds = (
        f"rounds of `kill -9` on `prloom start` under load: {kills['events']} events on a bus, in `review.md` and on "
        f"GitHub; {kills['strangers']} of strangers, {kills['on GitHub']} answered on GitHub, {kills['cut short']} of "
        f"them posted by a dispatcher that was killed before it knew (seed {kills['seed']})"
    )
    return [*lines, _line((rounds, str(kills["rounds"]), str(len(kills["wrong"]))))]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
