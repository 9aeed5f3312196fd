"""Look at the full screen, and wait until it shows something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from operator_scene import NOW
from textual.pilot import Pilot
from textual.widgets import Static

from prloom.cli.context import Options
from prloom.storage.paths import RepositoryPaths
from prloom.top.actions import Operator
from prloom.top.app import TopApp
from prloom.top.panes import Pane


def app(where: RepositoryPaths) -> TopApp:
    made = TopApp(Operator(where, Options(str(where.root))), clock=lambda: NOW)
    made.NOTIFICATION_TIMEOUT = 600.0  # type: ignore[misc]  # what is told stays until the test has looked
    return made


def screen(shown: TopApp) -> str:
    """Return the screen as plain text."""
    strips = shown.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Let the application go on until something is true."""
    async with asyncio.timeout(60):
        while not true():
            await pilot.pause(0.01)


def pane(shown: TopApp, name: str) -> list[str]:
    return [str(option.prompt) for found in shown.main.query(f"#{name}").results(Pane) for option in found.options]


def detail(shown: TopApp) -> str:
    return str(shown.query_one("#text", Static).render())
