from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from prloom.api.context import HookContext
from prloom.api.triage import TriageContext
from prloom.core.delivery.outbox import PLAN_TARGET
from prloom.errors import ExtensionError
from prloom.model.action import Action, AddLabels, Comment, Merge, Review
from prloom.model.decision import Deferral
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall, Limits, Mark, Outcome, Writes

if TYPE_CHECKING:
    from tests.api.conftest import FakeServices

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeEvent = Callable[..., Event]
MakeCall = Callable[..., HookCall]
Open = Callable[..., TriageContext]


@pytest.fixture
def opened(a_call: MakeCall, an_event: MakeEvent, services: FakeServices) -> Open:
    """Open a triage context on events (one by default)."""

    def triage(*events: Event, **values: object) -> TriageContext:
        return TriageContext("memory", a_call(*(events or (an_event(),)), **values), services)

    return triage


@pytest.fixture
def ctx(opened: Open) -> TriageContext:
    return opened()


def mistake(call: Callable[[], object]) -> str:
    with pytest.raises(ExtensionError) as caught:
        call()
    return str(caught.value)


# ---- what a hook sees


def test_a_hook_sees_where_it_is(a_call: MakeCall, services: FakeServices) -> None:
    ctx = HookContext("memory", a_call(hook="afterTodo", change_request_ref="#7"), services)

    assert (ctx.repo_root, ctx.worktree, ctx.plan_id) == (Path("/repo"), Path("/repo/tree"), "pr-7")
    assert (ctx.hook_point, ctx.change_request_ref, ctx.now) == ("afterTodo", "#7", NOW)
    assert ctx.log.name == "prloom.plugin.memory"


def test_a_hook_that_does_nothing_asks_for_nothing(opened: Open) -> None:
    assert opened().outcome("# Plan\n") == opened().outcome() == Outcome()


@pytest.mark.parametrize(("returned", "plan"), [("# New\n", "# New\n"), ("# Plan\n", None), (None, None), ("", "")])
def test_a_plan_is_changed_by_returning_another_one(opened: Open, returned: str | None, plan: str | None) -> None:
    assert opened().outcome(returned).plan == plan


async def test_a_hook_may_ask_its_host(services: FakeServices, ctx: TriageContext) -> None:
    assert await ctx.run_agent("do", files=["a.py"], stage="triage", model="m") == "done"
    assert ctx.read_events(types=["pr_comment"], since_id="e0", limit=1)[1] == "old"
    assert ctx.read_plan("pr-8") == "# pr-8\n"
    assert services.asked == [("do", ("a.py",), "triage", "m"), (["pr_comment"], "e0", 1), "pr-8"]


async def test_what_is_not_said_to_the_host_has_its_usual_value(services: FakeServices, ctx: TriageContext) -> None:
    await ctx.run_agent("do")
    ctx.read_events()

    assert services.asked == [("do", (), "worker", None), (None, None, 100)]


def test_the_hooks_own_plan_needs_no_host(opened: Open, services: FakeServices) -> None:
    assert opened().read_plan() == opened().read_plan("pr-7") == "# Plan\n"
    assert services.asked == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"types": "pr_comment"}, "types is 'pr_comment'; give a list of types, such as ['pr_comment']"),
        ({"limit": 0}, "limit is 0; give a whole number from 1"),
        ({"limit": "9"}, "limit is '9'; give a whole number from 1"),
        ({"limit": True}, "limit is True; give a whole number from 1"),
    ],
)
def test_events_are_asked_for_by_what_makes_sense(opened: Open, arguments: dict[str, Any], problem: str) -> None:
    assert mistake(lambda: opened().read_events(**arguments)) == f"plugin memory: read_events: {problem}"


async def test_files_for_an_agent_are_a_list(opened: Open) -> None:
    with pytest.raises(ExtensionError, match=r"plugin memory: run_agent: files is 'a.py'; give a list"):
        await opened().run_agent("do", files="a.py")


# ---- state


