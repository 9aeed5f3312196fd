"""Commit the result of an agent's run: its answer, its failure, or the wait for its program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prloom.agents.agent import ErrorKind, RunResult
from prloom.backoff import Backoff
from prloom.core.answers import json_answer, triage_answer
from prloom.core.answers.triage_answer import TriageAnswer
from prloom.core.delivery import quoting
from prloom.core.events import hook_results, triage
from prloom.core.waits import agent_wait
from prloom.core.waits.agent_wait import AgentWait
from prloom.engine.bus.event_store import EventStore
from prloom.model.decision import Change
from prloom.model.event import Event, Target
from prloom.model.kinds import TRIAGE
from prloom.model.record import Json
from prloom.model.state import OpenEvent

_SILENT: tuple[ErrorKind, ...] = ("empty", "no_result")
"""What a program came to that ended well and said nothing; it may have written its answer into the file."""

_BY_TEXT: tuple[ErrorKind, ...] = ("turns", "timeout", "silence", "output", "empty", "no_result", "error", "lost")
"""What a text may bring about (an agent may remove its run's folder, or kill its worker).

The other kinds certainly have nothing to do with the text.
"""


Batch = tuple[Event, ...]


@dataclass(frozen=True)
class TriageRun:
    """Commits the results of one run of an agent, which the log names as `by`.

    `target` is where answers go that belong to no thread. Without `rebases`, the operator does not want any.
    """

    store: EventStore
    policy: Backoff
    target: Target
    id: str
    by: str
    rebases: bool = True

    def fail(self, batch: Batch, reason: str) -> None:
        """Commit the failure of a run that never began: no text is at fault, so the batch stays together."""
        now, policy = self.store.clock(), self.policy
        changes = [
            triage.run_failed(event, reason, now=now, policy=policy, alone=False) for event in self._pending(batch)
        ]
        self._commit(changes)

    def wait_for(self, batch: Batch, wait: AgentWait) -> None:
        """Commit the wait of events for an agent program that is not run now."""
        now, policy = self.store.clock(), self.policy
        waits = [agent_wait.wait_for(event, wait, now=now, policy=policy) for event in self._pending(batch)]
        self._commit(waits)

    def settle(self, result: RunResult, answer_file: str | None, wait: AgentWait | None) -> None:
        """Commit what the run came to for the events that are still in it.

        `wait` is why its program is not run now, which the run may have shown.
        """
        found = None
        if answer_file:
            found = json_answer.find(answer_file, triage_answer.KEY)
        if result.status == "ok" or (result.trouble in _SILENT and found is not None):
            if found is None:
                found = json_answer.find(result.message, triage_answer.KEY)
            self._settle_answer(result, found)
            return
        live = [event for event in self.store.state.open.values() if event.run == self.id]
        now, policy = self.store.clock(), self.policy
        reason = f"{self.by}: {result.error or result.trouble or 'the run failed'} (run {self.id})"
        if result.status == "interrupted":
            changes = [Change(event_id=e.id, verdict="cut_short", state="pending", reason=reason) for e in live]
        elif wait is not None:
            changes = [agent_wait.wait_for(event, wait, now=now, policy=policy) for event in live]
        else:
            # One of the texts may be what the run failed on: it must not go on spoiling the runs of the others.
            alone = len(live) > 1 and result.trouble in _BY_TEXT
            changes = [triage.run_failed(event, reason, now=now, policy=policy, alone=alone) for event in live]
        self._commit(changes, note=_usage(result))

    def _settle_answer(self, result: RunResult, found: Json) -> None:
        opened = self.store.state.open
        texts = {event.id: self.store.texts.get(event) for event in opened.values() if event.run == self.id}
        batch = tuple(text for text in texts.values() if text is not None)
        settled = triage.settle(
            self._allowed(triage_answer.read(found, tuple(event.id for event in batch))),
            batch,
            opened,
            now=self.store.clock(),
            policy=self.policy,
            plan_target=self.target,
            rebase_open=self.store.state.rebase_todo is not None,
        )
        changed = tuple(hook_results.park_unreadable(event_id) for event_id, text in texts.items() if text is None)
        self.store.commit(
            TRIAGE,
            self.by,
            changes=(*settled.changes, *changed),
            actions=quoting.in_replies(settled.actions, batch),
            todos=settled.todos,
            rebase_requested=settled.rebase_requested or None,
            run=self.id,
            note=_usage(result),
        )

    def _allowed(self, given: TriageAnswer) -> TriageAnswer:
        """Return the answer, without the request of a rebase where the operator does not want any."""
        if self.rebases:
            return given
        return replace(given, rebase_requested=False)

    def _pending(self, batch: Batch) -> list[OpenEvent]:
        opened = [self.store.state.open.get(event.id) for event in batch]
        return [event for event in opened if event is not None and event.state == "pending"]

    def _commit(self, changes: Sequence[Change], note: str | None = None) -> None:
        self.store.commit(TRIAGE, self.by, changes=tuple(changes), run=self.id, note=note)


def _usage(result: RunResult) -> str | None:
    """Return what the run used, as far as it was measured."""
    used = []
    if result.usage is not None:
        used.append(f"{result.usage.input_tokens + result.usage.output_tokens} tokens")
    if result.cost_usd is not None:
        used.append(f"{result.cost_usd:.4f} USD")
    return ", ".join(used) or None
