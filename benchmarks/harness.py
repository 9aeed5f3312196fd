"""Measure a subject against a yardstick: in turn, in one run, by medians, so that both meet the same machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

Sense = Literal["at most", "at least"]
TIMES = "×"  # noqa: RUF001 - the sign, and no letter

Measure = Callable[[], float]
"""Does its work once and returns what it took, in seconds as a rule; what it prepares does not count."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured. `rounds` are those whose median counts; one more goes before, to warm up."""

    rounds: int = 9
    old: int = 1_000_000
    few: int = 1_000
    saved: int = 100_000
    new: int = 1_000_000
    handled: int = 10_000
    page: int = 100
    plans: tuple[int, ...] = (100, 300)
    events: int = 40
    pulls: int = 300
    rest: float = 20.0
    """Seconds for which what is at rest is looked at."""
    workers: int = 20
    sleep: float = 30.0
    """Seconds that a worker's program sleeps."""

    @property
    def latency_rounds(self) -> int:
        """Rounds of what takes milliseconds: more of them cost nothing."""
        return max(self.rounds, self.events)


TINY = Sizes(
    rounds=1,
    old=500,
    few=100,
    saved=200,
    new=500,
    handled=100,
    plans=(2, 3),
    events=1,
    pulls=3,
    rest=0.5,
    workers=2,
    sleep=0.3,
)
"""For the test that each row can be measured at all; its figures mean nothing."""


def scaled(sizes: Sizes, by: float) -> Sizes:
    """Return the sizes with more or fewer events; what counts pages, plans and rounds stays."""
    events = ("old", "saved", "new", "handled")
    return replace(sizes, **{name: max(100, round(getattr(sizes, name) * by)) for name in events})


@dataclass(frozen=True)
class Figure:
    """One line of the table: what was measured, what it may be, and what the two sides took.

    `value` is in `unit`, which is TIMES for a ratio. `subject` and `yardstick` are texts with their units, for people.
    """

    row: str
    work: str
    yardstick: str
    target: float
    value: float
    sense: Sense = "at most"
    unit: str = TIMES
    subject_took: str = ""
    yardstick_took: str = ""
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the target is met."""
        return self.value <= self.target if self.sense == "at most" else self.value >= self.target


@dataclass(frozen=True)
class Row:
    """A row of the table that `make bench` prints; `measure` gets the sizes and an empty folder of its own."""

    name: str
    measure: Callable[[Sizes, Path], Iterable[Figure]]


@dataclass(frozen=True)
class Paired:
    """The medians of both sides, and the median of the rounds' ratios."""

    subject: float
    yardstick: float
    ratio: float


def alternate(subject: Measure, yardstick: Measure, rounds: int, *, warm: int = 1) -> Paired:
    """Measure both sides in turn, each first in every other round."""
    warm = warm if rounds > 1 else 0  # one round is a try whether it can be measured at all
    pairs = []
    for number in range(rounds + warm):
        first, second = (subject, yardstick) if number % 2 else (yardstick, subject)
        gc.collect()
        one = first()
        gc.collect()
        other = second()
        pairs.append((one, other) if number % 2 else (other, one))
    counted = pairs[warm:]
    return Paired(
        statistics.median(pair[0] for pair in counted),
        statistics.median(pair[1] for pair in counted),
        statistics.median(pair[0] / pair[1] for pair in counted),
    )


def timed(work: Callable[[], object]) -> Measure:
    """Return the measure of a piece of work in wall time."""

    def measure() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return measure


def compared(figure: Figure, paired: Paired) -> Figure:
    """Return the figure with what was measured: the ratio, and the two sides' times."""
    return replace(figure, value=paired.ratio, subject_took=span(paired.subject), yardstick_took=span(paired.yardstick))


blank = partial(Figure, value=0.0)
"""A figure that is not measured yet."""


def span(seconds: float) -> str:
    """Return a time for people."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield "| work | yardstick | target | measured | met | took | yardstick took |"
    yield "|---|---|---|---|---|---|---|"
    for figure in figures:
        sign = "≤" if figure.sense == "at most" else "≥"
        cells = (
            figure.work,
            figure.yardstick,
            f"{sign} {figure.target:g} {figure.unit}".strip(),
            f"{figure.value:.3g} {figure.unit}".strip() if figure.value else f"0 {figure.unit}".strip(),
            "yes" if figure.holds else "**no**",
            figure.subject_took,
            figure.yardstick_took,
        )
        yield f"| {' | '.join(cells)} |"


def document(figures: Sequence[Figure], machine: dict[str, object], sizes: Sizes) -> dict[str, object]:
    """Return the results for programs."""
    rows = [asdict(figure) | {"holds": figure.holds} for figure in figures]
    return {"schemaVersion": 1, "machine": machine, "sizes": asdict(sizes), "figures": rows}
