"""Read and write the files of a plan: `plan.md`, its text, and what decisions say of it in `state.json`."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection
from hashlib import sha256

from msgspec.structs import replace

from prloom.core.plans import front_matter, lost_text, plan_file, plan_text, todo_ids
from prloom.core.plans.plan_file import PlanTodo, TodoItem
from prloom.errors import PrloomError, StorageError
from prloom.model.decision import Decision, PlanText
from prloom.model.hook_points import AFTER_ACTIVATE
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.model.work import WorkStep
from prloom.storage import file_stamp, locks, paths, repair
from prloom.storage.file_stamp import FileStamp, FileValue
from prloom.storage.safe_dir import FILE_MODE, SafeDir

Edit = Callable[[Callable[[Plan], Plan]], object]
"""Changes what `state.json` holds, if that is a change."""

_EXACTLY = "surrogateescape"  # bytes that are no UTF-8 stay what they are where only a TODO is added


class PlanFile:
    """`plan.md` of one plan. People edit it too, so a decision adds to what is there, and never takes away.

    While TODOs of the log have not ended, a file that is missing or empty was lost, and a decision adds to the text
    that was read last.
    """

    def __init__(self, local: SafeDir) -> None:
        self._local = local
        self._last = b""
        self._todos: FileValue[tuple[TodoItem, ...]] = FileValue()
        self._problem: FileValue[str | None] = FileValue()
        self._blank: FileValue[bool] = FileValue()

    def todos(self) -> tuple[TodoItem, ...]:
        """Return the TODOs; the text is read again only where the file has changed."""
        return self._todos.at(self.stamp(), lambda: plan_file.todos(self.read()))

    def problem(self) -> str | None:
        """Return why its bytes or its front matter cannot be read; it is read again only where it has changed."""
        return self._problem.at(self.stamp(), lambda: _problem(self._content()))

    def is_blank(self) -> bool:
        """Whether the file is missing or has no text; it is read again only where it has changed."""
        return self._blank.at(self.stamp(), lambda: not self._content().strip())

    def add_ids(self, done: Collection[str] = ()) -> None:
        """Give each TODO an id that has none; a copy that an editor saves without them gets the same ids again.

        A TODO that was `done` and taken out of the plan is not meant by a new one with its title.
        """
        todos = self.todos()
        if all(todo.id for todo in todos):
            return
        before = None
        if self._todos.previous is not None:
            before = frozenset(todo.id for todo in self._todos.previous if todo.id)
        taken = todo_ids.not_meant(done, todos, before)
        self.edit(lambda text: plan_file.with_ids(text, todo_ids.by_title(), taken))

    def edit(self, change: Callable[[str], str]) -> str:
        """Change the text as one step against all other processes, and return it; bytes that are no UTF-8 stay."""
        with locks.locked(self._local):
            content = self._content()
            text = change(content.decode("utf-8", _EXACTLY))
            self._write(content, text)
        return text

    def read(self) -> str:
        """Return the text; empty where there is none."""
        return self._content().decode("utf-8", "replace")

    def _content(self) -> bytes:
        """Return the bytes of the file; what has a text is remembered."""
        content = self._local.read_bytes(paths.PLAN_TEXT) or b""
        if content.strip():
            self._last = content
        return content

    def stamp(self) -> FileStamp | None:
        """Return the stamp of the file, by which a change is noticed without reading it; None where there is none."""
        found = self._local.stat(paths.PLAN_TEXT)
        if found is None:
            return None
        return file_stamp.of(found)

    def apply(self, decision: Decision, state: DispatchState) -> None:
        """Write the plan that a hook returned, append TODOs and notes, and set the box of the TODO that was worked on.

        Leave the rest of the file alone.
        """
        step = decision.work
        if decision.plan is None and not decision.todos and (step is None or not (step.box or step.notes)):
            return
        with locks.locked(self._local):
            self._apply(decision, state, step)

    def _apply(self, decision: Decision, state: DispatchState, step: WorkStep | None) -> None:
        content = known = self._content()
        if not content.strip():
            known = self._underlying(content, decision, state)
        if decision.plan:
            text = self._rewritten(known, decision.plan)
        else:
            text = known.decode("utf-8", _EXACTLY)
        new = [PlanTodo(todo.id, todo.title, todo.context, todo.event_ids) for todo in decision.todos]
        if new:
            text = plan_file.append_todos(text, new)
        if step is not None:
            text = _with_step(text, step)
        self._write(content, text)

    def _underlying(self, content: bytes, decision: Decision, state: DispatchState) -> bytes:
        """Return what a decision adds to where the file has no text: the last one, if that was lost.

        A file with nothing but new TODOs or notes would say that all others were taken out.
        """
        if lost_text.awaited(state) <= {todo.id for todo in decision.todos}:
            return content
        has_notes = decision.work is not None and bool(decision.work.notes)
        if not self._last and (decision.todos or decision.plan or has_notes):
            raise StorageError(f"{self._local.where(paths.PLAN_TEXT)} is missing or empty; restore it")
        return self._last

    def _write(self, content: bytes, text: str) -> None:
        """Write the text where it is not the present content; the file's permissions are kept."""
        changed = text.encode("utf-8", _EXACTLY)
        if changed != content:
            found = self._local.stat(paths.PLAN_TEXT)
            if found is None:
                mode = FILE_MODE
            else:
                mode = stat.S_IMODE(found.st_mode)
            self._local.replace(paths.PLAN_TEXT, changed, mode=mode)

    def _rewritten(self, content: bytes, plan: PlanText) -> str:
        """Return the text that a hook returned, or the present one where that is not the one which the hook had seen.

        Somebody edited it between the decision and this write: theirs stays, and the hook's is kept beside it.
        """
        text = content.decode("utf-8", "replace")
        if text_digest(text) == plan.base:
            return plan.text.encode("utf-8", "replace").decode("utf-8")
        if text != plan.text:
            repair.quarantine_copy(self._local, paths.PLAN_TEXT, "hook", [plan.text.encode("utf-8", "replace")])
        return content.decode("utf-8", _EXACTLY)


