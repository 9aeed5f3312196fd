"""Count what one run used where the program's own count goes on over all runs of its session."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from prloom.agents import run_folder
from prloom.agents.agent import RunResult, TokenUsage
from prloom.agents.run_spec import RunSpec

_LOOKED_AT: Final = 200
"""Earlier runs of the plan that are looked at; those of one session are close together."""


def of_run(folder: Path, result: RunResult) -> RunResult:
    """Return the result with what the run itself used: without what earlier runs of the session have counted."""
    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    if spec is None or spec.session is None or result.usage is None:
        return result
    earlier = [usage for usage in _counted(folder, spec.session) if usage is not None]
    own = TokenUsage(
        input_tokens=max(0, result.usage.input_tokens - sum(each.input_tokens for each in earlier)),
        output_tokens=max(0, result.usage.output_tokens - sum(each.output_tokens for each in earlier)),
        cached_tokens=max(0, result.usage.cached_tokens - sum(each.cached_tokens for each in earlier)),
    )
    return msgspec.structs.replace(result, usage=own)


def _counted(folder: Path, session: str) -> list[TokenUsage | None]:
    try:
        names = sorted((each.name for each in folder.parent.iterdir() if each.name < folder.name), reverse=True)
    except OSError:
        return []
    results = (run_folder.read_result(folder.parent / name) for name in islice(names, _LOOKED_AT))
    return [result.usage for result in results if result is not None and result.session_id == session]
