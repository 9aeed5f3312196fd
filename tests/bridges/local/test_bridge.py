from __future__ import annotations

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridges.local import LocalBridge, create
from prloom.api import (
    Action,
    BridgeContext,
    Comment,
    Delivered,
    Event,
    ExtensionError,
    InlineComment,
    Json,
    Merge,
    Payload,
    Polled,
    React,
    Refused,
    ResolveThread,
    Review,
    Target,
    TrackedPlan,
    UnsafePathError,
    UpsertPlan,
    marker,
)
from prloom.engine.bus.plan_folder import PlanFolder
from prloom.storage.safe_dir import SafeDir
from prloom.testing.bridge_scene import MemoryFiles

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACTION = "a-0123456789abcdef0123"
REPLIES = Target("local")


class Unsafe(MemoryFiles):
    """A folder in which a pull request has put a link in the file's place."""

    def read_text(self, name: str) -> str | None:
        raise UnsafePathError(f"{name} leads through a symbolic link; remove it")


class SavedMeanwhile(MemoryFiles):
    """A folder in which an editor saves just after the file was read, some times."""

    def __init__(self, text: str, *saves: str) -> None:
        super().__init__(review__md=text)
        self.saves = list(saves)

    def read_text(self, name: str) -> str | None:
        before = self.texts.get(name)
        if self.saves:
            self.texts[name] = self.saves.pop(0)
        return before


class Counted(MemoryFiles):
    """A folder that counts how often a file is read; `settled` says whether its stamps can be relied on."""

    def __init__(self, text: str) -> None:
        super().__init__(review__md=text)
        self.reads = 0
        self.settled = True

    def read_text(self, name: str) -> str | None:
        self.reads += 1
        return super().read_text(name)

    def stamp(self, name: str) -> str | None:
        return super().stamp(name) if self.settled else None


def a_plan(files: MemoryFiles | str, plan_id: str = "pr-7") -> TrackedPlan:
    there = MemoryFiles(review__md=files) if isinstance(files, str) else files
    return TrackedPlan(plan_id, "topic", Path("/repo/tree"), there, 7)


def a_context(*plans: TrackedPlan) -> BridgeContext:
    return BridgeContext(Path("/repo"), plans, NOW, plan=plans[0] if plans else None, log=logging.getLogger("test"))


async def poll(*plans: TrackedPlan, state: Json = None) -> list[Event]:
    return list((await LocalBridge().events(a_context(*plans), state)).events)


async def deliver(plan: TrackedPlan, target: Target | None, payload: Payload, *others: TrackedPlan) -> object:
    action = Action(id=ACTION, target=target or REPLIES, payload=payload)
    return await LocalBridge().actions(a_context(plan, *others), action)


def the_file(plan: TrackedPlan) -> str:
    return plan.files.read_text("review.md") or ""


# ---- what comes in


async def test_an_item_becomes_an_event_that_speaks_for_the_operator() -> None:
    plan = a_plan("## ready\n- [ ] Rename it\n  everywhere\n  file: a.py\n  line: 3\n  side: LEFT\n")

    (event,) = await poll(plan)

    item = event.id.removeprefix("local:")
    assert event == Event(
        id=f"local:{item}",
        source="local",
        type="review_feedback",
        title="Rename it",
        body="Rename it\neverywhere",
        reply_to=Target("local", {"plan": "pr-7", "item": item}),
        context={"plan": "pr-7", "file": "a.py", "line": 3, "side": "LEFT"},
        created_at="2026-11-21T12:00:00.000Z",
    )


async def test_a_long_first_line_is_shortened_in_the_title_only() -> None:
    (event,) = await poll(a_plan(f"## ready\n- [ ] {'word ' * 100}\n"))

    assert len(event.title) <= 80
    assert event.title.endswith("…")
    assert event.body.count("word") == 100


async def test_a_missing_file_is_nothing_to_read() -> None:
    assert await poll(a_plan(MemoryFiles())) == []