class PlanStateFile:
    """Writes what decisions say of the plan itself; leaves all else in `state.json` alone."""

    def __init__(self, edit: Edit) -> None:
        self._edit = edit

    def apply(self, decision: Decision, _: DispatchState) -> None:
        """Note that the pull request was opened, closed, merged or reopened, and that the plan is well on its way."""
        opened = decision.opened
        if opened is not None:
            about = {"pr": opened.number, "forge": opened.forge, "url": opened.url, "pr_base": opened.base}
            self._edit(lambda plan: replace(plan, **about))
        status = decision.plan_status
        if status is not None:
            self._edit(lambda plan: replace(plan, status=status))
        if decision.work is not None and decision.work.hook == AFTER_ACTIVATE:
            self._edit(lambda plan: replace(plan, activates=False))


def _with_step(text: str, step: WorkStep) -> str:
    """Return the text with what a step of the work changes in it; a TODO that was taken out stays out."""
    if step.box is not None:
        text = plan_file.set_state(text, step.todo_id, step.box)
        if step.box == "blocked":
            text = plan_file.set_reason(text, step.todo_id, step.reason or "")
    if step.notes:
        text = plan_text.append_notes(text, (step.notes,))
    return text


def _problem(content: bytes) -> str | None:
    try:
        front_matter.parse(content.decode())
    except UnicodeDecodeError as error:
        return f"{paths.PLAN_TEXT}: byte {error.start} is not UTF-8 text; save the file as UTF-8"
    except PrloomError as error:
        return f"{paths.PLAN_TEXT}: {error}; the work goes on, and reviewers are asked once that is corrected"
    return None


def text_digest(text: str) -> str:
    """Return a digest, by which two texts of a plan are compared."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
