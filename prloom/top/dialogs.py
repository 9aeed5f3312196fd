"""Ask the operator on a full screen: to confirm what cannot be undone, or for a line of text; and show the keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

HELP = """\
Tab, Shift+Tab  next, previous pane   Enter  all about the row
Up, Down        next, previous row    /      filter all panes; Esc ends it

What is shown of the row              What is done with it
h  history of the event or the TODO   a  approve what is held or withheld
v  difference of the TODO, the plan   x  drop for good, with a reason
l  log of the run                     r  retry; of a TODO: open, let begin
                                      s  send the draft
The plan of the row                   w  answer the question
p  pause                              y  allow the call of a tool; Y: always
u  resume                             n  deny it
o  open its worktree in a shell       k  stop the run, pause its plan

t  what was done in the last hour, what it cost, which plugins are slow
q  leave                              ?  this help; Esc leaves it"""


class Confirm(ModalScreen[bool]):
    """Asks a question, below the text that it is about; Enter or `y` confirms, anything else does not."""

    AUTO_FOCUS = "#about"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("y,enter", "answer(True)", "Yes"),
        ("n,escape,q", "answer(False)", "No"),
    ]

    def __init__(self, question: str, about: str = "") -> None:
        super().__init__()
        self._question = question
        self._about = about

    def compose(self) -> ComposeResult:
        """Show the text, which can be scrolled, and the question."""
        with Vertical(id="dialog"):
            if self._about:
                with VerticalScroll(id="about"):
                    yield Static(self._about, markup=False)
            yield Static(f"{self._question}\n\ny: yes   n: no", markup=False)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - the binding gives it
        """End with the answer."""
        self.dismiss(answer)


class Prompt(ModalScreen[str | None]):
    """Asks for a line of text; Escape gives none."""

    AUTO_FOCUS = "#answer"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Cancel")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question, and a line to write in."""
        with VerticalScroll(id="dialog"):
            yield Static(self._question, markup=False)
            yield Input(id="answer")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End with the text, if there is one."""
        self.dismiss(event.value.strip() or None)

    def action_cancel(self) -> None:
        """End without a text."""
        self.dismiss(None)


class Report(ModalScreen[None]):
    """Shows a text, such as all keys."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark,enter,t", "dismiss", "Close")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Show the text."""
        with VerticalScroll(id="dialog"):
            yield Static(self._text, markup=False)
