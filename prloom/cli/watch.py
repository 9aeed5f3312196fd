"""Show something again and again until Ctrl-C: on a terminal in place, where keys scroll it, else at each change."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

import click

from prloom.cli.output import terminal

T = TypeVar("T")

_PAUSE = 1.0
"""Seconds between two looks."""
_KEYS = {
    "j": 1,
    "\x1b[B": 1,
    "\x1bOB": 1,
    "k": -1,
    "\x1b[A": -1,
    "\x1bOA": -1,
}
_PAGES = {" ": 1, "\x1b[6~": 1, "b": -1, "\x1b[5~": -1}
_FIRST, _LAST = ("g", "\x1b[H"), ("G", "\x1b[F")


def watch(read: Callable[[], T], lines: Callable[[T], list[str]], essence: Callable[[T], object]) -> None:
    """Show what is read as lines until Ctrl-C; on a terminal, `q` ends it too, and this returns.

    Elsewhere than on a terminal it is shown again when its `essence` has changed.
    """
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        with _keys() as keys:
            _redraw_until_q(read, lines, keys)
        return
    _print_changes(read, lines, essence)


def _print_changes(read: Callable[[], T], lines: Callable[[T], list[str]], essence: Callable[[T], object]) -> NoReturn:
    before: object = None
    while True:
        shown = read()
        now = essence(shown)
        if now != before:
            click.echo("\n".join([*lines(shown), ""]))
            sys.stdout.flush()
            before = now
        time.sleep(_PAUSE)


def _redraw_until_q(read: Callable[[], T], lines: Callable[[T], list[str]], keys: Callable[[float], str]) -> None:
    drawn, top = 0, 0
    while True:
        content = lines(read())
        until = time.monotonic() + _PAUSE
        while True:
            height = os.get_terminal_size().lines - 1
            top = min(max(top, 0), _last_top(content, height))
            drawn = _draw(_window(content, top, height), drawn)
            key = keys(until - time.monotonic())
            if key in {"q", "Q"}:
                return
            moved = _moved(key, top, height, len(content))
            if not key or moved is None:
                break
            top = moved


def _moved(key: str, top: int, height: int, count: int) -> int | None:
    """Return which line is the first after a key; None for one that means nothing."""
    if key in _KEYS:
        return top + _KEYS[key]
    if key in _PAGES:
        return top + _PAGES[key] * max(height - 2, 1)
    if key in _FIRST:
        return 0
    if key in _LAST:
        return count
    return None


def _window(lines: list[str], top: int, height: int) -> list[str]:
    """Return as many lines from `top` on as fit, and how many there are below."""
    if _fit(lines[top:], height) == len(lines) - top:
        return lines[top:]
    fit = max(_fit(lines[top:], height - 1), 1)
    footer = terminal.fit(f"… {len(lines) - top - fit} more; arrow keys scroll, q ends", terminal.width())
    return [*lines[top : top + fit], terminal.paint(footer, "dim")]


def _last_top(lines: list[str], height: int) -> int:
    """Return from which line on all that is below fits."""
    return max(len(lines) - max(_fit(lines[::-1], height), 1), 0)


def _fit(lines: list[str], height: int) -> int:
    """Return how many of the first lines fit: one with a command to copy may be longer than the terminal is wide."""
    used = 0
    for count, line in enumerate(lines):
        used += _rows(line)
        if used > height:
            return count
    return len(lines)


def _rows(line: str) -> int:
    return max(1, -(-terminal.columns_of(line) // terminal.width()))


def _draw(lines: list[str], drawn: int) -> int:
    """Draw lines over the rows drawn before, and return how many rows they fill."""
    up = ""
    if drawn:
        up = f"\x1b[{drawn}F"
    sys.stdout.write(f"{up}\x1b[J")  # not by click, which with NO_COLOR drops it
    click.echo("\n".join(lines))
    return sum(map(_rows, lines))


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Yield a function that waits for a key, at most so many seconds: it returns the key, or an empty text.

    Ctrl-C stays what it is. Where stdin is no terminal there are no keys.
    """
    if not sys.stdin.isatty():
        yield _sleep
        return
    import termios  # noqa: PLC0415 - only a terminal needs them
    import tty  # noqa: PLC0415

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield lambda seconds: _key(fd, seconds)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _sleep(seconds: float) -> str:
    time.sleep(max(0.0, seconds))
    return ""


def _key(fd: int, seconds: float) -> str:
    ready, _, _ = select.select([fd], [], [], max(0.0, seconds))
    if not ready:
        return ""
    return os.read(fd, 16).decode("utf-8", "replace")
