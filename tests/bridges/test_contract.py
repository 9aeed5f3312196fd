"""Every bridge keeps the same promises; and a bridge that breaks one is found out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from bridges.local import LocalBridge
from prloom.api import (
    Action,
    Author,
    Bridge,
    BridgeContext,
    Comment,
    Delivered,
    Event,
    Json,
    Polled,
    Refused,
    Target,
    marker,
)
from prloom.testing.bridge_contract import BridgeContract
from prloom.testing.bridge_scene import MemoryFiles, Scene, a_plan


class LocalScene(Scene):
    def __init__(self) -> None:
        super().__init__(LocalBridge, a_plan(files=MemoryFiles(review__md="## ready\n\n## replies\n")))

    def say(self, text: str) -> None:
        before = self.posted()
        self.plan.files.replace_text("review.md", before.replace("## ready\n", f"## ready\n- [ ] {text}\n", 1))

    def posted(self) -> str:
        return self.plan.files.read_text("review.md") or ""


class TestLocal(BridgeContract):
    def scene(self) -> Scene:
        return LocalScene()


class Wall:
    """A source that people write on."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.posted: list[str] = []


class WallBridge:
    """The smallest bridge that keeps all promises, in memory."""

    name = "wall"
    targets: tuple[str, ...] = ("wall",)

    def __init__(self, wall: Wall) -> None:
        self.wall = wall

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        if not ctx.plans:
            return Polled((), state)
        start = state or 0
        events = [self.event(ctx, number) for number in range(start, len(self.wall.said))]
        return Polled(events, len(self.wall.said))

    def event(self, ctx: BridgeContext, number: int) -> Event:
        return Event(
            id=f"wall:{number}",
            source="wall",
            type="remark",
            body=self.wall.said[number],
            reply_to=Target("wall", number),
            context={"plan": ctx.plans[0].id},
        )

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if action.target.target != "wall" or not isinstance(action.payload, Comment):
            return Refused("a wall takes comments only")
        if not any(text.startswith(marker(action.id)) for text in self.wall.posted):
            self.wall.posted.append(f"{marker(action.id)}\n{action.payload.message.replace('<!--', '<! --')}")
        return Delivered()


class WallScene(Scene):
    def __init__(self, bridge: Callable[[Wall], Bridge] = WallBridge) -> None:
        self.wall = Wall()
        super().__init__(lambda: bridge(self.wall))

    def say(self, text: str) -> None:
        self.wall.said.append(text)

    def posted(self) -> str:
        return "\n".join(self.wall.posted)


class TestWall(BridgeContract):
    def scene(self) -> Scene:
        return WallScene()


