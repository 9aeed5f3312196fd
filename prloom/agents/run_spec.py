"""Describe a run before it is started: its id, its limits, and what `invocation.json` says of it."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from prloom.agents.agent import RunValue
from prloom.agents.sandbox import Sandbox
from prloom.model.agent_names import Inherited


def new_id(now: datetime, stage: str) -> str:
    """Return an id for a run: ids sort by time, are unique, and are safe as a folder's name."""
    at = now.astimezone(UTC)
    word = "".join(letter for letter in stage if letter.isascii() and letter.isalnum())[:20] or "run"
    return f"{at:%Y%m%dT%H%M%S}{at.microsecond // 1000:03d}Z-{word}-{secrets.token_hex(4)}"


def started_at(run_id: str) -> datetime | None:
    """Return the time with which an id of a run begins; None for one that prloom did not make."""
    try:
        return datetime.strptime(run_id[: len("20261121T201532299Z")], "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)
    except ValueError:
        return None


class RunLimits(RunValue, frozen=True):
    """What a run may use: seconds in all, seconds without any output, bytes of stdout and of stderr that are kept.

    More stdout than that ends the run; more stderr is dropped. `grace_seconds` lie between asking to end and killing. A
    run that makes no progress `refused_seconds` after the model's server kept to a rate limit is ended as well.
    """

    wall_seconds: float = 1800.0
    silence_seconds: float = 600.0
    output_bytes: int = 64 << 20
    stderr_bytes: int = 1 << 20
    grace_seconds: float = 5.0
    refused_seconds: float = 120.0


class RunSpec(RunValue, frozen=True):
    """`invocation.json`: what a worker starts. The environment is its own; only the names are kept on disk.

    The worker makes the arguments again from `agent`, `program` (the command line that is configured for it) and the
    run's message, and its environment from its own one, with what has one of `names`. The other fields are for people:
    what the run is for, which plugin asked for it, when it was prepared, and on which machine. `call_seconds` is how
    long a call of prloom's tools may take; None for a run without them. `inherit` is what of the operator's own takes
    part, and `sandbox` what the run sees.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: tuple[str, ...]
    limits: RunLimits
    root: str = ""
    program: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    agent: str = ""
    stage: str = ""
    plan: str | None = None
    todo: str | None = None
    attempt: int | None = None
    plugin: str | None = None
    model: str | None = None
    started_at: datetime | None = None
    machine: str | None = None
    session: str | None = None
    call_seconds: float | None = None
    inherit: tuple[Inherited, ...] = ()
    sandbox: Sandbox | None = None