def test_the_two_stores_are_apart(opened: Open) -> None:
    ctx = opened(state={"n": 1}, global_state={"n": 10})

    ctx.set_state("n", ctx.get_state("n") + 1)
    ctx.update_global_state("n", lambda n: n + 1)

    assert (ctx.get_state("n"), ctx.get_global_state("n")) == (2, 11)
    assert ctx.outcome().writes == (
        Writes(scope="plan", read=("n",), values={"n": 2}),
        Writes(scope="global", read=("n",), values={"n": 11}),
    )


def test_every_call_of_the_state_is_there_for_both_stores(ctx: TriageContext) -> None:
    ctx.update_state("a", lambda _: 1)
    ctx.set_global_state("b", 2)

    assert (ctx.get_state("a"), ctx.get_state("x", 5)) == (1, 5)
    assert (ctx.get_global_state("b"), ctx.get_global_state("x", 6)) == (2, 6)


def test_a_store_that_was_only_read_is_told_too(ctx: TriageContext) -> None:
    ctx.get_global_state("n")

    assert ctx.outcome().writes == (Writes(scope="global", read=("n",)),)


def test_a_call_says_how_large_a_store_may_be(opened: Open) -> None:
    ctx = opened(limits=Limits(state_bytes=10))

    assert "the limit is 10" in mistake(lambda: ctx.set_state("n", "x" * 10))
    assert "the limit is 10" in mistake(lambda: ctx.set_global_state("n", "x" * 10))


# ---- actions


def test_a_comment_answers_the_event_whose_reply_goes_there(opened: Open, an_event: MakeEvent) -> None:
    events = [an_event("e1"), an_event("e2")]
    ctx = opened(*events)

    ctx.emit_comment(events[1].reply_to, "Noted.")

    assert ctx.outcome().actions == (
        Action(target=Target("github", {"comment": "e2"}), payload=Comment("Noted."), related_event_id="e2"),
    )


def test_events_that_share_a_conversation_are_told_apart_by_the_target_that_was_taken_from_them(
    opened: Open, an_event: MakeEvent
) -> None:
    # All comments on a pull request are answered in one place, but each event brings its own value for that.
    events = [an_event(event_id, reply_to=Target("github", {"pr": 7})) for event_id in ("e1", "e2", "e3")]
    ctx = opened(*events)

    for event in events:
        ctx.emit_comment(event.reply_to, "Noted.")
        ctx.emit_action(Action(target=event.reply_to, payload=AddLabels(("seen",))))  # type: ignore[arg-type]

    assert [action.related_event_id for action in ctx.outcome().actions] == ["e1", "e1", "e2", "e2", "e3", "e3"]


def test_an_answer_that_could_be_to_several_events_is_filed_under_none(opened: Open, an_event: MakeEvent) -> None:
    # Filed under a wrong one, it would be void when that one is superseded while the hook runs.
    ctx = opened(*(an_event(event_id, reply_to=None) for event_id in ("e1", "e2")))
    ctx.emit_comment(None, "Noted.")
    ctx.emit_comment(Target("slack", "C1"), "Noted.")
    ctx.emit_comment(None, "Noted.", related_event_id="e2")

    assert [action.related_event_id for action in ctx.outcome().actions] == [None, None, "e2"]


def test_an_answer_without_a_target_is_to_the_one_event_that_has_none_itself(opened: Open, an_event: MakeEvent) -> None:
    ctx = opened(an_event("e1"), an_event("e2", reply_to=None))
    ctx.emit_comment(None, "Noted.")

    (action,) = ctx.outcome().actions
    assert (action.target, action.related_event_id) == (Target(PLAN_TARGET), "e2")


def test_with_one_event_every_action_is_about_it(ctx: TriageContext) -> None:
    ctx.emit_comment(Target("slack", "C1"), "Look.")
    ctx.emit_comment(None, "Noted.")

    assert [action.related_event_id for action in ctx.outcome().actions] == ["e1", "e1"]


