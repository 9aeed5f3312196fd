"""Read what a run was for and what it came to from its folder, and write it into the log of runs."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from prloom.agents import run_folder, run_spec, run_status
from prloom.agents.agent import RunResult
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.agents.run_status import RunFinished, RunInProgress, RunInterrupted, RunStatus
from prloom.core.answers import json_answer, review_answer, worker_answer
from prloom.core.answers.json_answer import InvalidAnswer
from prloom.core.text import bounds
from prloom.errors import PrloomError
from prloom.model.record import JsonValue, Timestamp
from prloom.model.run import RunRecord, RunState, RunUsage
from prloom.storage import run_log

log = logging.getLogger(__name__)

_ANSWERS: Mapping[str, tuple[str, Callable[[JsonValue], object]]] = {
    "worker": (worker_answer.KEY, worker_answer.read),
    "commitreview": (review_answer.KEY, review_answer.read),
}
"""How the answer of a stage is found and read, by the stage as the ids of runs have it."""
_ID = re.compile(r"\d{8}T\d{9}Z-([A-Za-z0-9]+)-[0-9a-f]{8}")


def is_run_id(text: str) -> bool:
    """Whether a text has the form of a run's id."""
    return _ID.fullmatch(text) is not None


def build(folder: Path, plan_id: str, now: datetime) -> RunRecord:
    """Return the record of the run of a folder, as far as the folder tells; a running one is counted until `now`."""
    return _record(folder, plan_id, run_folder.read_result(folder), now)


def is_over(folder: Path) -> bool:
    """Whether the run of a folder has ended; one that waits for a worker, or goes on elsewhere, has not."""
    return _state(folder, run_status.inspect(folder), run_folder.read_result(folder)) not in {"queued", "running"}


def is_queued(folder: Path) -> bool:
    """Whether the run of a folder waits for a worker."""
    return _state(folder, run_status.inspect(folder), run_folder.read_result(folder)) == "queued"


def save(
    root: Path, folder: Path, plan_id: str, result: RunResult, now: datetime, *, machine: str | None = None
) -> None:
    """Append the record of a run that has ended to the log; a disk that cannot be written is warned of.

    `machine` is the other machine that has done it, if one has.
    """
    try:
        made = _record(folder, plan_id, result, now)
        if machine is not None:
            made = replace(made, machine=machine)
        run_log.append(root, made, now)
    except (PrloomError, OSError) as error:  # the run itself counts all the same
        log.warning("run %s has ended, but it cannot be added to the log of runs: %s", folder.name, error)


def _record(folder: Path, plan_id: str, result: RunResult | None, now: datetime) -> RunRecord:
    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    spec = spec or RunSpec(argv=(), cwd="", environment=(), limits=RunLimits())
    status = run_status.inspect(folder)
    begun = Timestamp.of(run_spec.started_at(folder.name) or now)
    ended = now
    ended_at = None
    if isinstance(status, RunFinished):
        ended = max(status.exit.ended_at, begun)
    state = _state(folder, status, result)
    if state not in {"queued", "running"}:
        ended_at = Timestamp.of(ended)
    return RunRecord(
        id=folder.name,
        plan=spec.plan or plan_id,
        stage=spec.stage or stage(folder.name),
        todo=spec.todo,
        agent=spec.agent,
        model=(result.model if result else None) or spec.model,
        status=state,
        attempt=spec.attempt,
        started_at=begun,
        ended_at=ended_at,
        seconds=round((ended - begun) / timedelta(seconds=1), 3),
        usage=_usage(result),
        cost_usd=result.cost_usd if result else None,
        error=_error(result),
        machine=_machine_elsewhere(folder) or spec.machine,
        plugin=spec.plugin,
        retry_at=_retry_at(result),
        refused=result is not None and result.trouble == "refused" and _machine_elsewhere(folder) is None,
    )


def _machine_elsewhere(folder: Path) -> str | None:
    """Return the other machine that has started the agent of the run, if one has; the latest of several."""
    name = run_folder.read(folder, run_folder.ELSEWHERE)
    if name is None:
        return None
    return name.decode("utf-8", "replace")


def _retry_at(result: RunResult | None) -> Timestamp | None:
    if result is None or result.retry_at is None:
        return None
    return Timestamp.of(result.retry_at)


def _usage(result: RunResult | None) -> RunUsage | None:
    if result is None or result.usage is None:
        return None
    used = result.usage
    return RunUsage(input_tokens=used.input_tokens, output_tokens=used.output_tokens, cached_tokens=used.cached_tokens)


def _error(result: RunResult | None) -> str | None:
    error = None
    if result is not None:
        error = result.error or result.trouble
    if error is None:
        return None
    return bounds.cut(error)


def _state(folder: Path, status: RunStatus, result: RunResult | None) -> RunState:
    if isinstance(status, RunInProgress):
        return "running"
    if result is not None and result.status == "failed" and _has_answered(folder, result):
        return "ok"  # as the work on the TODO judges it
    if result is not None:
        return result.status
    if not isinstance(status, RunInterrupted) or run_status.was_begun(folder):
        return "interrupted"
    if _machine_elsewhere(folder) is not None:
        return "running"
    return "queued"


def _has_answered(folder: Path, result: RunResult) -> bool:
    """Whether a worker or a reviewer has given an answer that can be used, whatever its program's exit code was."""
    found = _ANSWERS.get(stage(folder.name))
    if found is None:
        return False
    key, read = found
    values = (json_answer.find(text, key) for text in (run_folder.read_answer(folder), result.message) if text)
    return any(value is not None and not isinstance(read(value), InvalidAnswer) for value in values)


def stage(run_id: str) -> str:
    """Return the stage of a run, as far as its id tells: without signs, and at most twenty letters of it."""
    found = _ID.fullmatch(run_id)
    if found:
        return found[1]
    return ""


def prefix(moment: datetime) -> str:
    """Return the text with which the ids of the runs of this time begin: later ids sort behind it."""
    at = moment.astimezone(UTC)
    return f"{at:%Y%m%dT%H%M%S}{at.microsecond // 1000:03d}Z"
