"""Count what one run used where the program's own count may go on over all runs of its session."""

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


def of_run(folder: Path, result: RunResult, *, least: TokenUsage | None) -> RunResult:
    """Return the result with what the run itself used, which is the `least` or more (None: it counts the run alone).

    Which of the two a program counts may depend on its version. It has counted the whole session if that leaves for
    the run, without what earlier runs of the session have counted, the `least` or more.
    """
    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    if least is None or spec is None or spec.session is None or result.usage is None:
        return result
    earlier = _earlier(folder, spec.session)
    own = _without(result.usage, [each.usage for each in earlier if each.usage is not None])
    if any(part < known for part, known in zip(_parts(own), _parts(least), strict=True)):
        return result
    cost = result.cost_usd
    if cost is not None:
        cost = max(0.0, cost - sum(each.cost_usd or 0.0 for each in earlier))
    return msgspec.structs.replace(result, usage=own, cost_usd=cost)


def _without(total: TokenUsage, counted: list[TokenUsage]) -> TokenUsage:
    return TokenUsage(
        input_tokens=total.input_tokens - sum(each.input_tokens for each in counted),
        output_tokens=total.output_tokens - sum(each.output_tokens for each in counted),
        cached_tokens=total.cached_tokens - sum(each.cached_tokens for each in counted),
    )


def _parts(usage: TokenUsage) -> tuple[int, int, int]:
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens


def _earlier(folder: Path, session: str) -> list[RunResult]:
    try:
        names = sorted((each.name for each in folder.parent.iterdir() if each.name < folder.name), reverse=True)
    except OSError:
        return []
    results = (run_folder.read_result(folder.parent / name) for name in islice(names, _LOOKED_AT))
    return [result for result in results if result is not None and result.session_id == session]
