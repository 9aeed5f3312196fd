"""Keep the questions of agents, with their answers, so that none is lost where the dispatcher ends in between."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from prloom.errors import StorageError
from prloom.model import record
from prloom.model.permission import PermissionAnswer
from prloom.model.record import Record
from prloom.model.work import Question
from prloom.storage.document import Document

log = logging.getLogger(__name__)

_QUESTIONS = "questions"

RunGoesOn = Callable[[str, str], bool]
"""Whether a run of a plan, which the two texts name, goes on."""


class RunQuestion(Record, frozen=True, kw_only=True):
    """A question of a run: the request that waits for its answer, and the answer with the event that it came in.

    `key` is what is the same whenever the run asks this, and `number` says how often it had asked before.
    """

    request: str
    plan: str
    run: str
    key: str
    number: int
    question: Question
    answer: PermissionAnswer | None = None
    event: str | None = None


class RunQuestions:
    """The questions of runs that go on, by their requests, with those that an earlier dispatcher has left.

    Each is given to a call of its run once: what the run asks after that is another question, also in the same words.
    """

    def __init__(self, kept: Document | None, goes_on: RunGoesOn) -> None:
        self._kept = kept
        self._goes_on = goes_on
        self._given: set[str] = set()
        self._questions = {each.request: each for each in _read(kept)}

    def give(self, given: RunQuestion) -> None:
        """Note a question for which a call waits from now on, or has got the answer."""
        self._questions = {each.request: each for each in self._questions.values() if self._is_needed(each)}
        self._questions[given.request] = given
        self._given.add(given.request)
        self._save()

    def over(self, request: str) -> None:
        """Note that no call waits any more; an answer is kept as long as the run, which may ask again for it."""
        found = self._questions.get(request)
        if found is not None and found.answer is None:
            del self._questions[request]
            self._save()

    def left(self, key: str) -> RunQuestion | None:
        """Return a question of this key that an earlier dispatcher has left, the oldest one."""
        left = [each for each in self._questions.values() if each.key == key and each.request not in self._given]
        return min(left, key=lambda each: each.number, default=None)

    def has(self, plan: str) -> bool:
        """Whether an event may answer a question of the plan."""
        return any(each.plan == plan for each in self._questions.values()) and any(self._of(plan))

    def open(self, plan: str) -> dict[str, Question]:
        """Return the questions of a plan that wait for an answer, by their requests."""
        return {each.request: each.question for each in self._of(plan) if each.answer is None}

    def answered_by(self, plan: str, event: str) -> str | None:
        """Return the request to which an event was taken for the answer."""
        return next((each.request for each in self._of(plan) if each.event == event), None)

    def answer(self, request: str, given: PermissionAnswer, event: str) -> None:
        """Keep an answer; raises StorageError, and then it is none yet."""
        found = self._questions[request]
        self._questions[request] = replace(found, answer=given, event=event)
        try:
            self._write()
        except StorageError:
            self._questions[request] = found
            raise

    def _of(self, plan: str) -> Iterator[RunQuestion]:
        return (each for each in tuple(self._questions.values()) if each.plan == plan and self._is_needed(each))

    def _is_needed(self, question: RunQuestion) -> bool:
        return self._goes_on(question.plan, question.run)

    def _save(self) -> None:
        try:
            self._write()
        except StorageError as error:
            log.warning("after a crash, agents' questions have to be answered again: %s", error)

    def _write(self) -> None:
        if self._kept is not None:
            self._kept.save({_QUESTIONS: [record.to_wire(each) for each in self._questions.values()]})


def _read(kept: Document | None) -> Iterator[RunQuestion]:
    if kept is None:
        return
    try:
        found = (kept.load().value or {}).get(_QUESTIONS) or ()
        yield from (record.from_wire(RunQuestion, each) for each in found)
    except (StorageError, msgspec.ValidationError, TypeError) as error:
        log.warning("the questions of an earlier dispatcher are not known: %s", error)
