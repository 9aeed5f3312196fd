"""The plan's status in `state.json`, brought up to the decision log."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from prloom.model.decision import Decision
from prloom.model.plan import Plan

Edit = Callable[[Callable[[Plan], Plan]], object]
"""Changes what `state.json` holds, if that is a change."""


class PlanState:
    """Writes what decisions say of the plan itself; what else stands in `state.json` is left alone."""

    def __init__(self, edit: Edit) -> None:
        self._edit = edit

    def apply(self, decision: Decision) -> None:
        """Note that the pull request was closed, merged or reopened."""
        status = decision.plan_status
        if status is not None:
            self._edit(lambda plan: replace(plan, status=status))
