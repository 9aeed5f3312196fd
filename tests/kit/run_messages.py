"""The message of an agent run, as the dispatcher publishes it."""

from __future__ import annotations

from msgspec.structs import replace

from prloom.agents.run_message import RunMessage
from prloom.agents.run_spec import RunLimits


def a_message(**values: object) -> RunMessage:
    """Return the message of a worker's run for the TODO `t-1` of the plan `work`."""
    usual = RunMessage(
        repository="https://example.com/ann/engine.git",
        plan="work",
        commit="c0ffee",
        stage="worker",
        agent="command",
        model=None,
        prompt="Do it.",
        limits=RunLimits(),
        rights="work",
        todo="t-1",
        session=None,
    )
    return replace(usual, **values)
