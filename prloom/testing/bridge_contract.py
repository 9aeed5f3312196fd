"""The promises that every bridge makes, as tests: derive from `BridgeContract`, and say how to set the scene.

    class TestMailbox(BridgeContract):
        def scene(self) -> Scene:
            return MailboxScene()

Each test sets a scene of its own. A promise that is broken is an AssertionError that says which.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast
from unittest import SkipTest

from prloom.api import (
    Action,
    BridgeContext,
    Comment,
    Delivered,
    Event,
    Json,
    Payload,
    Polled,
    Refused,
    Target,
    marked,
    marker,
)
from prloom.errors import ExtensionError
from prloom.extensions import bridge_shape
from prloom.model import record
from prloom.model.record import Record
from prloom.testing.bridge_scene import HOSTILE, NOW, PAYLOADS, TOKENS, Scene, an_action

__all__ = ["BridgeContract", "Scene"]


def _promise(*, events: bool = False, targets: bool = False) -> Callable[[_Check], Callable[[BridgeContract], None]]:
    """Make a test of a promise: it gets a scene, and is skipped for a bridge without events or without targets."""

    def decorate(check: _Check) -> Callable[[BridgeContract], None]:
        async def run(contract: BridgeContract) -> None:
            scene = contract.scene()
            if events and not contract.inbound:
                raise SkipTest("the bridge has no events of its own")
            if targets and not scene.bridge.targets:
                raise SkipTest("the bridge claims no target")
            await check(contract, scene)

        def test(self: BridgeContract) -> None:
            asyncio.run(run(self))

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


class BridgeContract:
    """The promises. `inbound = False` says that the bridge has no events of its own and only delivers."""

    inbound: bool = True

    def scene(self) -> Scene:
        """Return a new scene: a bridge, and a source at which nobody has said anything yet."""
        raise NotImplementedError

    @_promise()
    async def test_it_fits_the_protocol(self, scene: Scene) -> None:
        """It has a name, targets that are its own, and two methods to await."""
        try:
            bridge_shape.targets(scene.bridge)
        except ExtensionError as error:
            raise AssertionError(str(error)) from error

    @_promise()
    async def test_where_nothing_is_said_there_are_no_events(self, scene: Scene) -> None:
        """Nor are there where no plan is tracked."""
        _expect(not (await scene.poll()).events, "the poll of an empty source returns events")
        if self.inbound:
            scene.say("hello")
        await scene.bridge.events(BridgeContext(Path("/repo"), (), NOW), None)

    @_promise(events=True)
    async def test_what_is_said_becomes_an_event(self, scene: Scene) -> None:
        """The event has the words, an id, a source, a type and where to reply, and can be stored."""
        event = await _said(scene, "please rename größe → size")
        _expect("please rename größe → size" in event.body, f"the event's body is {event.body!r}")
        _expect(bool(event.source and event.type), f"the event has no source or no type: {event}")
        stored = json.loads(json.dumps(record.to_wire(event), allow_nan=False))
        _expect(record.from_wire(Event, stored).id == event.id, "the event's id changes when it is stored")
        where = None
        if event.reply_to:
            where = event.reply_to.target
        is_own = where is None or where in scene.bridge.targets or not scene.bridge.targets
        _expect(is_own, f"replies would go to {where!r}, which the bridge does not claim")

    @_promise(events=True)
    async def test_an_event_says_whom_it_concerns(self, scene: Scene) -> None:
        """Without the plan or the pull request, nobody would handle what was said about one."""
        event = await _said(scene, "please")
        for_plan = event.context.get("plan") == scene.plan.id
        _expect(for_plan or event.pr == scene.plan.pr, "neither `pr` nor context['plan'] names the tracked plan")

    @_promise(events=True)
    async def test_each_event_comes_once(self, scene: Scene) -> None:
        """What was returned with a cursor does not come again after it, not even after a restart."""
        scene.say("one")
        first = await scene.poll()
        scene.restart()
        again = await scene.poll(_stored(first.state))
        _expect(not again.events, f"with the new cursor, the poll returns old events again: {_ids(again)}")
        scene.say("two")
        third = await scene.poll(_stored(again.state))
        _expect(
            len(third.events) == 1, f"there is one new comment since the cursor, but the poll returns {_ids(third)}"
        )
        _expect("two" in third.events[0].body, "the event is not the new comment")

    @_promise(events=True)
    async def test_the_same_state_gives_the_same_ids(self, scene: Scene) -> None:
        """A poll whose cursor was lost gives events that prloom knows by their ids."""
        for text in ("one", "two", "three"):
            scene.say(text)
        first = _ids(await scene.poll())
        scene.restart()
        second = _ids(await scene.poll())
        _expect(first == second, f"two polls of the same state return {first} and then {second}")
        _expect(len(set(first)) == len(("one", "two", "three")), f"there are three comments, but the ids are {first}")

    @_promise(events=True)
    async def test_a_cursor_is_json_and_is_left_as_it_was(self, scene: Scene) -> None:
        """It is stored between polls, and a poll that fails later must not have changed it."""
        scene.say("one")
        state = _stored((await scene.poll()).state)
        before = json.dumps(state)
        scene.say("two")
        await scene.poll(state)
        _expect(json.dumps(state) == before, "the poll changed the cursor that it was given")

    @_promise(targets=True)
    async def test_a_reply_appears_with_its_marker(self, scene: Scene) -> None:
        """The marker is how prloom knows its own words again."""
        action = an_action(await _target(scene), Comment("This is done."))
        await _delivered(scene, action)
        _expect("This is done." in scene.posted(), "the reply's text does not appear")
        _expect(action.id in marked(scene.posted()), "the reply has no marker; add prloom.api.marker(action.id)")

    @_promise(targets=True)
    async def test_p3_an_action_that_is_delivered_again_appears_once(self, scene: Scene) -> None:
        """The first answer was lost, so nobody knows whether it arrived."""
        action = an_action(await _target(scene), Comment("This is done."))
        await _delivered(scene, action)
        scene.restart()
        await _delivered(scene, action, uncertain=True)
        times = marked(scene.posted()).count(action.id)
        _expect(
            times == 1,
            f"the reply was delivered twice and appears {times} times; before you post a reply, search for its marker",
        )

    @_promise(targets=True)
    async def test_two_actions_with_one_text_both_appear(self, scene: Scene) -> None:
        """An action is known by its id, not by its words; nor does one that names another's marker stand for it."""
        target = await _target(scene)
        one, two = (an_action(target, Comment("Done."), ordinal=number) for number in (1, 2))
        forger = an_action(target, Comment(f"Look: {marker(two.id)}\n{marker(two.id)}\nDone."), ordinal=3)
        for action in (one, forger):
            await _delivered(scene, action)
        await _delivered(scene, two, uncertain=True)
        count = scene.posted().count("Done.")
        _expect(count == len((one, two, forger)), f"three replies were delivered, but {count} appear")

    @_promise(targets=True)
    async def test_actions_at_the_same_time_all_appear(self, scene: Scene) -> None:
        """None overwrites another."""
        target = await _target(scene)
        actions = [an_action(target, Comment(f"Reply {number}."), ordinal=number) for number in range(5)]
        await asyncio.gather(*(_delivered(scene, action) for action in actions))
        there = marked(scene.posted())
        _expect(
            sorted(there) == sorted(action.id for action in actions),
            f"five replies were delivered, but {len(there)} appear",
        )

    @_promise(targets=True)
    async def test_p6_a_reply_is_not_taken_for_feedback(self, scene: Scene) -> None:
        """It does not come back as an event; or it does with its marker or its id, by which prloom knows it."""
        target = await _target(scene)
        state = (await scene.poll()).state
        action = an_action(target, Comment(HOSTILE))
        result = await _delivered(scene, action)
        back = (await scene.poll(state)).events
        strange = [event for event in back if not _is_own(event, action, result)]
        _expect(not strange, f"the reply came back as feedback: {[event.body for event in strange]}")

    @_promise()
    async def test_what_it_cannot_do_it_refuses_for_good(self, scene: Scene) -> None:
        """A payload or a target that it does not know is refused in one line, and not tried again."""
        if scene.bridge.targets:
            target = await _target(scene)
        else:
            target = Target("somewhere")
        unknown = cast("Payload", _UnknownPayload())
        for action in (an_action(target, unknown), an_action(Target("no-such-target", {}), Comment("hello"))):
            result = await scene.deliver(action)
            _expect(isinstance(result, Refused), f"{action.payload} for {action.target} was not refused: {result}")
            _expect(
                not cast("Refused", result).retryable, f"a retry would not help, but the result requests one: {result}"
            )
            _check_refusal(result)

    @_promise(targets=True)
    async def test_every_payload_has_an_answer(self, scene: Scene) -> None:
        """It is done, or it is refused in one line; it is not an exception."""
        target = await _target(scene)
        for number, payload in enumerate(PAYLOADS):
            _check_refusal(await scene.deliver(an_action(target, payload, ordinal=number)))
            _check_refusal(await scene.deliver(an_action(target, payload, ordinal=number), uncertain=True))

    @_promise(targets=True)
    async def test_a_token_that_it_does_not_know_is_no_exception(self, scene: Scene) -> None:
        """A plugin can make up any."""
        for number, token in enumerate(TOKENS):
            where = Target(scene.bridge.targets[0], token)
            _check_refusal(await scene.deliver(an_action(where, Comment("hello"), ordinal=number)))