async def test_a_file_is_read_again_when_it_has_changed_or_what_was_asked_is_not_known() -> None:
    files = Counted("## ready\n- [ ] one\n")
    plan, bridge = a_plan(files), LocalBridge()
    polled = await bridge.events(a_context(plan), None)
    assert len(polled.events) == 1

    for _ in range(3):
        polled = await bridge.events(a_context(plan), json.loads(json.dumps(polled.state)))
    assert (polled.events, files.reads) == ([], 1)

    files.replace_text("review.md", "## ready\n- [ ] one\n- [ ] two\n")
    polled = await bridge.events(a_context(plan), polled.state)
    assert ([event.body for event in polled.events], files.reads) == (["two"], 2)

    lost = await bridge.events(a_context(plan), None)
    assert ([event.body for event in lost.events], files.reads) == (["one", "two"], 3)


async def test_a_file_that_was_just_changed_is_read_until_its_stamp_can_be_relied_on() -> None:
    files = Counted("## ready\n- [ ] one\n")
    plan, bridge = a_plan(files), LocalBridge()
    files.settled = False
    polled = await bridge.events(a_context(plan), None)
    polled = await bridge.events(a_context(plan), polled.state)
    assert files.reads == 2

    files.settled = True
    for _ in range(2):
        polled = await bridge.events(a_context(plan), polled.state)
    assert files.reads == 3


async def test_equal_items_of_two_plans_are_two_events() -> None:
    text = "## ready\n- [ ] one\n"

    one, two = await poll(a_plan(text), a_plan(text, "pr-8"))

    assert one.id != two.id
    assert (one.context["plan"], two.context["plan"]) == ("pr-7", "pr-8")


async def test_an_edit_supersedes_what_it_was_before() -> None:
    plan = a_plan("## ready\n- [ ] Renam\n")
    first = await LocalBridge().events(a_context(plan), None)
    plan.files.replace_text("review.md", "## ready\n- [ ] Rename it\n")

    (edit,) = await poll(plan, state=first.state)

    assert edit.supersedes == first.events[0].id


async def test_a_file_that_cannot_be_read_keeps_no_other_from_being_read(caplog: pytest.LogCaptureFixture) -> None:
    good, bad = a_plan("## ready\n- [ ] one\n", "pr-8"), a_plan(Unsafe())
    bridge = LocalBridge()

    with caplog.at_level(logging.INFO):
        first = await bridge.events(a_context(bad, good), None)
        second = await bridge.events(a_context(bad, good), first.state)
        third = await bridge.events(a_context(a_plan(""), good), second.state)

    assert [event.body for event in first.events] == ["one"]
    assert first.state["troubles"] == {"pr-7": "review.md leads through a symbolic link; remove it"}
    assert third.state["troubles"] == {}
    assert [each.getMessage() for each in caplog.records] == [
        "plan pr-7: its review.md cannot be read: review.md leads through a symbolic link; remove it",
        "plan pr-7: its review.md can be read again",
    ]


@pytest.mark.parametrize("is_away", [True, False])
async def test_what_was_asked_is_remembered_while_a_worktree_is_away_or_its_file_cannot_be_read(
    *, is_away: bool
) -> None:
    plan = replace(a_plan("## ready\n- [ ] one\n"), adopted="2026-11-21T12:00:00.000Z")
    first = await LocalBridge().events(a_context(plan), None)
    meanwhile = a_context() if is_away else a_context(replace(plan, files=Unsafe()))
    away = await LocalBridge().events(meanwhile, first.state)

    assert await poll(plan, state=away.state) == []


async def test_nothing_is_remembered_of_a_plan_that_was_given_up_and_made_anew() -> None:
    plan = replace(a_plan("## ready\n- [ ] one\n"), adopted="2026-11-21T12:00:00.000Z")
    first = await LocalBridge().events(a_context(plan), None)
    away = await LocalBridge().events(a_context(), first.state)

    again = await poll(replace(plan, adopted="2026-11-21T13:00:00.000Z"), state=away.state)

    assert [event.body for event in again] == ["one"]


async def test_the_cursor_keeps_the_fifty_plans_that_were_there_last() -> None:
    state: Json = None
    for number in range(60):
        plan = replace(a_plan("", f"pr-{number}"), adopted=f"2026-11-21T12:00:{number:02}.000Z")
        state = (await LocalBridge().events(a_context(plan), state)).state

    assert isinstance(state, dict)
    assert list(state["asked"]) == [f"pr-{number}" for number in range(59, 8, -1)]
    assert set(state["adopted"]) == set(state["asked"])


