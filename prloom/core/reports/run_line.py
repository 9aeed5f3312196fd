"""Say what a run came to in one line of the log: of which plan, what it was for, how it ended, and what it took."""

from __future__ import annotations

from collections.abc import Iterator

from prloom.core.text import one_line
from prloom.model.run import RunRecord


def line(run: RunRecord) -> str:
    """Return the line; nothing in it can end it or begin another one."""
    return f"plan {one_line.of(run.plan)}: run {one_line.of(run.id)}: {'; '.join(_parts(run))}"


def _parts(run: RunRecord) -> Iterator[str]:
    yield f"{one_line.of(run.stage)} by {one_line.of(run.agent)}"
    if run.todo is not None:
        yield f"TODO {one_line.of(run.todo)}"
    ended = f"{run.status} after {run.seconds:.0f} s"
    if run.error is not None:
        ended += f" ({one_line.of(run.error)})"
    yield ended
    if run.usage is not None:
        yield f"{run.usage.input_tokens + run.usage.output_tokens} tokens"
    if run.cost_usd is not None:
        yield f"{run.cost_usd:.4f} USD"