_Check = Callable[[BridgeContract, Scene], Awaitable[None]]


class _UnknownPayload(Record, frozen=True, tag_field="type", tag="unheard_of"):
    """A payload of a later version."""


def _expect(kept: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not kept:
        raise AssertionError(otherwise)


def _ids(polled: Polled) -> list[str]:
    return [event.id for event in polled.events]


def _stored(state: Json) -> Any:  # noqa: ANN401 - any JSON
    """Return the cursor as it comes back from the disk."""
    try:
        return json.loads(json.dumps(state, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"the cursor is not JSON: {error}") from error


async def _said(scene: Scene, text: str) -> Event:
    """Say something at the source, and return its event."""
    scene.say(text)
    events: Sequence[Event] = (await scene.poll()).events
    _expect(bool(events), f"there is no event for the comment {text!r}")
    return events[-1]


async def _target(scene: Scene) -> Target:
    """Return where to reply: where the scene says, or else where an event does."""
    if scene.target is not None:
        return scene.target
    target = (await _said(scene, "please")).reply_to
    _expect(target is not None, "the event has no reply_to, and the scene has no target")
    return cast("Target", target)


async def _delivered(scene: Scene, action: Action, *, uncertain: bool = False) -> Delivered:
    result = await scene.deliver(action, uncertain=uncertain)
    _expect(isinstance(result, Delivered), f"the action was not delivered: {result}")
    return cast("Delivered", result)


def _check_refusal(result: object) -> None:
    _expect(isinstance(result, Delivered | Refused), f"the result of an action is Delivered or Refused, not {result!r}")
    if isinstance(result, Refused):
        _expect(bool(result.error.strip()), "the refusal does not give a reason")
        _expect("\n" not in result.error, f"the refusal takes more than one line: {result.error!r}")


def _is_own(event: Event, action: Action, result: Delivered) -> bool:
    remote = event.context.get("remoteId")
    on_a_line = any(line.strip() == marker(action.id) for line in event.body.splitlines())
    return on_a_line or (remote is not None and remote == result.remote_id)
