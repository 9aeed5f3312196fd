"""Write what happens to a call into the activity of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prloom.engine.activity.activity_log import ActivityLog
from prloom.model.record import Json
from prloom.model.tool import ToolCall


@dataclass(frozen=True)
class RunActivity:
    """Implements `call_sequence.CallActivity` by the dispatcher's activity stream."""

    log: ActivityLog

    def record(self, type_: str, data: Mapping[str, Json], *, about: ToolCall, parent_id: str | None = None) -> str:
        """Write an event of the run that a call belongs to, and return its id."""
        return self.log.record(
            type_, data, plan_id=about.plan_id, run_id=about.run_id, stage=about.stage, parent_id=parent_id
        ).id

    def hide(self, what: str, secret: str) -> Callable[[], None]:
        """Take a secret out of all events until the function that is returned is called."""
        return self.log.hide(what, secret)
