"""The keys that act on the chosen row: each asks first where that cannot be undone, and says what came of it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

import click
from textual import work
from textual.app import App, SuspendNotSupported
from textual.binding import BindingType

from prloom.engine.operator import session
from prloom.errors import PrloomError
from prloom.model.permission import Choice
from prloom.top import actions, detail
from prloom.top.actions import Approval, Operator, ShownDrafts
from prloom.top.dialogs import Confirm, Prompt
from prloom.top.rows import Subject

T = TypeVar("T", Approval, ShownDrafts)

_DECISIONS: Mapping[Choice, str] = {
    "allow": "Allow this call?",
    "allow_always": "Allow this call, and all later calls of this tool?",
}
"""What is asked first. What was denied can still be allowed when the agent calls it again."""


class ActionKeys(App[None]):
    """An application with these keys; `operator` does what they ask for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("a", "approve", "approve"),
        ("x", "drop", "drop"),
        ("r", "retry", "retry"),
        ("s", "send", "send"),
        ("w", "answer", "answer"),
        ("y", "decide('allow')", "allow"),
        ("Y", "decide('allow_always')", "always allow"),
        ("n", "decide('deny')", "deny"),
        ("p", "pause", "pause"),
        ("u", "resume", "resume"),
        ("k", "stop", "stop"),
        ("o", "open", "open"),
    ]

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        self.operator = operator

    @property
    @abstractmethod
    def subject(self) -> Subject | None:
        """What the chosen row is about; None where nothing is chosen."""

    @abstractmethod
    async def read(self) -> None:
        """Read again what is shown."""

    def action_approve(self) -> None:
        """Approve what is held or withheld, after its whole text was shown: an approval is for that text."""
        self._confirm(self.operator.approval, _approval_question, self.operator.approve)

    def action_retry(self) -> None:
        """Make it due now."""
        self._do("retry")

    def action_pause(self) -> None:
        """Pause the plan."""
        self._do("pause")

    def action_resume(self) -> None:
        """Resume the plan."""
        self._do("resume")

    def action_send(self) -> None:
        """Send the drafts, after their whole text was shown: exactly that is sent."""
        question = "Send the draft? What is sent cannot be taken back."
        self._confirm(self.operator.drafts, lambda _: question, self.operator.send)

    @work
    async def action_stop(self) -> None:
        """Stop the run, after a question."""
        subject = self.subject
        if subject is None or not self._has(subject, actions.run_id):
            return
        if await self.push_screen_wait(Confirm("Stop the run, and pause its plan?")):
            await self._report(lambda: self.operator.stop(subject))

    @work
    async def action_drop(self) -> None:
        """Drop for good, with a reason."""
        subject = self.subject
        if subject is None or not self._has(subject, actions.target_ids):
            return
        reason = await self.push_screen_wait(Prompt("Why drop it? (Esc cancels)"))
        if reason is not None:
            await self._report(lambda: self.operator.drop(subject, reason))

    @work
    async def action_answer(self) -> None:
        """Answer the question of an agent."""
        subject = self.subject
        if subject is None or (subject.request is None and subject.todo is None):
            self.notify("no question waits here; choose one under Needs you", markup=False)
            return
        text = await self.push_screen_wait(Prompt("Answer:"))
        if text is not None:
            await self._report(lambda: self.operator.answer(subject, text))

    @work
    async def action_decide(self, choice: Choice) -> None:
        """Allow the call of a tool, after it was shown whole, or deny it, which the agent may ask again."""
        subject = self.subject
        if subject is None or not self._has(subject, actions.request_id):
            return
        question = _DECISIONS.get(choice)
        if question and not await self.push_screen_wait(Confirm(question, "\n".join(detail.sentence(subject)))):
            return
        await self._report(lambda: self.operator.decide(subject, choice))

    async def action_open(self) -> None:
        """Open the plan's worktree in a shell, and come back to the screen after it."""
        subject = self.subject
        if subject is None or subject.plan is None:
            self.notify("this row does not belong to a plan; choose another row", markup=False)
            return
        plan = subject.plan
        try:
            with self.suspend():
                click.echo("prloom does not work on the plan until you leave this shell.")
                session.run(self.operator.where, plan, "shell", actions.shell())
        except SuspendNotSupported:
            self.notify(f"there is no shell in this terminal; use `prloom open {plan}`", markup=False)
        except PrloomError as error:
            self._fail(error)
        await self.read()

    @work
    async def _do(self, name: str) -> None:
        subject = self.subject
        if subject is not None:
            await self._report(lambda: getattr(self.operator, name)(subject))

    @work
    async def _confirm(
        self, read: Callable[[Subject], T], question: Callable[[T], str], act: Callable[[T], str]
    ) -> None:
        """Show the whole text of what the chosen row is about with a question, and act on exactly that text."""
        subject = self.subject
        if subject is None:
            return
        try:
            shown = await asyncio.to_thread(read, subject)
        except PrloomError as error:
            self._fail(error)
            return
        if await self.push_screen_wait(Confirm(question(shown), shown.text)):
            await self._report(lambda: act(shown))

    def _has(self, subject: Subject, part: Callable[[Subject], object]) -> bool:
        """Whether a row has what an action is about; say what to choose where it has not."""
        try:
            part(subject)
        except PrloomError as error:
            self._fail(error)
            return False
        return True

    async def _report(self, act: Callable[[], str]) -> None:
        """Do something in a thread, and say what came of it."""
        try:
            self._say(await asyncio.to_thread(act))
        except PrloomError as error:
            self._fail(error)
        await self.read()

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)

    def _fail(self, error: PrloomError) -> None:
        self.notify(str(error), severity="error", markup=False)


def _approval_question(shown: Approval) -> str:
    """Return what is asked about what an approval covers."""
    questions = []
    if shown.digests:
        questions.append(f"Approve {len(shown.digests)}? Plugins and agents will read it.")
    if shown.withheld:
        questions.append(f"Send {len(shown.withheld)} withheld, with the secret in it?")
    return " ".join(questions)
