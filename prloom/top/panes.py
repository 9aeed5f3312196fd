"""The widgets of the full screen: lists whose chosen row stays chosen while they change, and the pane of the detail."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from prloom.top.rows import Row, Subject


class Pane(OptionList):
    """A list of rows. Its title says whether it has the focus, so that this shows without colours too."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, markup=False)
        self._title = ""
        self._drawn = ""
        self._marked = False
        self._rows: dict[str, Row] = {}
        self.can_focus = True

    @property
    def subject(self) -> Subject | None:
        """What the chosen row is about."""
        option = self.highlighted_option
        if option is None or option.id is None:
            return None
        return self._rows[option.id].subject

    def show(self, title: str, rows: Sequence[Row]) -> None:
        """Show these rows; what was chosen stays chosen, and else the row in its place."""
        self._title = title
        self._set_title()
        numbered = {f"{row.subject.key}#{place}": row for place, row in enumerate(rows)}
        if [row.text for row in numbered.values()] == [row.text for row in self._rows.values()]:
            self._rows = dict(zip(self._rows, numbered.values(), strict=True))
            return
        before, place = self.subject, self.highlighted
        self._rows = numbered
        self.clear_options()
        self.add_options([Option(row.text, id=key) for key, row in numbered.items()])
        keys = [row.subject.key for row in rows]
        if before is not None and before.key in keys:
            place = keys.index(before.key)
        if rows:
            self.highlighted = min(place or 0, len(rows) - 1)

    def on_focus(self) -> None:
        """Show in the title that the keys act here."""
        self._marked = True
        self._set_title()

    def on_blur(self) -> None:
        """Show in the title that they do not any more."""
        self._marked = False
        self._set_title()

    def _set_title(self) -> None:
        mark = ""
        if self._marked:
            mark = "> "
        title = f"{mark}{self._title}"
        if title != self._drawn:  # each setting draws the whole pane again
            self._drawn = self.border_title = title


class Header(Static):
    """Shows a text above the panes, in as many lines as it needs.

    Its ages are others at each look. The screen is laid out anew only where the text needs more lines or fewer: else
    each look would draw everything again.
    """

    def __init__(self) -> None:
        super().__init__(id="header", markup=False)
        self._text = ""
        self._form = (0, 0)

    def show(self, text: str) -> None:
        """Show a text."""
        width = self.size.width
        form = width, len(textwrap.wrap(text, max(width, 1)))
        if text != self._text:
            self.update(text, layout=form != self._form)
        self._text, self._form = text, form


class Detail(VerticalScroll):
    """Shows a text; one that grows at its end is shown at its end."""

    def __init__(self) -> None:
        super().__init__(id="detail")
        self._title = ""
        self._text = ""

    def compose(self) -> ComposeResult:
        """Show an empty text."""
        yield Static("", id="text", markup=False)

    def show(self, title: str, text: str, *, at_end: bool) -> None:
        """Show a text; with `at_end` its last lines."""
        if title != self._title:
            self._title = self.border_title = title
        if text == self._text:
            return
        self._text = text
        self.query_one("#text", Static).update(text)
        if at_end:
            self.scroll_end(animate=False)
        else:
            self.scroll_home(animate=False)