def test_a_hook_without_events_may_act(a_call: MakeCall, services: FakeServices) -> None:
    ctx = HookContext("memory", a_call(hook="afterTodo"), services)
    ctx.emit_comment(None, "Done.")

    assert ctx.outcome().actions == (Action(target=Target(PLAN_TARGET), payload=Comment("Done.")),)


def test_an_action_may_be_given_in_its_json_shape(ctx: TriageContext) -> None:
    ctx.emit_action(
        {"target": {"target": "github", "token": 1}, "payload": {"type": "add_labels", "labels": ["bug"]}, "id": "x"}
    )

    assert ctx.outcome().actions == (
        Action(target=Target("github", 1), payload=AddLabels(("bug",)), related_event_id="e1"),
    )


def test_an_id_is_derived_whatever_the_plugin_says(ctx: TriageContext) -> None:
    ctx.emit_action(Action(id="a-forged", target=Target("github"), payload=Comment("x"), related_event_id="e9"))

    (action,) = ctx.outcome().actions
    assert (action.id, action.related_event_id) == ("", "e9")


def test_reviews_and_merges_are_asked_for_like_comments(ctx: TriageContext) -> None:
    ctx.emit_review(None, Review("approve"))
    ctx.emit_review(Target("github", 1), {"verdict": "comment", "summary": "Fine.", "comments": [{"path": "a.py"}]})
    ctx.emit_merge(None)
    ctx.emit_merge(None, "squash", related_event_id="e1")

    assert [action.payload for action in ctx.outcome().actions] == [
        Review("approve"),
        Review("comment", "Fine.", ({"path": "a.py"},)),
        Merge("merge"),
        Merge("squash"),
    ]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda c: c.emit_comment(None, " \n"), "emit_comment: the message is empty; give the text to post"),
        (lambda c: c.emit_comment(None, 7), "emit_comment: the message is int; give the text to post"),
        (lambda c: c.emit_comment("github", "x"), "emit_comment: Expected `object`, got `str` - at `$.target`"),
        (lambda c: c.emit_comment(None, "x", related_event_id=7), "emit_comment: Expected `str | null`, got `int`"),
        (lambda c: c.emit_comment(Target("g", math.nan), "x"), "emit_comment: nan cannot be represented as JSON"),
        (lambda c: c.emit_comment(Target("g", {"a": object()}), "x"), "emit_comment: "),
        (lambda c: c.emit_comment(None, "\ud83d"), "emit_comment: 'utf-8' codec can't encode"),
        (lambda c: c.emit_review(None, {"verdict": "meh"}), "emit_review: Invalid enum value 'meh' - at `$.verdict`"),
        (lambda c: c.emit_review(None, {}), "emit_review: Object missing required field `verdict`"),
        (lambda c: c.emit_review(None, "approve"), "emit_review: the review is str; give {verdict, summary, comments"),
        (lambda c: c.emit_review(None, Review("x")), "emit_review: Invalid enum value 'x' - at `$.payload.verdict`"),
        (lambda c: c.emit_merge(None, "force"), "emit_merge: Invalid enum value 'force' - at `$.payload.method`"),
        (lambda c: c.emit_action({}), "emit_action: Object missing required field `target`"),
        (lambda c: c.emit_action(7), "emit_action: Expected `object`, got `int`"),
        (lambda c: c.emit_action({"target": {"target": "g"}, "payload": {}}), "emit_action: Object missing required"),
        (lambda c: c.emit_action(Action(target=Target("g"), payload="x")), "emit_action: Expected `object`, got `str`"),
        (lambda c: c.emit_action(Action(target=Target(""), payload=Comment("x"))), "emit_action: Expected `str`"),
        (lambda c: c.emit_action({"target": {"target": "g", "token": {1: 2}}}), "emit_action: the keys of an object"),
    ],
)
def test_an_action_that_is_none_is_refused_where_it_is_asked_for(
    call: Callable[[TriageContext], None], problem: str, ctx: TriageContext
) -> None:
    assert mistake(lambda: call(ctx)).startswith(f"plugin memory: {problem}")
    assert ctx.outcome() == Outcome()


