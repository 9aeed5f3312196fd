"""Who is told what about a TODO, and where: that it is done, or what its worker asks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from values import an_event

from prloom.core.delivery import outbox, reply_limit
from prloom.core.work import work_replies
from prloom.model.action import Action, Comment
from prloom.model.event import Author, Event, Target
from prloom.model.work import TodoWork

WORK = TodoWork(id="t-1", title="x", round=2, attempt=3, commit="0123456789abcdef", summary="Look, @ann and @eve.")
SILENT = an_event("e2", reply_to=None)
OF_ANN, OF_NOBODY = an_event("e1", type="pr_review_comment"), an_event("e3", author=None)
PLAN = Target("github", {"pr": 7})


def posted(kind: str, message: str, event: Event | None = None, target: Target = PLAN) -> Action:
    cause, answered = "t-1", None
    if event is not None:
        cause, answered = f"t-1/{event.id}", event.id
        target = Target("github", {"comment": event.id})
    ident = outbox.action_id(f"{cause}/{kind}/2/3", "prloom/work", 0)
    if kind == "done":
        ident = outbox.action_id(f"{answered}/done", "prloom/work", 0)
    return Action(id=ident, target=target, payload=Comment(message), related_event_id=answered)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (WORK, "Done in 0123456789ab."),
        (replace(WORK, rebase=True), "Done."),
        (replace(WORK, commit=None), "There was nothing to do."),
    ],
)
def test_each_author_who_can_be_answered_is_told_in_the_own_thread_and_nobody_else_is_called(
    work: TodoWork, said: str
) -> None:
    assert work_replies.done(work, [OF_ANN, SILENT, OF_NOBODY]) == (
        posted("done", f"{said}\n\nLook, @ann and @\u200beve.", OF_ANN),
        posted("done", f"{said}\n\nLook, @\u200bann and @\u200beve.", OF_NOBODY),
    )


def test_who_requested_it_gets_one_reply_to_which_all_that_is_done_is_added() -> None:
    of_triage = outbox.action_id("e1", "triage", 2)
    (first,) = work_replies.done(WORK, [OF_ANN], {outbox.action_id("e2", "triage", 0)})

    for issued, expected in (({of_triage}, of_triage), ({first.id}, first.id), ({of_triage, first.id}, of_triage)):
        (later,) = work_replies.done(WORK, [OF_ANN], issued)
        assert isinstance(later.payload, Comment)
        assert (later.payload.appends_to, later.id in {first.id, of_triage}) == (expected, False)
        assert reply_limit.thread(later) is None


def test_a_question_is_asked_in_the_threads_of_the_todo_or_else_once_on_the_plan() -> None:
    about = f"About the TODO `{WORK.title}`: "
    here = "Tabs?\n\nA comment here answers this question."
    assert work_replies.question(WORK, "Tabs?", [OF_ANN, SILENT], PLAN) == (posted("question", here, OF_ANN),)
    assert work_replies.question(WORK, "Tabs?", [SILENT], PLAN) == (posted("question", about + here),)
    how = "Tabs?\n\nAnswer with an item of your own in this file: `- [ ] `…"
    local = Target("local")
    assert work_replies.question(WORK, "Tabs?", [], local) == (posted("question", about + how, target=local),)


def test_in_a_flat_conversation_a_reply_quotes_what_it_answers() -> None:
    asked = an_event("e4", body="\n> Why?\n\nBecause. Closes @eve <b>\nMore.", author=Author("ann"))
    (reply,) = work_replies.done(replace(WORK, summary="It is fast."), [asked])

    assert isinstance(reply.payload, Comment)
    assert reply.payload.message == (
        "> **ann**: Because. Closes @\u200beve &lt;b>\n\nDone in 0123456789ab.\n\nIt is fast."
    )


def test_a_check_that_was_fixed_is_named() -> None:
    failed = an_event("e5", type="check_failed", context={"check": "tests"}, author=None)
    (reply,) = work_replies.done(replace(WORK, summary=None), [failed])

    assert reply.payload == Comment("Fixed the check `tests` in 0123456789ab.")
