"""Draw charts as SVG: bars with their figures, so that a text alternative says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from prloom.core.text.shown_text import clean

_HEIGHT: Final = 180
_BASE: Final = 150
_TOP: Final = 18
_STEP: Final = 34
_FEW_STEP: Final = 100
_LONGEST_NAME: Final = 28
_ROW: Final = 42
_NAME_ROOM: Final = 20
_BAR: Final = 14
_WIDE: Final = 1120


class Bar(NamedTuple):
    """One bar: its name, its length, how its figure is written, and the length of its darker part, if it has one."""

    name: str
    value: float
    shown: str
    part: float = 0.0


def bars(title: str, given: Sequence[Bar]) -> Markup:
    """Return horizontal bars as wide as the page, below their names and figures; empty for none."""
    if not given:
        return Markup("")
    longest = max(bar.value for bar in given) or 1.0
    rows = [_row(bar, number, longest) for number, bar in enumerate(given)]
    height = _ROW * len(given)
    return _svg(title, given, Markup('width="100%" height="{}"').format(height), rows)


def columns(title: str, given: Sequence[Bar]) -> Markup:
    """Return vertical bars in the order of time; empty for none."""
    if not given:
        return Markup("")
    highest = max(bar.value for bar in given) or 1.0
    room = max(min(_WIDE, _FEW_STEP * (len(given) + 1)), _STEP * len(given))
    step = room / len(given)
    drawn = [_column(bar, number, step, highest) for number, bar in enumerate(given)]
    axis = Markup('<line class="axis" x1="0" y1="{y}" x2="{x}" y2="{y}"></line>').format(y=_BASE, x=round(room))
    size = Markup('viewBox="0 0 {width} {height}" width="{width}" height="{height}"')
    return _svg(title, given, size.format(width=round(room), height=_HEIGHT), [*drawn, axis])


def _row(bar: Bar, number: int, longest: float) -> Markup:
    top = number * _ROW + _NAME_ROOM
    length = max(round(100 * bar.value / longest, 1), 1)
    dark = round(100 * bar.part / longest, 1)
    return Markup(
        '<text class="name" x="0" y="{above}">{name}</text>'
        '<rect class="bar" x="0" y="{top}" width="{length}%" height="{height}" rx="3"></rect>{part}'
        '<text class="figure" x="100%" y="{above}">{shown}</text>'
    ).format(
        above=top - 6,
        name=_short(bar.name),
        top=top,
        length=length,
        part=_part(_BAR, x=0, y=top, width=dark, unit="%"),
        height=_BAR,
        shown=clean(bar.shown),
    )


def _column(bar: Bar, number: int, step: float, highest: float) -> Markup:
    height = round((_BASE - _TOP) * bar.value / highest, 1)
    dark = round((_BASE - _TOP) * bar.part / highest, 1)
    middle = round(number * step + step / 2, 1)
    width = min(step * 0.62, 64)
    return Markup(
        '<rect class="bar" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"></rect>{part}'
        '<text class="value" x="{middle}" y="{above}">{shown}</text>'
        '<text class="label" x="{middle}" y="{below}">{name}</text>'
    ).format(
        x=round(middle - width / 2, 1),
        y=round(_BASE - height, 1),
        width=round(width, 1),
        height=max(height, 1),
        part=_part(dark, x=round(middle - width / 2, 1), y=round(_BASE - dark, 1), width=round(width, 1)),
        middle=middle,
        above=round(_BASE - height - 5, 1),
        shown=clean(bar.shown),
        below=_BASE + 18,
        name=_short(bar.name),
    )


def _part(height: float, *, x: float, y: float, width: float, unit: str = "") -> Markup:
    """Return the darker part of a bar, at its beginning; nothing where a bar has none."""
    if not height or not width:
        return Markup("")
    drawn = Markup('<rect class="bar part" x="{x}" y="{y}" width="{width}{unit}" height="{height}" rx="3"></rect>')
    return drawn.format(x=x, y=y, width=width, height=height, unit=unit)


def _svg(title: str, given: Sequence[Bar], size: Markup, parts: Sequence[Markup]) -> Markup:
    """Return the chart with its title, and all of its figures as its description."""
    told = "; ".join(f"{clean(bar.name)}: {clean(bar.shown)}" for bar in given)
    return Markup(
        '<svg class="chart" {size} role="img" '
        'aria-label="{title}: {told}"><title>{title}</title><desc>{told}</desc>{parts}</svg>'
    ).format(size=size, title=title, told=told, parts=Markup("").join(parts))


def _short(text: str) -> str:
    shown = clean(text)
    if len(shown) <= _LONGEST_NAME:
        return shown
    return f"{shown[: _LONGEST_NAME - 1]}…"
