"""Keep which agent programs cannot be used now; usage limits also over a restart, for the log of runs tells of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from prloom.agents import registry
from prloom.agents.agent import Agent, RunResult
from prloom.core.waits import agent_wait
from prloom.core.waits.agent_wait import AgentWait
from prloom.model.agent_names import AUTO, GIT
from prloom.model.run import UnusableAgent
from prloom.storage import run_log
from prloom.workspace import commits

REMEMBERED = timedelta(days=7)
"""How far back the log is read at first: the longest limits of the known programs are weekly."""


class AgentWaits:
    """Why agent programs are not run in one repository. A wait is a program's: all of its runs wait together."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._waits: dict[str, AgentWait] | None = None
        self._usable: set[str] = set()
        self._trials: set[str] = set()

    def of(self, program: str, now: datetime) -> AgentWait | None:
        """Return why a program is not run now, or None."""
        found = self._found(now).get(program)
        if found is None or not agent_wait.applies(found, (), now):
            return None
        return found

    def shown(self, program: str, result: RunResult, now: datetime) -> AgentWait | None:
        """Return why a program cannot be used, as the result of a run that was noted shows; or None."""
        if result.status in ("limited", "unusable"):
            return self._found(now).get(program)
        return None

    def begin(self, program: str, run_id: str, now: datetime) -> None:
        """Note that a run begins: where it tries whether the program can be used again, no other does meanwhile."""
        found = self._found(now).get(program)
        if found is not None and found.cause != "usage_limit":
            self._trials.add(run_id)
            self._found(now)[program] = replace(found, until=agent_wait.next_try(program, found.tries + 1, now))

    def note(self, agent: Agent, run_id: str, result: RunResult, now: datetime) -> None:
        """Note what a run shows of its program: after one that went well, what waits for the program need not wait."""
        waits, again = self._found(now), run_id in self._trials
        self._trials.discard(run_id)
        if result.status == "ok":
            self.found(agent.name)
        elif result.status == "limited":
            reason = agent_wait.reason_of(agent.name, result.error or "the usage limit is reached", run_id)
            waits[agent.name] = agent_wait.limited(agent.name, reason, result.retry_at, now)
        elif result.status == "unusable" and result.trouble == "auth":
            reason = f"{agent.name} is not signed in: {result.error} (run {run_id})"
            unusable = UnusableAgent(agent=agent.name, cause="sign_in", remedy=agent.sign_in)
            self._note(unusable, reason, now, again=again)
        elif result.status == "unusable":
            reason = f"{agent.name} does not start: {result.error} (run {run_id})"
            unusable = UnusableAgent(agent=agent.name, cause="start", remedy=_to_correct(agent.name))
            self._note(unusable, reason, now, again=again)

    def missing(self, program: str, reason: str, now: datetime) -> AgentWait:
        """Note that a program is not there, or none where `auto` looks; the reason says what to do."""
        unusable = UnusableAgent(agent=program, cause="start", remedy=_to_correct(program))
        return self._note(unusable, reason, now, again=True)

    def without_identity(self, reason: str, now: datetime) -> AgentWait:
        """Note that git does not know whose commits it makes; the reason says what to do."""
        unusable = UnusableAgent(agent=GIT, cause="identity", remedy=commits.TO_SET_IDENTITY)
        return self._note(unusable, reason, now, again=True)

    def found(self, program: str) -> None:
        """Note that something is there which was missing: what waits for it need not wait."""
        if self._waits is not None and self._waits.pop(program, None) is not None:
            self._usable.add(program)

    def take_usable(self) -> frozenset[str]:
        """Return the programs that can be used again since this was asked last."""
        usable = frozenset(self._usable)
        self._usable.clear()
        return usable

    def _note(self, unusable: UnusableAgent, reason: str, now: datetime, *, again: bool) -> AgentWait:
        """Note why a program cannot be used; the next wait is longer only where that was found `again`.

        Runs that began together all find it for the first time.
        """
        waits = self._found(now)
        tries, before = 1, waits.get(unusable.agent)
        if before is not None and before.cause == unusable.cause:
            tries = before.tries + again
        waits[unusable.agent] = agent_wait.until_it_works(unusable, reason, now, tries)
        return waits[unusable.agent]

    def _found(self, now: datetime) -> dict[str, AgentWait]:
        if self._waits is None:
            self._waits = agent_wait.of_latest(run_log.since(self._root, now - REMEMBERED))
        return self._waits


def _to_correct(program: str) -> str:
    """Return what a person does about a program that does not start."""
    if program == AUTO:
        return registry.TO_INSTALL_ONE
    return registry.to_correct(registry.get(program))
