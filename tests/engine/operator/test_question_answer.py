from __future__ import annotations

import pytest
from stage import Stage, said

from prloom.core.commands import questions
from prloom.engine.bus.event_store import EventStore
from prloom.engine.operator import question_answer
from prloom.engine.views import snapshot
from prloom.errors import PrloomError
from prloom.model.event import Event
from prloom.model.record import Cursor
from prloom.model.state import OpenEvent
from prloom.model.work import Question, WorkStep
from prloom.storage.safe_dir import SafeDir


async def test_an_answer_is_given_where_the_question_was_asked(stage: Stage):
    stage.adopt()
    await stage.take_in(said("c1"))
    with pytest.raises(PrloomError, match="no question about TODO t-1 of plan pr-7 waits for an answer"):
        question_answer.answer(stage.paths, "pr-7", "t-1", "Redis", stage.clock())

    for question in (
        Question(text="Redis or memory?", after=stage_end(stage), threads=("t-9",)),
        Question(text="Redis or memory?", after=stage_end(stage), targets=("forge",)),
    ):
        commit(stage, WorkStep(todo_id="t-1", verdict="parked", box="blocked", question=question))
        made = question_answer.answer(stage.paths, "pr-7", "t-1", "Redis", stage.clock())
        await stage.tick()
        assert made.body == "Redis"
        assert made.author is not None
        assert made.author.trust == "operator"
        assert answers(question, made)


def stage_end(stage: Stage) -> Cursor:
    bus = snapshot.open_bus(stage.paths, "pr-7")
    assert bus is not None
    with bus:
        return snapshot.current_state(bus).cursor


def commit(stage: Stage, step: WorkStep) -> None:
    with SafeDir.make(stage.local() / "bus") as bus:
        store = EventStore.open(bus, stage.clock)
        store.commit("work", "prloom", work=step)
        store.save()


def answers(question: Question, event: Event) -> bool:
    opened = OpenEvent(
        id=event.id, state="pending", position=(question.after[0], question.after[1] + 1), type=event.type,
        source=event.source, digest="", since=None,
    )  # fmt: skip
    return questions.find({"t-1": question}, opened, event) is not None
