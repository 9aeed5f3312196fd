"""The full screen: four panes with what an operator looks at, the detail of the chosen row, and keys for actions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import ClassVar, Final

import click
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static

from prloom.cli.config_check import ConfigCheck
from prloom.cli.output import dashboard_text
from prloom.engine.repository_watch import RepositoryWatch
from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Dashboard
from prloom.engine.views.snapshot import SnapshotCache
from prloom.errors import PrloomError
from prloom.top import detail, rows, summary
from prloom.top.actions import Operator
from prloom.top.detail import DetailMode
from prloom.top.dialogs import HELP, Report
from prloom.top.keys import ActionKeys
from prloom.top.panes import Detail, Header, Pane
from prloom.top.rows import Subject

AGES: Final = 10.0
"""Seconds after which the ages on the screen are brought up to date, where nothing else has changed."""

GATHER: Final = 0.03
"""Seconds for which changes are gathered, so that one decision with its files is one look."""

_KEYS: Final = frozenset(
    (
        *("help", "summary", "filter", "unfilter", "mode", "approve", "drop", "retry", "send", "answer", "decide"),
        *("pause", "resume", "stop", "open", "quit"),
    )
)


class TopApp(ActionKeys):
    """The screen. Its panes are named as in `rows.PANES`."""

    CSS = """
    Screen { layout: vertical; }
    #header { height: auto; max-height: 3; }
    #panes { grid-size: 2 2; grid-rows: 3fr 2fr; height: 3fr; }
    Pane { border: round $primary; height: 1fr; width: 1fr; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    Pane:focus { border: heavy $accent; }
    Detail { border: round $primary; height: 2fr; }
    #filter { height: 1; border: none; display: none; }
    #filter.shown { display: block; }
    #keys { height: 1; }
    Confirm, Prompt, Report { align: center middle; }
    #dialog {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: heavy $accent; padding: 0 1; background: $surface;
    }
    #about { height: auto; max-height: 65vh; margin-bottom: 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "leave"),
        ("question_mark", "help", "help"),
        ("t", "summary", "summary"),
        ("slash", "filter", "filter"),
        ("escape", "unfilter", "no filter"),
        ("h", "mode('history')", "history"),
        ("v", "mode('diff')", "difference"),
        ("l", "mode('log')", "log"),
    ]

    def __init__(self, operator: Operator, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(operator)
        self.shown: Dashboard | None = None
        self._clock = clock
        self._check = ConfigCheck(operator.given)
        self._cache = SnapshotCache()
        self._read_at = 0.0
        self._changed = asyncio.Event()
        self._words = ""
        self._mode: DetailMode = "about"
        self._focused = rows.PANES[0]

    def compose(self) -> ComposeResult:
        """Lay out the header, the panes, the detail, the line of the filter, and that of the keys."""
        yield Header()
        with Grid(id="panes"):
            for name in rows.PANES:
                yield Pane(name)
        yield Detail()
        yield Input(placeholder="filter", id="filter")
        yield Static(
            "? help   / filter   t summary   a approve   x drop   r retry   p pause   q leave", id="keys", markup=False
        )

    async def on_mount(self) -> None:
        """Show the present state, and from then on each change."""
        await self.read()
        self.main.query_one("#needs", Pane).focus()
        self._watch()
        self._refresh()
        self.set_interval(AGES, self._show_ages)

    @work(exclusive=True, group="watch")
    async def _watch(self) -> None:
        await RepositoryWatch(self.operator.where, self._runs, lambda _: self._changed.set()).run()

    @work(exclusive=True, group="refresh")
    async def _refresh(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(GATHER)
            self._changed.clear()
            await self.read()

    async def _show_ages(self) -> None:
        """Show how old everything is now, unless a change has just shown it."""
        if monotonic() - self._read_at > AGES / 2:
            await self.read()

    def _runs(self) -> list[str]:
        """Return the runs whose folders are watched."""
        if self.shown is None:
            return []
        return [each.run for each in self.shown.working if each.run]

    async def read(self) -> None:
        """Read the dashboard in a thread, so that keys are heard meanwhile, and show it."""
        try:
            shown = await asyncio.to_thread(self._dashboard)
        except (PrloomError, OSError) as error:  # it may be gone, or be there again, at the next look
            self.notify(str(error), severity="error", markup=False)
            return
        if not self._has_panes():  # it has ended meanwhile
            return
        self.shown, self._read_at = shown, monotonic()
        self._show()
        await self._show_detail()

    def _has_panes(self) -> bool:
        """Whether the panes are there: at the end they go one by one, while something may still be read."""
        if not self.is_running or not self.screen_stack:
            return False
        return len(self.main.query(Pane)) == len(rows.PANES) and bool(self.main.query(Detail))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let the keys of the panes do nothing while a dialog is above them."""
        is_below = len(self.screen_stack) > 1 and action in _KEYS
        return not is_below and super().check_action(action, parameters)

    def _dashboard(self) -> Dashboard:
        where, error = self.operator.where, self._check.error()
        return dashboard.read(where, self._clock(), config_error=error, cache=self._cache)

    def _show(self) -> None:
        if self.shown is None:
            return
        self.main.query_one(Header).show(click.unstyle(" ".join(dashboard_text.header(self.shown))))
        titles, found = rows.titles(self.shown), rows.of(self.shown)
        for name in rows.PANES:
            title = titles[name]
            if self._words:
                title = f"{title} /{self._words}"
            self.main.query_one(f"#{name}", Pane).show(title, rows.matching(found[name], self._words))

    @property
    def main(self) -> Screen[None]:
        """The screen with the panes, also while a dialog is above it."""
        return self.screen_stack[0]

    @property
    def subject(self) -> Subject | None:
        """What the chosen row of the pane that has, or last had, the focus is about."""
        return self.main.query_one(f"#{self._focused}", Pane).subject

    async def _show_detail(self) -> None:
        if not self._has_panes():
            return
        subject = self.subject
        if subject is None:
            self.main.query_one(Detail).show("", "", at_end=False)
            return
        mode = self._mode
        text = await asyncio.to_thread(detail.text, self.operator.where, subject, mode)
        at_end = mode == "log" or (mode == "about" and subject.run is not None)
        if self._has_panes() and subject == self.subject:
            self.main.query_one(Detail).show(f"{mode}: {subject.plan or 'repository'}", text, at_end=at_end)

    async def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the detail of a row that was chosen."""
        if event.option_list.id == self._focused:
            self._mode = "about"
            await self._show_detail()

    async def on_descendant_focus(self) -> None:
        """Show the detail of the pane that has the focus now."""
        focused = self.focused
        if isinstance(focused, Pane) and focused.id is not None and focused.id != self._focused:
            self._focused = focused.id
            self._mode = "about"
            await self._show_detail()

    async def on_option_list_option_selected(self) -> None:
        """Show all about a row."""
        await self.action_mode("about")

    async def action_mode(self, mode: DetailMode) -> None:
        """Show another view of the chosen row."""
        self._mode = mode
        await self._show_detail()

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(Report(HELP))

    async def action_summary(self) -> None:
        """Show what was done lately, what it cost, and which plugins are slow."""
        text = await asyncio.to_thread(summary.text, self.operator.where, self._clock())
        if len(self.screen_stack) == 1:
            await self.push_screen(Report(text))

    def action_filter(self) -> None:
        """Open the line of the filter."""
        line = self.main.query_one("#filter", Input)
        line.add_class("shown")
        line.focus()

    def action_unfilter(self) -> None:
        """Show all rows again."""
        line = self.main.query_one("#filter", Input)
        line.value = ""
        line.remove_class("shown")
        self.main.query_one(f"#{self._focused}", Pane).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the words are written."""
        if event.input.id == "filter":
            self._words = event.value
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go back to the pane, with the filter on."""
        if event.input.id == "filter":
            event.input.set_class(bool(event.value), "shown")
            self.main.query_one(f"#{self._focused}", Pane).focus()
