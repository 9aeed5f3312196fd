"""What the panes draw: nothing where nothing has changed."""

from __future__ import annotations

from textual.app import App, ComposeResult
from top_screen import until

from prloom.top.panes import Detail, Header, Pane


class Widgets(App[None]):
    """A screen with one of each."""

    def compose(self) -> ComposeResult:
        yield Header()
        yield Pane("needs")
        yield Detail()


async def test_what_is_shown_once_more_is_not_drawn_once_more() -> None:
    shown = Widgets()
    async with shown.run_test(size=(80, 24)) as pilot:
        header, pane, detail = shown.query_one(Header), shown.query_one(Pane), shown.query_one(Detail)

        def show(age: int) -> None:
            header.show(f"dispatcher running, last tick {age} s ago")
            pane.show("Needs you (0)", [])
            detail.show("about: pr-7", "a text", at_end=False)

        show(1)
        await pilot.pause()
        await until(pilot, lambda: not (header._layout_required or pane._repaint_required or detail._repaint_required))
        show(2)

        assert not header._layout_required
        assert not pane._repaint_required
        assert not detail._repaint_required
        await until(pilot, lambda: "2 s ago" in str(header.render()))


async def test_a_header_that_needs_another_line_gets_it() -> None:
    shown = Widgets()
    async with shown.run_test(size=(40, 24)) as pilot:
        header = shown.query_one(Header)
        header.show("dispatcher running")
        await pilot.pause()
        await until(pilot, lambda: header.size.height == 1)

        header.show("dispatcher running, " + "a source that fails, " * 3)

        await until(pilot, lambda: header.size.height > 1)
