"""Asking a bridge: events on disk before the cursor is, each on its own plan's bus, and nobody in another's way."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from stage import ListBridge, Stage, said
from stage_parts import by

from prloom import errors
from prloom.api import Event, HttpError, PluginContext, Polled


def lines(stage: Stage, plan_id: str = "pr-7") -> list[dict[str, Any]]:
    file = stage.local(plan_id) / "bus/events.jsonl"
    return [json.loads(line)["data"] for line in file.read_text().splitlines()] if file.exists() else []


def repository_state(stage: Stage) -> Any:
    return json.loads((stage.root / "prloom/.local/bus/state/dispatcher.json").read_text())


def cursor(stage: Stage, bridge: str = "forge") -> Any:
    file = stage.root / f"prloom/.local/bus/state/bridge.{bridge}.json"
    return json.loads(file.read_text())["state"] if file.exists() else None


async def test_a_poll_asks_for_all_plans_at_once(stage: Stage):
    for number in range(3):
        stage.adopt(f"pr-{number}", pr=number)

    await stage.tick()

    assert stage.bridge.polls == 1
    assert [plan.id for plan in stage.bridge.contexts[0].plans] == ["pr-0", "pr-1", "pr-2"]


async def test_the_next_poll_goes_on_from_the_cursor(stage: Stage, pr_7: Path):
    await stage.poll(said("a"))

    assert cursor(stage) == 1
    assert [event["id"] for event in lines(stage)] == ["a"]


async def test_a_bridge_is_asked_again_after_its_interval_and_not_before(stage: Stage, pr_7: Path):
    async with stage.running():
        await stage.until(lambda: stage.bridge.polls == 1)
        stage.clock.advance(seconds=59)
        stage.append(said("sign"))
        await stage.until(lambda: stage.triager.batches == [("sign",)])
        assert stage.bridge.polls == 1
        stage.clock.advance(seconds=1)

        await stage.until(lambda: stage.bridge.polls == 2)


async def test_what_a_poll_brings_again_is_dropped(stage: Stage, pr_7: Path):
    await stage.poll(said("a"), said("a"))
    stage.bridge.news += [said("a"), said("b")]

    await stage.tick()

    assert [event["id"] for event in lines(stage)] == ["a", "b"]


def seen_by_a_plugin(stage: Stage) -> list[str]:
    """Return the ids of the repository's events that a plugin is shown from now on."""
    seen: list[str] = []

    def register(ctx: PluginContext) -> None:
        @ctx.hook("onGlobalEvent")
        def look(event: Any, hook: Any) -> None:
            seen.append(event.id)

    stage.plugin("p", register)
    return seen


async def test_an_event_that_is_for_no_plan_is_shown_to_the_plugins_as_the_repositorys(stage: Stage, pr_7: Path):
    seen = seen_by_a_plugin(stage)

    await stage.poll(said("other", pr=99), said("none", pr=None), said("mine"))

    assert seen == ["other", "none"]
    assert [event["id"] for event in lines(stage)] == ["mine"]
    assert stage.triager.batches == [("mine",)]


async def test_an_event_may_name_its_plan_by_the_plans_id(stage: Stage):
    stage.adopt("local-work", pr=None, forge=None)

    await stage.poll(said("a", pr=None, context={"plan": "local-work"}))

    assert [event["id"] for event in lines(stage, "local-work")] == ["a"]


@pytest.mark.parametrize(
    ("event", "what"),
    [
        (said("a", pr=None, context={"plan": "nope"}), "the plan 'nope', which prloom does not know"),
        (said("a", pr=None, context={"plan": "a\x1b[31m"}), "the plan 'a\\x1b[31m', which prloom does not know"),
        (said("a", pr=-1), "the pull request #-1, which cannot exist"),
    ],
)
async def test_an_event_for_a_plan_that_is_not_there_is_parked_where_status_shows_it(
    stage: Stage, event: Event, what: str, pr_7: Path
):
    await stage.poll(event, said("b"))

    (parked,) = repository_state(stage)["open"].values()
    assert (parked["id"], parked["state"]) == ("a", "parked")
    assert parked["reason"] == f"forge sent it for {what}; deal with it yourself, and drop it"
    assert stage.triager.batches == [("b",)]


async def test_one_that_a_plugin_sees_is_not_parked(stage: Stage, pr_7: Path):
    seen = seen_by_a_plugin(stage)

    await stage.poll(said("a", pr=None, context={"plan": "nope"}))

    assert seen == ["a"]
    assert not repository_state(stage).get("open")