async def test_an_item_is_new_whose_event_of_the_same_words_has_ended() -> None:
    plan = a_plan("## ready\n- [ ] one\n")
    (event,) = await poll(plan)

    (again,) = await poll(replace(plan, has_ended={event.id}.__contains__))

    assert again.id == f"{event.id}-1"


@pytest.mark.parametrize("state", [7, "x", [], {"asked": 3}, {"asked": {"pr-7": {"x": 1}}, "troubles": []}])
async def test_a_cursor_that_is_not_ours_begins_anew(state: Json) -> None:
    assert len(await poll(a_plan("## ready\n- [ ] one\n"), state=state)) == 1


# ---- what goes out


async def test_a_reply_is_written_beneath_its_item_whatever_was_edited_around_it() -> None:
    plan = a_plan("## ready\n- [ ] one\n")
    (event,) = await poll(plan)
    plan.files.replace_text("review.md", "# New title\n\n## ready\n- [ ] zero\n- [ ] one\n- [ ] two\n")

    assert await deliver(plan, event.reply_to, Comment("Done.")) == Delivered()

    assert the_file(plan) == (
        f"# New title\n\n## ready\n- [ ] zero\n- [ ] one\n  > {marker(ACTION)}\n  > Done.\n- [ ] two\n"
    )


@pytest.mark.parametrize("token", [None, {"section": "replies"}, {"plan": "pr-7", "section": "replies"}])
async def test_a_reply_without_an_item_goes_under_replies(token: Json) -> None:
    plan = a_plan(MemoryFiles())

    assert await deliver(plan, Target("local", token), Comment("Hello.")) == Delivered()

    assert the_file(plan) == f"## replies\n\n> {marker(ACTION)}\n> Hello.\n\n## ready\n\n"


async def test_so_does_the_reply_to_an_item_that_was_taken_out() -> None:
    plan = a_plan("## ready\n- [ ] one\n")
    (event,) = await poll(plan)
    plan.files.replace_text("review.md", "## ready\n")

    await deliver(plan, event.reply_to, Comment("Done."))

    assert the_file(plan) == f"## replies\n\n> {marker(ACTION)}\n> Done.\n\n## ready\n"


async def test_the_box_is_checked_when_the_request_is_done() -> None:
    plan = a_plan("## ready\n- [ ] one\n- [ ] two\n")
    one, _ = await poll(plan)

    assert await deliver(plan, one.reply_to, ResolveThread()) == Delivered()
    assert await deliver(plan, one.reply_to, ResolveThread()) == Delivered()

    assert the_file(plan) == "## ready\n- [x] one\n- [ ] two\n"


async def test_where_the_item_was_taken_out_there_is_no_box_to_check() -> None:
    plan = a_plan("## ready\n- [ ] one\n")
    (event,) = await poll(plan)
    plan.files.replace_text("review.md", "## ready\n")

    assert await deliver(plan, event.reply_to, ResolveThread()) == Delivered()
    assert the_file(plan) == "## ready\n"


async def test_without_an_item_there_is_nothing_to_resolve() -> None:
    result = await deliver(a_plan(""), None, ResolveThread())

    assert result == Refused("there is no item whose box could be checked; resolve_thread needs an event's reply_to")


@pytest.mark.parametrize(
    ("payload", "written"),
    [
        (InlineComment("a.py", 3, "Why?"), "> `a.py:3`: Why?\n"),
        (React("+1"), "> 👍\n"),
        (React("shrug"), "> shrug\n"),
        (Review("approve"), "> Approved.\n"),
        (
            Review("request_changes", "Two things.", ({"path": "a.py", "line": 3, "message": "x\ny"}, {"body": "z"})),
            "> Changes requested.\n>\n> Two things.\n>\n> - `a.py:3`: x\n>   y\n> - z\n",
        ),
    ],
)
async def test_what_can_be_said_in_words_is_written(payload: Payload, written: str) -> None:
    plan = a_plan("")

    assert await deliver(plan, None, payload) == Delivered()
    assert f"{marker(ACTION)}\n{written}\n## ready\n" in the_file(plan)