class DeafWall(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return Polled()


class TestAWallThatOnlyListens(BridgeContract):
    """A bridge without targets refuses every action."""

    def scene(self) -> Scene:
        return WallScene(SilentWall)


class TestAWallThatOnlySpeaks(BridgeContract):
    inbound = False

    def scene(self) -> Scene:
        scene = WallScene(DeafWall)
        scene.target = Target("wall")
        return scene


class SilentWall(WallBridge):
    targets = ()

    def event(self, ctx: BridgeContext, number: int) -> Event:
        return msgspec.structs.replace(super().event(ctx, number), reply_to=None)

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        return Refused("nobody can write on it")


# ---- bridges that break a promise each


class Nameless(WallBridge):
    name = ""


class Talkative(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return Polled([Event(id="hello", source="wall", type="remark", context={"plan": "pr-7"})], state)


class ForHelp(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return await super().events(ctx, state) if ctx.plans[0] else Polled()


class Mute(WallBridge):
    def event(self, ctx: BridgeContext, number: int) -> Event:
        return msgspec.structs.replace(super().event(ctx, number), body="")


class Aimless(WallBridge):
    def event(self, ctx: BridgeContext, number: int) -> Event:
        return msgspec.structs.replace(super().event(ctx, number), context={})


class Forgetful(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return await super().events(ctx, None)


class RemembersInMemory(WallBridge):
    count = 0

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        polled = await super().events(ctx, self.count)
        self.count = polled.state
        return Polled(polled.events, None)


class CountsPolls(WallBridge):
    polls = 0

    def event(self, ctx: BridgeContext, number: int) -> Event:
        self.wall.polls = getattr(self.wall, "polls", 0) + 1  # type: ignore[attr-defined]
        event = super().event(ctx, number)
        return msgspec.structs.replace(event, id=f"{event.id}:{self.wall.polls}")  # type: ignore[attr-defined]


class OneForAll(WallBridge):
    def event(self, ctx: BridgeContext, number: int) -> Event:
        return msgspec.structs.replace(super().event(ctx, number), id="wall")


class KeepsASet(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return Polled((await super().events(ctx, None)).events, {1, 2})


class ChangesItsCursor(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        cursor = state if state is not None else {"read": 0}
        polled = await super().events(ctx, cursor["read"])
        cursor["read"] = polled.state
        return Polled(polled.events, cursor)


class NumbersItsPosts(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        await super().actions(ctx, action)
        return Delivered(remote_id=len(self.wall.posted))  # type: ignore[arg-type]


class WaitsForSeconds(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if not isinstance(action.payload, Comment):
            return Refused("it is too early", retryable=True, retry_after=60)  # type: ignore[arg-type]
        return await super().actions(ctx, action)


class WarnsInOneText(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return replace(await super().events(ctx, state), warnings="it is slow")


class Silent(WallBridge):
    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        return None  # type: ignore[return-value]


class Generous(WallBridge):
    def event(self, ctx: BridgeContext, number: int) -> Event:
        return msgspec.structs.replace(super().event(ctx, number), author=Author("ann", trust="god"))


class WithoutIds(WallBridge):
    def event(self, ctx: BridgeContext, number: int) -> Event:
        return msgspec.structs.replace(super().event(ctx, number), id="")


class Swallows(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        return Delivered()


class Unmarked(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        result = await super().actions(ctx, action)
        self.wall.posted = [text.replace(marker(action.id), "") for text in self.wall.posted]
        return result


class PostsAgain(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        before = self.wall.posted
        self.wall.posted = []
        result = await super().actions(ctx, action)
        self.wall.posted = [*before, *self.wall.posted]
        return result


class KnowsByWords(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if isinstance(action.payload, Comment) and any(action.payload.message in text for text in self.wall.posted):
            return Delivered()
        return await super().actions(ctx, action)


class Gullible(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if isinstance(action.payload, Comment) and not any(marker(action.id) in text for text in self.wall.posted):
            self.wall.posted.append(f"{marker(action.id)}\n{action.payload.message}")
        return Delivered()


class OverwritesOthers(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        before = list(self.wall.posted)
        await asyncio.sleep(0)
        self.wall.posted = [*before, marker(action.id)]
        return Delivered()


class Echo(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if isinstance(action.payload, Comment):
            self.wall.said.extend(action.payload.message.splitlines())
        return await super().actions(ctx, action)


class SaysYes(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        result = await super().actions(ctx, action)
        return Delivered() if isinstance(result, Refused) else result


class Hopeful(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        result = await super().actions(ctx, action)
        return Refused(result.error, retryable=True) if isinstance(result, Refused) else result


class Raises(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        assert isinstance(action.payload, Comment)
        return await super().actions(ctx, action)


class TrustsTokens(WallBridge):
    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        assert action.target.token in range(100)
        return await super().actions(ctx, action)


BREAKS = {
    Nameless: "test_it_fits_the_protocol",
    Talkative: "test_where_nothing_is_said_there_are_no_events",
    ForHelp: "test_where_nothing_is_said_there_are_no_events",
    Mute: "test_what_is_said_becomes_an_event",
    Aimless: "test_an_event_says_whom_it_concerns",
    Forgetful: "test_each_event_comes_once",
    RemembersInMemory: "test_each_event_comes_once",
    CountsPolls: "test_the_same_state_gives_the_same_ids",
    OneForAll: "test_the_same_state_gives_the_same_ids",
    KeepsASet: "test_a_cursor_is_json_and_is_left_as_it_was",
    ChangesItsCursor: "test_a_cursor_is_json_and_is_left_as_it_was",
    Swallows: "test_a_reply_appears_with_its_marker",
    Unmarked: "test_a_reply_appears_with_its_marker",
    PostsAgain: "test_p3_an_action_that_is_delivered_again_appears_once",
    KnowsByWords: "test_two_actions_with_one_text_both_appear",
    Gullible: "test_two_actions_with_one_text_both_appear",
    OverwritesOthers: "test_actions_at_the_same_time_all_appear",
    Echo: "test_p6_a_reply_is_not_taken_for_feedback",
    SaysYes: "test_what_it_cannot_do_it_refuses_for_good",
    Hopeful: "test_what_it_cannot_do_it_refuses_for_good",
    Raises: "test_every_payload_has_an_answer",
    TrustsTokens: "test_a_token_that_it_does_not_know_is_no_exception",
}


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.__name__)
def test_a_bridge_that_breaks_a_promise_is_found_out(broken: type[WallBridge]) -> None:
    class Contract(BridgeContract):
        def scene(self) -> Scene:
            return WallScene(broken)

    with pytest.raises((AssertionError, IndexError)):
        getattr(Contract(), BREAKS[broken])()


@pytest.mark.parametrize(
    ("broken", "promise", "problem"),
    [
        (NumbersItsPosts, "test_a_reply_appears_with_its_marker", "`remote_id` of Delivered is int, not str or None"),
        (WaitsForSeconds, "test_every_payload_has_an_answer", "`retry_after` of Refused is int, not timedelta or None"),
        (WarnsInOneText, "test_what_is_said_becomes_an_event", "`warnings` of Polled is str, not a list of str"),
        (Silent, "test_what_is_said_becomes_an_event", "NoneType was returned, not Polled"),
        (Generous, "test_what_is_said_becomes_an_event", "its author's `trust` is 'god'; use one of none, read, "),
        (WithoutIds, "test_what_is_said_becomes_an_event", "the event '' cannot be used: its id is empty"),
    ],
)
def test_a_wrong_type_is_named_with_its_field(broken: type[WallBridge], promise: str, problem: str) -> None:
    class Contract(BridgeContract):
        def scene(self) -> Scene:
            return WallScene(broken)

    with pytest.raises(AssertionError, match=re.escape(problem)):
        getattr(Contract(), promise)()


def test_every_promise_is_broken_by_one_of_them() -> None:
    promises = {name for name in vars(BridgeContract) if name.startswith("test_")}

    assert promises == set(BREAKS.values())