async def test_it_is_parked_again_when_a_person_retries_it_or_approves_a_strangers(stage: Stage, pr_7: Path):
    await stage.poll(
        said("a", pr=None, context={"plan": "nope"}),
        said("b", pr=None, context={"plan": "nope"}, author=by("eve", "none")),
    )
    stage.ask("retry", "a")

    await stage.carry_out("approve", "b")

    assert {each["id"]: each["state"] for each in repository_state(stage)["open"].values()} == dict.fromkeys(
        "ab", "parked"
    )


@pytest.mark.parametrize(
    "event",
    [
        said("a", pr=99),
        said("a", pr=None),
        said("a", "", type="pr_closed", pr=None, context={"plan": "nope"}),
        said("a", pr=None, context={"plan": "nope"}, author=by("eve", "none")),
    ],
)
async def test_one_of_a_pull_request_without_a_plan_a_notice_and_a_strangers_are_not(stage: Stage, event: Event):
    stage.adopt()

    await stage.poll(event)

    assert [each["state"] for each in repository_state(stage).get("open", {}).values()] in ([], ["held"])


# ---- bridges that fail


async def test_a_bridge_that_fails_is_left_alone_for_a_while_and_loses_nothing(stage: Stage, pr_7: Path):
    broken = [True]

    def fail() -> None:
        if broken:
            raise ConnectionError("no route")

    stage.bridge.fail = fail
    stage.bridge.news = [said("a")]
    async with stage.running():
        await stage.until(lambda: stage.bridge.polls == 1 and stage.published("bridges")[0]["error"] is not None)
        assert stage.published("bridges")[0]["error"] == "ConnectionError: no route"
        broken.clear()
        stage.clock.advance(seconds=10)

        await stage.until(lambda: stage.triager.batches == [("a",)])
        await stage.until(lambda: stage.published("bridges")[0]["error"] is None)


async def test_of_a_bridge_whose_tasks_failed_the_first_failure_is_told(stage: Stage, pr_7: Path):
    def fail() -> None:
        raise ExceptionGroup("unhandled errors in a TaskGroup", [ConnectionError("no route"), ValueError("x")])

    stage.bridge.fail = fail

    await stage.tick()

    assert stage.published("bridges")[0]["error"] == "ConnectionError: no route"


@pytest.mark.parametrize("answer", [None, [], {"events": []}])
async def test_a_bridge_that_answers_with_something_else_is_said_to(stage: Stage, answer: Any, pr_7: Path):
    class Odd(ListBridge):
        async def events(self, ctx: Any, state: Any) -> Any:
            return answer

    stage.bridges = [Odd()]

    await stage.tick()

    assert stage.published("bridges")[0]["error"] == f"TypeError: events() returned {type(answer).__name__}, not Polled"


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (
            said(""),
            (
                "event without an id of the bridge cannot be written to the bus: "
                "its id is empty; give each event an id of its own that stays the same"
            ),
        ),
        (said("x" * 513), "its id has 513 characters; use at most 512"),
        (said(7), "Expected `str`, got `int` - at `$.id`"),
        (said("x", body=b"no text"), None),
        ("no event", None),
    ],
)
async def test_an_event_that_nobody_could_read_back_is_the_bridges_error_and_delays_no_other(
    stage: Stage, bad: Any, problem: str | None, pr_7: Path
):
    await stage.poll(said("a"), bad, said("b"))

    assert stage.triager.batches == [("a", "b")]
    assert cursor(stage) is None  # it is asked for again
    error = stage.published("bridges")[0]["error"]
    assert " of the bridge cannot be written to the bus: " in error
    assert problem is None or error.endswith(problem)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ({"warnings": "it is slow"}, "`warnings` of Polled is str, not a list of str"),
        ({"plans": ["a plan"]}, "`plans` of Polled is a list of str, not a list of UpsertPlan"),
        ({"heads": {"7": "abc"}}, "`heads` of Polled is a mapping of str to str, not a mapping of int to str"),
        ({"ticked": {7: 1}}, "`ticked` of Polled is a mapping of int to int, not a mapping of int to a list of str"),
        ({"idle": 5}, "`idle` of Polled is int, not str or None"),
        (
            {"now": datetime(2026, 1, 1)},  # noqa: DTZ001 - what a bridge must not return
            "`now` of Polled is a datetime without a time zone, not a datetime with a time zone or None",
        ),
    ],
)
async def test_a_field_with_a_wrong_type_is_the_bridges_error_and_the_events_beside_it_are_taken_in(
    stage: Stage, field: Any, wrong: str, pr_7: Path
):
    class Odd(ListBridge):
        async def events(self, ctx: Any, state: Any) -> Any:
            return replace(await super().events(ctx, state), **field)

    stage.bridges = [Odd()]
    stage.bridges[0].news = [said("a")]

    await stage.tick()

    error = stage.published("bridges")[0]["error"]
    assert error == f"events() returned a wrong field: {wrong}; correct the bridge"
    assert stage.triager.batches == [("a",)]
    assert cursor(stage) is None  # it is asked for again