@pytest.mark.parametrize(("payload", "kind"), [(Merge(), "merge"), (UpsertPlan("s", "t", "# p"), "upsert_plan")])
async def test_what_takes_a_forge_is_refused(payload: Payload, kind: str) -> None:
    plan = a_plan("")

    result = await deliver(plan, None, payload)

    assert result == Refused(f"a local review file does not support {kind}; this needs a pull request on a forge")
    assert the_file(plan) == ""


@pytest.mark.parametrize("payload", [Comment(" \n"), Review("comment")])
async def test_an_empty_message_is_refused(payload: Payload) -> None:
    assert await deliver(a_plan(""), None, payload) == Refused("the message is empty, so there is nothing to write")


@pytest.mark.parametrize("token", [7, "x", [], {}, {"item": "x"}, {"plan": 3, "item": "x"}, {"section": "ready"}])
async def test_a_token_that_names_nothing_is_refused(token: Json) -> None:
    result = await deliver(a_plan(""), Target("local", token), Comment("hello"))

    assert result == Refused(
        "the target's token does not name an item; use the event's reply_to, or None for `## replies`"
    )


async def test_a_reply_goes_to_the_plan_that_its_token_names() -> None:
    here, there = a_plan(""), a_plan("## ready\n- [ ] one\n", "pr-8")
    (event,) = await poll(there)

    assert await deliver(here, event.reply_to, Comment("Done."), there) == Delivered()
    assert (the_file(here), "> Done." in the_file(there)) == ("", True)


async def test_a_reply_to_a_plan_that_is_gone_is_refused() -> None:
    result = await deliver(a_plan(""), Target("local", {"plan": "pr-9", "item": "x"}), Comment("hello"))

    assert result == Refused("there is no plan 'pr-9' any more")


async def test_an_action_of_no_plan_is_refused() -> None:
    action = Action(id=ACTION, target=REPLIES, payload=Comment("hello"))

    result = await LocalBridge().actions(a_context(), action)

    assert result == Refused("the action does not belong to a plan, so there is no review.md")


async def test_an_unsafe_file_refuses_the_action() -> None:
    assert await deliver(a_plan(Unsafe()), None, Comment("hello")) == Refused(
        "review.md leads through a symbolic link; remove it"
    )


async def test_a_file_that_is_not_utf_8_is_not_damaged(tmp_path: Path) -> None:
    (tmp_path / "review.md").write_bytes(b"## ready\n- [ ] gr\xfc\xdfe\n")
    with SafeDir.make(tmp_path) as folder:
        plan = TrackedPlan("pr-7", "topic", tmp_path, PlanFolder(folder))

        result = await deliver(plan, None, Comment("hello"))

    assert result == Refused("review.md is not UTF-8, and writing to it would damage it; save it as UTF-8")
    assert (tmp_path / "review.md").read_bytes() == b"## ready\n- [ ] gr\xfc\xdfe\n"


async def test_windows_line_ends_survive_a_reply_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "review.md").write_bytes(b"## ready\r\n- [ ] one\r\n")
    with SafeDir.make(tmp_path) as folder:
        plan = TrackedPlan("pr-7", "topic", tmp_path, PlanFolder(folder))
        (event,) = await poll(plan)

        await deliver(plan, event.reply_to, Comment("Done."))

    assert (tmp_path / "review.md").read_bytes() == (
        f"## ready\r\n- [ ] one\r\n  > {marker(ACTION)}\r\n  > Done.\r\n".encode()
    )


async def test_what_an_editor_saved_meanwhile_is_kept() -> None:
    files = SavedMeanwhile("## ready\n- [ ] one\n", "## ready\n- [ ] one\n- [ ] two\n")
    plan = a_plan(files)

    assert await deliver(plan, REPLIES, Comment("Hello.")) == Delivered()
    assert the_file(plan).startswith("## replies\n")
    assert the_file(plan).endswith("## ready\n- [ ] one\n- [ ] two\n")


async def test_a_file_that_never_rests_is_tried_again_later() -> None:
    files = SavedMeanwhile("0", *(str(number) for number in range(1, 20)))

    result = await deliver(a_plan(files), REPLIES, Comment("Hello."))

    assert result == Refused("review.md is being written by another program", retryable=True)


