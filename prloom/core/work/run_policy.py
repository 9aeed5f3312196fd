"""Decide whether a worker machine does the run that a message asks for: never more than its own operator allows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from prloom.core.text.naming import commit_id, printable

_RUN = re.compile("[A-Za-z0-9_-]{1,100}")
_WORD = re.compile(r"[^\W_][\w.:/@+\[\]-]{0,199}", re.ASCII)
_PORT = re.compile(r":[0-9]*$")
_SHORTEST_WAIT = timedelta(seconds=1)
_LONGEST_WAIT = timedelta(minutes=5)
_LEFT_TO_OTHERS = timedelta(days=1)
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:]+):(?P<path>(?!//).+)")


@dataclass(frozen=True)
class RequestedLimits:
    """What a run may use at most: seconds in all, seconds without output, and bytes of output and of standard error."""

    wall_seconds: float
    silence_seconds: float
    output_bytes: int
    stderr_bytes: int


@dataclass(frozen=True)
class RequestedRun:
    """What a message asks of a machine; all of it is external data."""

    run: str
    repository: str
    commit: str | None
    stage: str
    agent: str
    model: str | None
    rights: Literal["read", "work"]
    limits: RequestedLimits


@dataclass(frozen=True)
class MachinePolicy:
    """What a machine does: for which repository, which stages and agents, within which limits, and whether TODOs."""

    repository: str
    stages: tuple[str, ...]
    agents: tuple[str, ...]
    works: bool
    limits: RequestedLimits


@dataclass(frozen=True)
class RunRefused:
    """The machine does not do the run; the reason is one line. `elsewhere`: another machine may."""

    reason: str
    elsewhere: bool = False


def wait_for_another(age: timedelta) -> timedelta | None:
    """Return how long a run that a machine refuses waits until a machine looks at it again, by the run's age.

    Another machine may be busy, so no try is spent; but the wait is short beside what the run has waited already. None
    after a day: then each refusal is a try that has failed.
    """
    if age >= _LEFT_TO_OTHERS:
        return None
    return min(max(age / 10, _SHORTEST_WAIT), _LONGEST_WAIT)


def judge(asked: RequestedRun, policy: MachinePolicy) -> RequestedLimits | RunRefused:
    """Return the limits within which the machine does a run, or why it does not.

    Limits that are higher than the machine's own become the machine's own.
    """
    reason = _malformed(asked)
    if reason is not None:
        return RunRefused(reason)
    reason = _of_others(asked, policy) or _beyond(asked, policy)
    if reason is not None:
        return RunRefused(reason, elsewhere=True)
    own, wanted = policy.limits, asked.limits
    return replace(
        wanted,
        wall_seconds=min(wanted.wall_seconds, own.wall_seconds),
        silence_seconds=min(wanted.silence_seconds, own.silence_seconds),
        output_bytes=min(wanted.output_bytes, own.output_bytes),
        stderr_bytes=min(wanted.stderr_bytes, own.stderr_bytes),
    )


def same_repository(one: str, other: str) -> bool:
    """Whether two addresses name one repository, whatever the way to it and the user's name are."""
    return _location(one) == _location(other)


def without_credentials(address: str) -> str:
    """Return an address without the user's name, password or token in it; that of a path or of SSH stays as it is."""
    return re.sub("(https?://)[^/]*@", r"\1", address, flags=re.IGNORECASE)


def shown_repository(address: str) -> str:
    """Return an address as a message shows it: without credentials, of a limited length, printable."""
    return printable(re.sub("://[^/]*@", "://", address), 200)


def may_be_run_id(text: str) -> bool:
    """Whether a text from outside may be the id of a run: it is safe in the name of a ref or of a folder."""
    return _RUN.fullmatch(text) is not None


def _malformed(asked: RequestedRun) -> str | None:
    limits = asked.limits
    numbers = (limits.wall_seconds, limits.silence_seconds, limits.output_bytes, limits.stderr_bytes)
    if not may_be_run_id(asked.run):
        return f"{printable(asked.run, 100)} is not the id of a run"
    if commit_id(asked.commit) is None:
        return f"run {asked.run} names no commit"
    if asked.model is not None and not _WORD.fullmatch(asked.model):
        return f"{printable(asked.model, 100)} is not the name of a model"
    if not all(number > 0 for number in numbers):  # nor is what is no number at all
        return f"run {asked.run} has limits that are not above 0"
    return None


def _of_others(asked: RequestedRun, policy: MachinePolicy) -> str | None:
    if not same_repository(asked.repository, policy.repository):
        return (
            f"it is for {shown_repository(asked.repository)}, and this machine works for "
            f"{shown_repository(policy.repository)}; use a database for each repository"
        )
    return None


def _beyond(asked: RequestedRun, policy: MachinePolicy) -> str | None:
    if asked.stage not in policy.stages:
        return f"this machine does not do runs of the stage {printable(asked.stage, 100)}"
    if asked.agent not in policy.agents:
        return f"this machine does not run the agent {printable(asked.agent, 100)}, but only {', '.join(policy.agents)}"
    if asked.rights == "work" and not policy.works:
        return 'this machine does not change files: its prloom.toml has [work] mode = "off"'
    return None


def _location(address: str) -> tuple[str, str]:
    """Return the host and the path that an address of git's names: see "Git URLs" in git-fetch(1)."""
    scp = _SCP.fullmatch(address)
    if "://" in address:
        rest = address.partition("://")[2]
        authority, _, path = rest.partition("/")
        host = _PORT.sub("", authority.rpartition("@")[2]).lower()
    elif scp is not None:
        host, path = scp["host"].lower(), scp["path"]
    else:
        host, path = "", address
    return host, path.strip("/").removesuffix(".git").rstrip("/")