@pytest.mark.parametrize("events", [None, 5, "events", {"a": 1}])
async def test_a_bridge_whose_events_are_no_list_is_said_to(stage: Stage, events: Any, pr_7: Path):
    class Odd(ListBridge):
        async def events(self, ctx: Any, state: Any) -> Any:
            return Polled(events)

    stage.bridges = [Odd()]

    await stage.tick()

    assert "`events` of Polled is " in stage.published("bridges")[0]["error"]
    assert stage.published("bridges")[0]["error"].endswith(", not a list; correct the bridge")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_a_bridge_that_ends_the_program_ends_only_its_poll(stage: Stage, error: BaseException, pr_7: Path):
    def leave() -> None:
        raise error

    stage.bridge.fail = leave

    await stage.take_in(said("a"))

    assert stage.triager.batches == [("a",)]
    assert stage.published("bridges")[0]["error"].startswith(errors.describe(error))


async def test_so_does_one_whose_method_is_not_async(stage: Stage, pr_7: Path):
    class Leaving(ListBridge):
        def permission(self, ctx: Any, login: str) -> Any:
            raise SystemExit(3)

    stage.bridges = [Leaving()]

    await stage.take_in(said("a", author=by("ann", None)), said("b"))

    assert stage.triager.batches == [("b",)]
    assert stage.open()["a"]["state"] == "held"


async def test_a_bridge_that_waits_for_a_task_which_was_cancelled_is_polled_again_after_a_while(stage: Stage):
    class Cancels(ListBridge):
        async def events(self, ctx: Any, state: Any) -> Any:
            self.polls += 1
            task = asyncio.ensure_future(asyncio.Event().wait())
            asyncio.get_running_loop().call_soon(task.cancel)
            await task

    stage.adopt()
    bridge = Cancels()
    stage.bridges = [bridge]
    async with stage.running():
        await stage.until(lambda: bridge.polls == 1 and stage.published("bridges")[0]["error"] is not None)
        stage.append(said("a"))
        await stage.until(lambda: stage.triager.batches == [("a",)])
        assert bridge.polls == 1
        error = stage.published("bridges")[0]["error"]
        assert error == "CancelledError: the bridge waited for a task that was cancelled"
        stage.clock.advance(seconds=10)

        await stage.until(lambda: bridge.polls == 2)


async def test_a_damaged_cursor_is_keep_and_the_source_is_read_again(stage: Stage, pr_7: Path):
    await stage.poll(said("a"))
    (stage.root / "prloom/.local/bus/state/bridge.forge.json").write_text("{")

    await stage.poll(said("b"))

    assert [event["id"] for event in lines(stage)] == ["a", "b"]
    assert stage.triager.batches == [("a",), ("b",)]


async def test_a_slow_bridge_keeps_no_other_waiting(stage: Stage, pr_7: Path):
    slow = ListBridge("slow")
    release = asyncio.Event()

    async def wait(what: str) -> None:
        await release.wait()

    slow.waits = wait
    slow.news = [said("late", source="slow")]
    stage.bridges.insert(0, slow)
    stage.bridge.news = [said("a")]
    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["re a"])
        release.set()
        await stage.until(lambda: stage.triager.batches == [("a",), ("late",)])


# ---- plans that cannot take their events


async def test_what_comes_for_a_plan_that_is_given_up_while_its_bridge_is_asked_is_nobodys_else(stage: Stage):
    local = stage.adopt()
    stage.adopt("pr-8", pr=8)

    async def give_up(what: str) -> None:
        (local / "state.json").rename(local / "state.away")
        await stage.until(lambda: "pr-7" not in dispatcher.registry.runtimes)

    stage.bridge.waits = give_up
    stage.bridge.news = [said("a")]
    async with stage.running() as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1 and not dispatcher._pollers)
        assert cursor(stage) is None
        stage.bridge.waits = None
        (local / "state.away").rename(local / "state.json")
        stage.clock.advance(minutes=1)

        await stage.until(lambda: stage.triager.batches == [("a",)])
    assert not (stage.root / "prloom/.local/bus/events.jsonl").exists()


async def test_a_plan_in_trouble_takes_no_events_and_they_come_again(stage: Stage, pr_7: Path):
    stage.adopt("pr-8", pr=8)
    async with stage.running() as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1 and not dispatcher._pollers)
        dispatcher.registry.runtimes["pr-7"].fail("something is wrong")
        stage.bridge.news = [said("a"), said("b", pr=8)]
        dispatcher.poll()
        await stage.until(lambda: stage.bridge.said == ["re b"])
        assert cursor(stage) == 0
        stage.clock.advance(minutes=1)

        await stage.until(lambda: stage.bridge.said == ["re b", "re a"])