def test_an_action_is_the_hosts_own_once_it_was_asked_for(opened: Open) -> None:
    ctx, token = opened(), {"a": [1]}
    ctx.emit_comment(Target("github", token), "x")
    token["a"].append(2)

    assert ctx.outcome().actions[0].target == Target("github", {"a": [1]})


# ---- marks


def test_marks_are_kept_in_their_order(opened: Open, an_event: MakeEvent) -> None:
    ctx = opened(an_event("e1"), an_event("e2"))
    ctx.mark_event_deferred("e2", "loud", 5000, until=NOW + timedelta(hours=1), on_expire="drop")
    ctx.mark_event_handled("e1", "noted")

    assert ctx.outcome().marks == (
        Mark("e2", "deferred", "loud", 5000, "2026-11-21T13:00:00.000Z", "drop"),
        Mark("e1", "handled", "noted"),
    )


def test_the_first_mark_of_an_event_stands_and_the_second_is_warned_of(
    caplog: pytest.LogCaptureFixture, ctx: TriageContext
) -> None:
    ctx.mark_event_deferred("e1")
    ctx.mark_event_handled("e1")

    assert [mark.verdict for mark in ctx.outcome().marks] == ["deferred"]
    assert "event e1 is already marked; the first mark counts" in caplog.text


def test_a_hook_sees_its_events_and_how_they_waited(opened: Open, an_event: MakeEvent) -> None:
    wait = Deferral("quiet", "loud", 2, "a", "b", "c")
    ctx = opened(an_event("e1"), an_event("e2"), deferrals={"e2": wait})

    assert [event.id for event in ctx.events] == ["e1", "e2"]
    assert (ctx.deferral("e1"), ctx.deferral("e2")) == (None, wait)


@pytest.mark.parametrize(
    ("until", "text"),
    [
        (None, None),
        (datetime(2026, 11, 21, 13, tzinfo=UTC), "2026-11-21T13:00:00.000Z"),
        (datetime(2026, 11, 21, 15, tzinfo=timezone(timedelta(hours=2))), "2026-11-21T13:00:00.000Z"),
        ("2026-11-21T13:00:00Z", "2026-11-21T13:00:00.000Z"),
        ("2026-11-21T13:00:00", "2026-11-21T13:00:00.000Z"),
        ("2026-11-22", "2026-11-22T00:00:00.000Z"),
    ],
)
def test_a_deadline_may_be_given_in_every_form(
    until: datetime | str | None, text: str | None, ctx: TriageContext
) -> None:
    ctx.mark_event_deferred("e1", until=until)

    assert ctx.outcome().marks[0].until == text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"retry_after_ms": -1}, "retry_after_ms is -1; it cannot be negative"),
        ({"retry_after_ms": 2_592_000_001}, "retry_after_ms is 2592000001; the longest wait is 2592000000 ms"),
        ({"retry_after_ms": 10**30}, f"retry_after_ms is {10**30}; the longest wait is 2592000000 ms"),
        ({"retry_after_ms": 1.5}, "retry_after_ms is 1.5; give whole milliseconds"),
        ({"retry_after_ms": math.nan}, "retry_after_ms is nan; give whole milliseconds"),
        ({"retry_after_ms": "5s"}, "retry_after_ms is '5s'; give whole milliseconds"),
        ({"retry_after_ms": True}, "retry_after_ms is True; give whole milliseconds"),
        ({"on_expire": "explode"}, "on_expire is 'explode'; use 'park', 'pass' or 'drop'"),
        ({"on_expire": ["park"]}, "on_expire is ['park']; use 'park', 'pass' or 'drop'"),
        ({"until": "soon"}, "until is 'soon'; give an aware datetime or an ISO 8601 text"),
        ({"until": 5}, "until is 5; give an aware datetime or an ISO 8601 text"),
        ({"until": NOW}, "until is 2026-11-21T12:00:00.000Z, which is in the past; give a time in the future"),
        ({"until": "2020-01-01"}, "until is 2020-01-01T00:00:00.000Z, which is in the past; give a time in the future"),
        ({"until": "9999-12-31T23:59:59-12:00"}, "until is '9999-12-31T23:59:59-12:00'; give an aware datetime"),
        ({"reason": 7}, "the reason is int; give a text"),
    ],
)
def test_a_deferral_that_makes_no_sense_is_refused_and_marks_nothing(
    arguments: dict[str, Any], problem: str, ctx: TriageContext
) -> None:
    said = mistake(lambda: ctx.mark_event_deferred("e1", **arguments))

    assert said.startswith(f"plugin memory: mark_event_deferred: {problem}")
    assert ctx.outcome().marks == ()


