"""What an agent's run was for, and what it came to: a line of `prloom runs`, and of the log of runs."""

from __future__ import annotations

from typing import Literal

from prloom.model.kinds import RunOutcome
from prloom.model.record import Record, Timestamp

INVOCATION = "invocation.json"
"""The file, in the folder of a run, that says what the run is for and how it is started."""
LOCK = "running.lock"
"""The file there whose lock the run's supervisor has as long as the run goes on."""

UnusableCause = Literal["usage_limit", "sign_in", "start", "identity"]
"""Its allowance is used up, it is not signed in, it does not start, or git does not know whose commits it makes."""


class UnusableAgent(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A program that cannot be used now, and why; `remedy` says what a person does about it, if anything.

    `agent` is an agent program, `auto` where the machine has none, or `git`.
    """

    agent: str
    cause: UnusableCause
    remedy: str = ""


RunState = Literal["queued", "running", RunOutcome]
"""What has become of a run: no worker has begun it yet, it goes on, or what it came to."""


class RunUsage(Record, frozen=True, kw_only=True):
    """Tokens as the agent program counted them; `input_tokens` holds those that came from a cache."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


class RunRecord(Record, frozen=True, kw_only=True):
    """One run. `plugin` is the one that asked for it, if one did.

    `retry_at` is when the usage limit that a `limited` run has met is reset, where the program says so. `usage` and
    `cost_usd` are None where the program did not measure them. `refused` says that no machine did the run.
    """

    id: str
    plan: str
    stage: str
    todo: str | None = None
    agent: str
    model: str | None = None
    status: RunState
    attempt: int | None = None
    started_at: Timestamp
    ended_at: Timestamp | None = None
    seconds: float
    usage: RunUsage | None = None
    cost_usd: float | None = None
    error: str | None = None
    machine: str | None = None
    plugin: str | None = None
    retry_at: Timestamp | None = None
    refused: bool = False
