"""Say how a run began and ended, as the activity stream tells it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from prloom.model.activity import ActivityDraft
from prloom.model.run import RunUsage

EndStatus = Literal["succeeded", "failed", "interrupted", "timed_out"]

_TIMED_OUT: Final = frozenset({"timeout", "silence"})
_WORKER: Final = "worker"


class RunEnding(NamedTuple):
    """What a run came to: its status and trouble as agents report them, its final message or its error, its usage."""

    status: str
    trouble: str | None = None
    message: str = ""
    error: str | None = None
    usage: RunUsage | None = None
    cost_usd: float | None = None


def started(run_id: str, stage: str, agent: str, model: str | None, prompt: str) -> ActivityDraft:
    """Return the beginning of a run; the agents of all stages but that of the workers are specialized."""
    data = {
        "message": prompt,
        "agentName": agent,
        "model": model,
        "instanceId": run_id,
        "isSpecializedAgent": stage != _WORKER,
    }
    return ActivityDraft(type="AGENT_START", data=data)


def ended(run_id: str, agent: str, ending: RunEnding) -> ActivityDraft:
    """Return the end of a run."""
    status = _status(ending)
    data: dict[str, object] = {"status": status, "agentName": agent, "instanceId": run_id}
    if status == "interrupted":
        data["interrupted"] = True
    else:
        data["content"] = ending.message or ending.error or ending.trouble or ""
    data["usage"] = None
    if ending.usage is not None:
        used = ending.usage
        data["usage"] = {
            "inputTokens": used.input_tokens,
            "outputTokens": used.output_tokens,
            "cachedTokens": used.cached_tokens,
        }
    data["costUsd"] = ending.cost_usd
    return ActivityDraft(type="AGENT_END", data=data)


def _status(ending: RunEnding) -> EndStatus:
    if ending.trouble in _TIMED_OUT:
        return "timed_out"
    if ending.status == "ok":
        return "succeeded"
    if ending.status == "interrupted":
        return "interrupted"
    return "failed"