# ---- who may do what


async def test_only_of_news_the_author_is_looked_up(stage: Stage, pr_7: Path):
    stage.bridge.permissions["bob"] = "write"
    await stage.poll(said("a", author=by("bob")))
    stage.bridge.news.append(said("a", author=by("bob")))

    await stage.tick_after(hours=1)

    assert stage.bridge.asked == ["bob"]


async def test_what_was_looked_up_stands_in_the_event(stage: Stage, pr_7: Path):
    stage.bridge.permissions["bob"] = "triage"

    await stage.poll(said("a", author=by("bob")))

    assert lines(stage)[0]["author"] == {"login": "bob", "trust": "triage", "bot": False}
    assert stage.open()["a"]["reason"] == "bob has triage permission; at least write is required"


async def test_however_many_events_an_author_has_they_are_looked_up_once(stage: Stage, pr_7: Path):
    await stage.poll(*[said(f"e{number}", author=by("nobody")) for number in range(20)])

    assert stage.bridge.asked == ["nobody"]
    assert {event["state"] for event in stage.open().values()} == {"held"}


async def test_a_look_up_that_hangs_delays_no_other_author_and_no_other_plan(stage: Stage, pr_7: Path):
    stage.adopt("pr-8", pr=8)
    hanging = asyncio.Event()
    stage.bridge.permissions["ann"] = "write"
    asked = stage.bridge.asked

    async def hang(what: str) -> None:
        if what == "permission" and asked[-1] == "slow":
            await hanging.wait()

    stage.bridge.waits = hang
    stage.append(said("a", author=by("slow")), said("b", author=by("ann")))
    stage.append(said("c", author=by("ann"), pr=8), plan_id="pr-8")
    async with stage.running():
        await stage.until(lambda: sorted(stage.bridge.said) == ["re b", "re c"])
        assert stage.open()["a"]["state"] == "held"
        hanging.set()


async def test_what_is_no_permission_is_none_that_is_known(stage: Stage, pr_7: Path):
    stage.bridge.permissions = {"ann": "god"}

    await stage.poll(said("a", author=by("ann")))

    reason = stage.open()["a"]["reason"]
    assert (
        reason == "the permission of ann is not known: the bridge forge answered with 'god', which is not a permission"
    )


async def test_a_bridge_that_cannot_tell_permissions_says_so(stage: Stage, pr_7: Path):
    class Mute:
        name = "forge"
        targets = ("forge",)

        def __init__(self, talking: ListBridge) -> None:
            self.events, self.actions = talking.events, talking.actions

    stage.bridges = [Mute(stage.bridge)]

    await stage.poll(said("a", author=by("bob")))

    assert stage.open()["a"]["reason"] == "the permission of bob is not known: the bridge forge cannot look it up"


async def test_a_poll_that_had_nothing_to_ask_for_is_not_told_as_one(stage: Stage, pr_7: Path):
    stage.bridge.idle = "no plan has a pull request"
    await stage.tick()
    never = stage.published("bridges")[0]
    stage.bridge.idle = None
    await stage.tick_after(minutes=1)
    async with stage.rounds() as again:
        await again()
        stage.bridge.idle = "no plan has a pull request"
        await again(minutes=5)

    earlier = stage.published("bridges")[0]
    assert (never["lastPollAt"], never["lastOkAt"], never["idle"]) == (None, None, "no plan has a pull request")
    assert (earlier["lastPollAt"], earlier["lastOkAt"]) == ("2026-01-01T12:01:00.000Z",) * 2


async def test_an_error_that_stays_is_a_warning_once_however_often_the_bridge_is_asked(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    errors = iter(
        [
            HttpError("the token is not accepted", trouble="unauthorized"),
            HttpError("nothing was sent at 12:10 UTC", trouble="unauthorized"),
            HttpError("no route", trouble="unknown"),
            OSError("no disk"),
            OSError("no disk"),
        ]
    )

    def fail() -> None:
        error = next(errors, None)
        if error is not None:
            raise error

    stage.bridge.fail = fail
    async with stage.rounds() as again:
        for _ in range(6):
            await again()
            stage.clock.advance(minutes=20)

    warnings = [each.message for each in caplog.records if each.levelname == "WARNING"]
    said = [message.removeprefix("bridge forge: ").partition(";")[0] for message in warnings]
    assert said == ["the token is not accepted", "no route", "OSError: no disk"]
