"""Ask the running dispatcher to poll its sources now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from prloom.core.commands.requests import OperatorRequest
from prloom.engine.operator import control, submission
from prloom.engine.views import runtime_status
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

NO_DISPATCHER = "No dispatcher is running; to poll, run `prloom start`, or `prloom start --once` for one round."


def send(where: RepositoryPaths, named: Sequence[str]) -> str | None:
    """Ask the dispatcher to poll for these plans, or all; return what came of it, None where none runs."""
    local = SafeDir.open(where.root, *paths.LOCAL)
    if local is None:
        return None
    with local:
        if not runtime_status.dispatcher(local).running:
            return None
        now = datetime.now(UTC)
        control.append_request(local, OperatorRequest(control.request_id(now), "poll", tuple(named)), now)
        silence = submission.silence(local, now)
    if silence is not None:
        return f"Saved, to poll. It is not done yet: {silence}."
    return "Asked the running dispatcher to poll now."