async def test_a_block_that_never_ends_is_waited_for() -> None:
    plan = a_plan("- [ ] one\n\n```\n\n- [ ] two\n")

    assert await deliver(plan, REPLIES, Comment("Hello.")) == Refused(
        "review.md has a block of code or a comment that begins in line 3 and never ends; close it", retryable=True
    )


def test_the_bridge_has_no_settings() -> None:
    assert create({}).targets == ("local",)
    with pytest.raises(ExtensionError, match=r"\[bridges.local\] has no setting 'file'; remove it"):
        create({"file": "x"})


async def test_the_cursor_does_not_change_where_nothing_does() -> None:
    plan = a_plan("## ready\n- [ ] one\n- [x] two\n")
    first = await LocalBridge().events(a_context(plan), None)
    second = await LocalBridge().events(a_context(plan), json.loads(json.dumps(first.state)))

    assert second.state == first.state


# ---- many actions at once


class Written(Counted):
    """A folder that also counts how often a file is written."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.writes = 0

    def replace_text(self, name: str, text: str) -> None:
        self.writes += 1
        super().replace_text(name, text)


def an_action_for(number: int, target: Target, payload: Payload) -> Action:
    return Action(id=f"a-{number:020}", target=target, payload=payload)


async def many_actions(plan: TrackedPlan) -> list[Action]:
    """Return replies to each item and to none, twice, with checks in between."""
    asked_for = [event.reply_to for event in await poll(plan)]
    found: list[Action] = []
    for turn in ("first", "second"):
        for target in (*asked_for, REPLIES):
            assert target is not None
            found.append(an_action_for(len(found), target, Comment(f"{turn}\nreply")))
        found.append(an_action_for(len(found), REPLIES, Merge("merge")))
        found += [an_action_for(len(found) + index, target, ResolveThread()) for index, target in enumerate(asked_for)]
    return found


@pytest.mark.parametrize(
    "text",
    [
        "## ready\n- [ ] one\n- [ ] two",
        "## ready\n\n- [ ] one\n\n  more\n- [ ] two\n\n\n",
        "## replies\n\n> before\n\n## ready\n- [ ] one\n- [ ] two\n",
        "## ready\r\n- [ ] one\r\n  - [ ] two\r\n## replies\r\ntext\r\n### more",
        "",
    ],
)
async def test_actions_that_are_written_together_leave_the_file_as_if_they_were_written_one_by_one(text: str) -> None:
    together, alone = a_plan(text), a_plan(text)
    actions = await many_actions(together)

    results = await LocalBridge().deliver_batch(a_context(together), actions)

    assert results == [await LocalBridge().actions(a_context(alone), action) for action in actions]
    assert together.files.read_text("review.md") == alone.files.read_text("review.md")


async def test_of_actions_that_are_written_together_only_those_are_refused_that_cannot_be_written() -> None:
    plan = a_plan("- [ ] one\n## notes\n```\nnever closed\n")
    (event,) = await poll(plan)
    assert event.reply_to is not None
    targets = (event.reply_to, REPLIES, Target("elsewhere"))
    actions = [an_action_for(number, target, Comment("Hello.")) for number, target in enumerate(targets)]

    results = await LocalBridge().deliver_batch(a_context(plan), actions)

    assert [type(result) for result in results] == [Delivered, Refused, Refused]
    assert (plan.files.read_text("review.md") or "").count("> Hello.") == 1


async def test_a_thousand_replies_cost_one_write_of_the_file() -> None:
    files = Written("## ready\n" + "".join(f"- [ ] item {number}\n" for number in range(1000)))
    plan = a_plan(files)
    targets = [event.reply_to for event in await poll(plan)]
    actions = [an_action_for(i, target, Comment("Done.")) for i, target in enumerate(targets) if target is not None]
    files.reads = 0

    results = await LocalBridge().deliver_batch(a_context(plan), actions)

    assert results == [Delivered()] * 1000
    assert (files.reads, files.writes) == (2, 1)


async def test_replies_that_are_in_the_file_already_are_not_written_again() -> None:
    files = Written("## ready\n- [ ] one\n")
    plan = a_plan(files)
    actions = await many_actions(plan)
    before = await LocalBridge().deliver_batch(a_context(plan), actions)
    text = files.texts["review.md"]

    assert await LocalBridge().deliver_batch(a_context(plan), actions) == before
    assert (files.texts["review.md"], files.writes) == (text, 1)


# ---- what is said of the file


async def test_what_is_ignored_or_unreadable_is_reported_as_long_as_it_is_so() -> None:
    plan, bridge = a_plan("- [] one\n"), LocalBridge()
    first = await bridge.events(a_context(plan), None)
    second = await bridge.events(a_context(plan), first.state)
    third = await bridge.events(a_context(replace(plan, files=Unsafe())), second.state)
    plan.files.replace_text("review.md", "- [ ] one\n")
    last = await bridge.events(a_context(plan), third.state)

    told = "plan pr-7: line 1 of review.md is ignored: an item begins with `- [ ] `"
    assert [list(each.warnings) for each in (first, second, last)] == [[told], [told], []]
    assert [each.partition(": ")[2].partition(": ")[0] for each in third.warnings] == ["its review.md cannot be read"]
    assert len(last.events) == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("- [ ] one\n".encode("utf-16"), 1),
        (b"text\n" + "- [ ] one\n".encode("utf-16-le"), 2),
        ("- [ ] gr\u00f6\u00dfer\n".encode("latin-1"), 1),
    ],
)
async def test_a_file_that_is_not_utf_8_is_reported_as_such(content: bytes, line: int) -> None:
    plan = a_plan(content.decode("utf-8", "replace"))

    polled = await LocalBridge().events(a_context(plan), None)

    problem = f"review.md is not UTF-8 from line {line} on, so items in it may be missing; save it as UTF-8"
    assert list(polled.warnings) == [f"plan pr-7: {problem}"]


# ---- a last line without an end


async def polled_at(bridge: LocalBridge, plan: TrackedPlan, state: Json, seconds: float) -> Polled:
    context = replace(a_context(plan), now=NOW + timedelta(seconds=seconds), polled_again=True)
    return await bridge.events(context, state)


async def test_a_last_line_without_an_end_is_read_when_its_writer_has_gone_on() -> None:
    plan, bridge = a_plan("- [ ] Delete all tests"), LocalBridge()
    first = await polled_at(bridge, plan, None, 0)
    second = await polled_at(bridge, plan, first.state, 6)
    plan.files.replace_text("review.md", "- [ ] Delete all tests that fail for more than a year.\n")
    third = await polled_at(bridge, plan, second.state, 8)

    assert [list(each.events) for each in (first, second)] == [[], []]
    assert [event.body for event in third.events] == ["Delete all tests that fail for more than a year."]


async def test_it_is_read_once_the_file_has_stayed_the_same_for_ten_seconds() -> None:
    plan, bridge = a_plan("- [ ] Delete"), LocalBridge()
    first = await polled_at(bridge, plan, None, 0)
    plan.files.replace_text("review.md", "- [ ] Delete the file")
    second = await polled_at(bridge, plan, first.state, 9)
    third = await polled_at(bridge, plan, second.state, 18)
    last = await polled_at(bridge, plan, third.state, 19)
    after = await polled_at(bridge, plan, last.state, 21)

    assert [len(each.events) for each in (first, second, third, last, after)] == [0, 0, 0, 1, 0]


async def test_a_file_that_changes_again_and_again_is_read_after_a_minute() -> None:
    plan, bridge = a_plan("- [ ] one"), LocalBridge()
    polled = await polled_at(bridge, plan, None, 0)
    for second in range(9, 60, 9):
        plan.files.replace_text("review.md", f"- [ ] one\n- [ ] two {second}")
        polled = await polled_at(bridge, plan, polled.state, second)
        assert not polled.events
    plan.files.replace_text("review.md", "- [ ] one\n- [ ] two\n- [ ] three")

    assert len((await polled_at(bridge, plan, polled.state, 60)).events) == 3


async def test_a_clock_that_is_turned_back_does_not_keep_it_from_being_read() -> None:
    plan, bridge = a_plan("- [ ] one"), LocalBridge()
    first = await polled_at(bridge, plan, None, 0)

    assert len((await polled_at(bridge, plan, first.state, -3600)).events) == 1


async def test_where_no_other_poll_follows_it_is_read_at_once() -> None:
    plan = a_plan("- [ ] Delete all tests")

    assert len(await poll(plan)) == 1
