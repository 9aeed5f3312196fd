"""Write what decisions say of a plan itself into `state.json`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from prloom.model.decision import Decision
from prloom.model.hook_points import AFTER_ACTIVATE
from prloom.model.plan import Plan
from prloom.model.state import DispatchState

Edit = Callable[[Callable[[Plan], Plan]], object]
"""Changes what `state.json` holds, if that is a change."""


class PlanState:
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
