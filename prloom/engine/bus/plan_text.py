"""The plan's text, `plan.md`: read by hooks and agents, and brought up to the decision log."""

from __future__ import annotations

import stat
from hashlib import sha256

from prloom.core import plan_file
from prloom.core.plan_file import PlanTodo
from prloom.model.decision import Decision, PlanText
from prloom.storage import file_stamp, paths, quarantine
from prloom.storage.file_stamp import FileStamp
from prloom.storage.safe_dir import FILE_MODE, SafeDir

_EXACTLY = "surrogateescape"  # bytes that are no UTF-8 stay what they are where only a TODO is added


class PlanFile:
    """`plan.md` of one plan. People edit it too, so a decision adds to what is there, and never takes away."""

    def __init__(self, local: SafeDir) -> None:
        self._local = local

    def read(self) -> str:
        """Return the text; empty where there is none."""
        content = self._local.read_bytes(paths.PLAN_TEXT)
        if content is None:
            return ""
        return content.decode("utf-8", "replace")

    def stamp(self) -> FileStamp | None:
        """Return the stamp of the file, by which a change is noticed without reading it; None where there is none."""
        found = self._local.stat(paths.PLAN_TEXT)
        if found is None:
            return None
        return file_stamp.of(found)

    def apply(self, decision: Decision) -> None:
        """Write the plan that a hook returned and append the TODOs of a triage; what stands there is left alone."""
        if decision.plan is None and not decision.todos:
            return
        content = self._local.read_bytes(paths.PLAN_TEXT) or b""
        if decision.plan:
            text = self._rewritten(content, decision.plan)
        else:
            text = content.decode("utf-8", _EXACTLY)
        new = [PlanTodo(todo.id, todo.title, todo.context, todo.event_ids) for todo in decision.todos]
        if new:
            text = plan_file.append_todos(text, new)
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
        if fingerprint(text) == plan.base:
            return plan.text.encode("utf-8", "replace").decode("utf-8")
        if text != plan.text:
            quarantine.copy(self._local, paths.PLAN_TEXT, "hook", [plan.text.encode("utf-8", "replace")])
        return content.decode("utf-8", _EXACTLY)


def fingerprint(text: str) -> str:
    """Return what tells one text of a plan from another."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
