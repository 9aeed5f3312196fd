"""The words of workers that prloom posts are text: they call nobody, and load nothing from other hosts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from values import an_event

from prloom.core.work import brake_notices, work_failures, work_replies
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.model.action import Action
from prloom.model.event import Target
from prloom.model.work import TodoWork

HOSTILE = "Thanks &#64;eve ![x](https://evil.example/a.png)"
FORGE = Target("forge")


def done() -> Action:
    return work_replies.done(TodoWork(id="t-1", title="x", summary=HOSTILE), [an_event("e", reply_to=FORGE)])[0]


def asked_in_a_thread() -> Action:
    return work_replies.question(TodoWork(id="t-1", title="x"), HOSTILE, [an_event("e", reply_to=FORGE)], FORGE)[0]


def asked_on_the_plan() -> Action:
    return work_replies.question(TodoWork(id="t-1", title="x"), HOSTILE, [], FORGE)[0]


def stopped() -> Action:
    ctx = WorkContext("fast", WorkRules(), datetime(2026, 1, 1, tzinfo=UTC))
    parts = work_failures.parked(ctx, TodoWork(id="t-1", title="x"), HOSTILE)
    found = brake_notices.notice(parts, "fast", seq=1, target=FORGE)
    assert found is not None
    return found


@pytest.mark.parametrize("post", [done, asked_in_a_thread, asked_on_the_plan, stopped])
def test_a_workers_words_are_posted_without_their_effects(post: Callable[[], Action]) -> None:
    message = post().payload.message  # type: ignore[union-attr]

    assert "Thanks" in message
    assert "&#64;eve" not in message
    assert "@eve" not in message
    assert "![x](" not in message
