"""Do what a key asks for, by the functions that the commands use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import click

from prloom.cli import context, dispatcher_request
from prloom.cli.context import Options
from prloom.cli.output import approval_text, draft_text
from prloom.core.commands.requests import RequestVerb
from prloom.core.text.shown_text import clean
from prloom.engine.operator import (
    event_requests,
    own_changes,
    plan_texts,
    question_answer,
    run_stop,
    submission,
    todo_changes,
)
from prloom.engine.views import outbox, request_targets
from prloom.engine.views.request_targets import RequestTarget
from prloom.errors import PrloomError
from prloom.model.permission import Choice
from prloom.model.record import Json
from prloom.storage.paths import RepositoryPaths
from prloom.top.rows import Subject


class Approval(NamedTuple):
    """What an approval of a row covers: the texts to show, what was held by event, and the withheld actions."""

    text: str
    digests: Mapping[str, str]
    withheld: Sequence[str]


class ShownDrafts(NamedTuple):
    """The drafts of a row: their texts to show, and which version of each that is."""

    text: str
    versions: Mapping[str, str]


class Operator(NamedTuple):
    """The operator at a full screen, of one repository; `given` is what the command line said before `top`.

    Each method returns what was done, as a sentence, and raises PrloomError.
    """

    where: RepositoryPaths
    given: Options

    def approval(self, subject: Subject) -> Approval:
        """Return what an approval of a row would cover, with everything in it to read."""
        found = self._targets(subject)
        event_requests.check_approval(found)
        return Approval(
            "\n".join(click.unstyle(line) for line in approval_text.lines(self.where, found)),
            event_requests.digests(found),
            [target.action.id for target in found if target.action is not None],
        )

    def approve(self, shown: Approval) -> str:
        """Approve the held events for exactly the texts that were shown, and let the withheld actions go."""
        ids = [*shown.digests, *shown.withheld]
        return self._submit("approve", ids, "Approved", digests=shown.digests)

    def retry(self, subject: Subject) -> str:
        """Make the events or actions of a row due now, or a TODO open again."""
        if subject.todo is not None and subject.plan is not None and not subject.events:
            verb = "go" if subject.need is not None and subject.need.kind == "proposed" else "open"
            plan = plan_texts.find(self.where, subject.plan)
            return todo_changes.change(self.where, plan, verb, subject.todo)
        found = self._targets(subject)
        event_requests.check_retry(found)
        return self._submit("retry", [target.id for target in found], "Due now")

    def drop(self, subject: Subject, reason: str) -> str:
        """Drop the events of a row, or its drafts, for good."""
        if _is_draft(subject):
            return self._submit("draft_drop", subject.actions, "Dropped")
        found = self._targets(subject)
        event_requests.check_drop(found)
        return self._submit("drop", [target.id for target in found], "Dropped", reason=reason)

    def drafts(self, subject: Subject) -> ShownDrafts:
        """Return the drafts of a row, with everything in them to read."""
        ids = draft_ids(subject)
        found = [draft for draft in outbox.drafts(self.where).drafts if draft.id in ids]
        if not found:
            raise PrloomError(f"{', '.join(map(clean, ids))}: there is no such draft any more, or it cannot be read")
        text = "\n".join(click.unstyle(line) for line in draft_text.lines(found))
        return ShownDrafts(text, {draft.id: draft.version for draft in found})

    def send(self, shown: ShownDrafts) -> str:
        """Send drafts with exactly the texts that were shown."""
        ids = list(shown.versions)
        return self._submit("draft_send", ids, "To be posted by the next `prloom start`", digests=shown.versions)

    def pause(self, subject: Subject) -> str:
        """Pause the plan of a row."""
        return self._submit("pause", [_plan(subject)], "Paused")

    def resume(self, subject: Subject) -> str:
        """Resume the plan of a row, and lift its brakes; what it was blocked by must be gone from its worktree."""
        plan = _plan(subject)
        own_changes.refuse_where_still_there(self.where, context.config(self.given), plan)
        return self._submit("resume", [plan], "Resumed")

    def stop(self, subject: Subject) -> str:
        """End the run of a row, and pause its plan."""
        run = run_id(subject)
        url = context.config(self.given).exchange.url
        stopped = run_stop.stop(self.where, run, exchange_url=url or "", by="`prloom top`")
        if stopped.pause is None:
            return f"Run {clean(stopped.run)} has ended already."
        return f"Stopping {clean(stopped.run)}. {stopped.pause.message('Paused')}"

    def decide(self, subject: Subject, choice: Choice) -> str:
        """Allow or deny the call of a tool that waits, or leave a question without an answer."""
        answer = self._send({"request": request_id(subject), "choice": choice})
        done = "Allowed"
        if choice == "deny":
            done = "Denied"
        return f"{done}: {clean(str(answer['tool']))} in {clean(str(answer['plan']))}."

    def answer(self, subject: Subject, text: str) -> str:
        """Answer the question of an agent's run, or of a worker about a TODO."""
        if subject.request is None and subject.todo is not None and subject.plan is not None:
            question_answer.answer(self.where, subject.plan, subject.todo, text, datetime.now(UTC))
            return f"Answered, in {clean(subject.plan)}."
        answered = self._send({"request": request_id(subject), "choice": "allow", "text": text})
        return f"Answered, in {clean(str(answered['plan']))}."

    def _send(self, params: Json) -> Json:
        return dispatcher_request.answer(self.given, params)

    def _targets(self, subject: Subject) -> Sequence[RequestTarget]:
        return request_targets.named(self.where, target_ids(subject), plan=subject.plan)

    def _submit(self, verb: RequestVerb, ids: Sequence[str], done: str, **about: object) -> str:
        return submission.submit(self.where, verb, ids, **about).message(done)  # type: ignore[arg-type]


def shell() -> list[str]:
    """Return the command line of the operator's shell."""
    from prloom.engine.operator import session  # noqa: PLC0415 - only where a worktree is opened

    return session.shell(os.environ)


# ---- what the row that an action is about has to have


def run_id(subject: Subject) -> str:
    """Return the run of a row; raises PrloomError where no agent works."""
    if subject.run is None:
        raise PrloomError("no agent works here; choose a run under Working")
    return subject.run


def request_id(subject: Subject) -> str:
    """Return the call or question of a row; raises PrloomError where none waits."""
    if subject.request is None:
        raise PrloomError("no call of a tool and no question waits here; choose one under Needs you")
    return subject.request


def draft_ids(subject: Subject) -> Sequence[str]:
    """Return the drafts of replies of a row; raises PrloomError where it is about something else."""
    if not _is_draft(subject):
        raise PrloomError("this is not a draft of a reply; choose one under Needs you")
    return subject.actions


def target_ids(subject: Subject) -> Sequence[str]:
    """Return the events and actions of a row; raises PrloomError where it has none."""
    ids = [*subject.events, *subject.actions]
    if not ids:
        raise PrloomError("this is neither an event nor an action; choose one under Needs you or Waiting")
    return ids


def _is_draft(subject: Subject) -> bool:
    return subject.need is not None and subject.need.kind == "draft"


def _plan(subject: Subject) -> str:
    if subject.plan is None:
        raise PrloomError("this row does not belong to a plan; choose another row")
    return subject.plan
