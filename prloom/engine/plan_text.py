"""The plan's text, `plan.md`: read by hooks and agents, and brought up to the decision log."""

from __future__ import annotations

from hashlib import sha256

from prloom.core import plan_file
from prloom.core.plan_file import PlanTodo
from prloom.model.decision import Decision
from prloom.storage import asides, paths
from prloom.storage.folder import Folder


class PlanFile:
    """`plan.md` of one plan. People edit it too, so a decision adds to what is there, and never takes away."""

    def __init__(self, local: Folder) -> None:
        self._local = local

    def read(self) -> str:
        """Return the text; empty where there is none."""
        content = self._local.read_bytes(paths.PLAN_TEXT)
        return "" if content is None else content.decode("utf-8", "replace")

    def changed_at(self) -> int | None:
        """Return when the file was last written (nanoseconds), to see at the cost of one look that it has not been."""
        found = self._local.stat(paths.PLAN_TEXT)
        return None if found is None else found.st_mtime_ns

    def apply(self, decision: Decision) -> None:
        """Write the plan that a hook returned and append the TODOs of a triage; what stands there is left alone."""
        if decision.plan is None and not decision.todos:
            return
        before = text = self.read()
        if decision.plan is not None and fingerprint(text) == decision.plan.base:
            text = decision.plan.text
        elif decision.plan is not None and text != decision.plan.text:
            # Somebody edited the plan between the decision and this write: theirs stays, the hook's is kept beside it.
            asides.copy(self._local, paths.PLAN_TEXT, "hook", [decision.plan.text.encode("utf-8", "replace")])
        new = [PlanTodo(todo.id, todo.title, todo.context, todo.event_ids) for todo in decision.todos]
        text = plan_file.append_todos(text, new) if new else text
        if text != before:
            self._local.replace(paths.PLAN_TEXT, text.encode("utf-8", "replace"))


def fingerprint(text: str) -> str:
    """Return what tells one text of a plan from another."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
