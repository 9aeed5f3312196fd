"""Agent runs that a function of the test plays in this process, with the streams of a real agent program.

Everything else is the real pool: choosing the agent, its limits, the run's folder, what its output means, the log of
runs. Time is the test's own, and no process is started.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from prloom.agents import registry, run_folder, run_status, runner
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_message import RunReply
from prloom.agents.run_spec import RunSpec
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.runs.run_end import RunEnd
from prloom.model.kinds import CHECK

MODEL = "claude-played-1"


@dataclass(frozen=True)
class Played:
    """What a run printed, its exit code, and how long it took."""

    output: str
    code: int = 0
    seconds: float = 60.0


Player = Callable[[RunSpec, str, Path], Played]
"""Plays a run: from its invocation, its prompt and its folder."""


class PlayedRuns:
    """Does runs that are over as soon as they are begun; the operator's checks are real programs."""

    def __init__(self, player: Player, clock: Callable[[], datetime], environ: Mapping[str, str]) -> None:
        self._player = player
        self._clock = clock
        self._environ = environ

    async def start(self) -> None:
        """Return: there is nothing that could be missing."""

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
        assert spec is not None
        if spec.agent == CHECK:
            played = _checked(spec, {name: self._environ.get(name, "") for name in spec.environment})
        else:
            played = self._player(spec, (folder / run_folder.PROMPT).read_text(), folder)
        run_folder.write_new(folder, run_folder.OUTPUT, played.output.encode())
        run_folder.write_new(folder, run_folder.STDERR, b"")
        began = self._clock()
        ended = ProcessExit(
            code=played.code,
            ended_by="exit",
            started_at=began,
            ended_at=began + timedelta(seconds=played.seconds),
            duration_ms=round(played.seconds * 1000),
        )
        run_folder.write_new(folder, run_folder.EXIT, run_folder.encode(ended))
        result = runner.conclude(folder, registry.runnable(spec.agent), run_status.inspect(folder))
        return RunEnd(RunReply(result))

    async def cancel(self, run: str, reason: str) -> bool:
        return False

    async def close(self) -> None:
        pass


def played_pool(
    player: Player, clock: Callable[[], datetime], *, environ: Mapping[str, str], **given: Any
) -> AgentPool:
    """Return a pool of agents whose runs a function plays."""
    pool = AgentPool(environ=environ, **given)
    pool.runs = PlayedRuns(player, clock, environ)
    return pool


def _checked(spec: RunSpec, env: Mapping[str, str]) -> Played:
    ended = subprocess.run(spec.argv, cwd=spec.cwd, env=env, capture_output=True, text=True, check=False)
    return Played(ended.stdout, ended.returncode, 1.0)


# ---- the stream of the agent program


def answered(message: str, *, session: str, tokens: tuple[int, int] | None, cost: float) -> Played:
    """Return a run that went well; `tokens` are those that went in and out, None where nothing was measured."""
    usage = {} if tokens is None else {MODEL: {"inputTokens": tokens[0], "outputTokens": tokens[1]}}
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "stop_reason": "end_turn",
        "num_turns": 1,
        "result": message,
        "session_id": session,
        "total_cost_usd": cost,
        "modelUsage": usage,
    }
    return _stream(session, [_spoken(message), result])


def limited(resets_at: datetime, *, session: str) -> Played:
    """Return a run that met the end of its allowance, which is there again at a time."""
    info = {"status": "rejected", "resetsAt": int(resets_at.timestamp())}
    return _stream(
        session, [{"type": "rate_limit_event", "rate_limit_info": info}, _failed(session, "usage limit", 429)], code=1
    )


def failed(*, session: str, status: int = 529) -> Played:
    """Return a run that the model's server broke off."""
    return _stream(session, [_failed(session, "overloaded", status)], code=1)


def _failed(session: str, error: str, status: int) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "api_error_status": status,
        "result": error,
        "session_id": session,
        "total_cost_usd": 0,
        "modelUsage": {},
    }


def _spoken(message: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": MODEL, "content": [{"type": "text", "text": message}]}}


def _stream(session: str, events: Sequence[Mapping[str, Any]], code: int = 0) -> Played:
    init = {"type": "system", "subtype": "init", "session_id": session, "model": MODEL}
    return Played("".join(f"{json.dumps(event)}\n" for event in (init, *events)), code)