@pytest.mark.parametrize("delay", [0, 1, 2_592_000_000])
def test_a_wait_within_the_limits_is_taken_as_it_is(delay: int, ctx: TriageContext) -> None:
    ctx.mark_event_deferred("e1", retry_after_ms=delay)

    assert ctx.outcome().marks[0].retry_after_ms == delay


@pytest.mark.parametrize(
    ("delay", "warning"),
    [
        (30, "; if you mean 30 seconds, give 30000"),
        (999, "; if you mean 999 seconds, give 999000"),
        (0, ""),
        (1000, None),
        (None, None),
    ],
)
def test_a_wait_of_less_than_a_second_is_warned_of_because_it_may_have_been_meant_in_seconds(
    opened: Open, delay: int | None, warning: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    opened().mark_event_deferred("e1", "x", delay)

    told = f"mark_event_deferred: retry_after_ms is {delay}, in milliseconds; event e1 waits for the shortest time, "
    assert caplog.messages == ([] if warning is None else [f"{told}1000 ms{warning}"])


# ---- a forgotten await


def forgotten(ctx: TriageContext, how: str) -> None:
    run: Any = ctx.run_agent("look")
    match how:
        case "message":
            ctx.emit_comment(None, run)
        case "value":
            ctx.set_state("said", run)
        case "reason":
            ctx.mark_event_handled("e1", run)
        case _:
            ctx.emit_comment(None, f"It said: {run}")
            ctx.outcome()


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("message", "emit_comment: the message is coroutine (write `await` before the call that returned it); give"),
        (
            "value",
            "set_state('said'): the value is not JSON (coroutine (write `await` before the call that returned it)",
        ),
        (
            "reason",
            "mark_event_handled: the reason is coroutine (write `await` before the call that returned it); give",
        ),
        ("text", "run_agent: it was not awaited, so no agent ran; write `await` before the call"),
    ],
)
def test_an_await_that_was_forgotten_is_named(how: str, problem: str, ctx: TriageContext) -> None:
    assert mistake(lambda: forgotten(ctx, how)).startswith(f"plugin memory: {problem}")


def test_a_time_without_a_zone_is_refused_because_nobody_knows_which_it_is_in(opened: Open) -> None:
    naive = datetime(2030, 1, 1)  # noqa: DTZ001 - that is the mistake

    assert "give an aware datetime" in mistake(lambda: opened().mark_event_deferred("e1", until=naive))


@pytest.mark.parametrize("event_id", ["e9", "", None, 7, ["e1"]])
@pytest.mark.parametrize("name", ["mark_event_handled", "mark_event_deferred", "deferral"])
def test_an_event_that_is_not_in_the_batch_is_refused(opened: Open, name: str, event_id: Any) -> None:
    said = mistake(lambda: getattr(opened(), name)(event_id))

    assert said == f"plugin memory: {name}: event {event_id!r} is not in this batch; use an id of `triage.events`"


def test_what_a_hook_asks_for_can_be_sent(opened: Open) -> None:
    ctx = opened(state={"n": 1})
    ctx.update_state("n", lambda n: (n, 2))
    ctx.emit_comment(None, "x")
    ctx.mark_event_deferred("e1", retry_after_ms=0, until="2030-01-01")
    outcome = ctx.outcome("# New\n")

    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome
