"""The harness decides as the dispatcher does."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from prloom.api import (
    Author,
    Comment,
    Event,
    ExtensionError,
    HookContext,
    PluginContext,
    Target,
    ToolContext,
    TriageContext,
)
from prloom.model.kinds import KINDS
from prloom.testing import (
    GOLDEN_EVENTS,
    NOW,
    REPOSITORY,
    Backoff,
    a_comment,
    a_failed_check,
    a_request,
    a_review,
    an_event,
    harness,
)


class Config(BaseModel):
    word: str = "note"


def notes(ctx: PluginContext) -> None:
    """A plugin that does a little of everything, as the words of an event ask for it."""

    @ctx.hook("beforeTriage")
    async def look(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            words = event.body.split()
            if ctx.config.word in words:
                triage.set_global_state("notes", [*triage.get_global_state("notes", []), event.body])
                triage.update_state("count", lambda count: (count or 0) + 1)
                triage.emit_comment(event.reply_to, "Noted.")
                triage.log.info("noted %s", event.id)
                triage.mark_event_handled(event.id, "a note")
            elif "later" in words:
                before = triage.deferral(event.id)
                triage.mark_event_deferred(event.id, f"time {before.attempts + 1 if before else 1}", 60_000)
            elif "boom" in words:
                raise ValueError(event.body)
            elif "agent" in words:
                triage.emit_comment(None, await triage.run_agent("what now?"))

    @ctx.hook("afterDesign")
    def design(plan: str, hook: HookContext) -> str:
        return plan.upper()


# ---- what is shown


def test_a_mark_an_action_and_the_state_are_shown() -> None:
    bench = harness(notes)
    note, other = a_comment("note tabs"), a_comment("hello")

    seen = bench.show(note, other)

    assert (seen.handled, seen.passed) == ((note.id,), (other.id,))
    assert seen[note].reason == "a note"
    assert seen.comments == ("Noted.",)
    assert seen.log == (f"info: noted {note.id}",)
    assert bench.state() == {"count": 1}
    assert bench.global_state == {"notes": ["note tabs"]}


def test_an_action_has_its_derived_id_and_the_event_that_caused_it() -> None:
    note = a_comment("note", id="e1")

    (first,) = harness(notes).show(note).actions
    (again,) = harness(notes).show(note).actions

    assert first == again
    assert first.related_event_id == "e1"
    assert first.id.startswith("a-")


def test_a_reply_without_a_target_goes_to_the_pull_request() -> None:
    bench = harness(notes, agent=lambda prompt: f"re {prompt}")

    (action,) = bench.show(a_comment("agent")).actions

    assert action.payload == Comment("re what now?")
    assert action.target.target == "github"


def test_a_hook_that_no_event_leads_to_can_be_fired() -> None:
    bench = harness(notes)
    bench.write_plan("plan")

    bench.fire("afterDesign")

    assert bench.plan_text() == "PLAN"


# ---- waits


def test_a_wait_is_shown_again_each_time_that_it_is_due_with_its_history() -> None:
    bench = harness(notes)
    later = a_comment("later")
    bench.show(later)

    seen = bench.advance("2m30s")

    assert seen[later].deferral is not None
    assert (seen[later].deferral.attempts, seen[later].reason) == (3, "time 3")
    assert bench.now == NOW + timedelta(seconds=150)
    assert bench.waiting() == (later.id,)


def test_a_wait_ends_at_the_deadline_of_the_operators_backoff() -> None:
    bench = harness(notes, backoff=Backoff(deadline=timedelta(minutes=3)))
    later = a_comment("later")
    bench.show(later)

    assert bench.advance("5m")[later].verdict == "parked"


# ---- failures


def test_what_a_hook_raises_is_raised_by_the_showing_with_its_cause() -> None:
    bench = harness(notes)

    with pytest.raises(ExtensionError, match=r"beforeTriage raised ValueError: boom") as caught:
        bench.show(a_comment("boom"))

    assert isinstance(caught.value.__cause__, ValueError)


def test_nothing_of_a_hook_that_raises_takes_effect_and_its_event_waits() -> None:
    bench = harness(both_then_boom, strict=False)
    event = a_comment("hello")

    seen = bench.show(event)

    assert bench.state() == {}
    assert seen.actions == ()
    assert seen[event].verdict == "deferred"
    assert seen[event].reason == "plugin plugin: beforeTriage raised ValueError: at the end"
    assert [fault.hook for fault in seen.faults] == ["beforeTriage"]


def both_then_boom(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        triage.set_state("seen", value=True)
        triage.emit_comment(None, "hello")
        triage.mark_event_handled(triage.events[0].id)
        raise ValueError("at the end")


def test_an_event_that_fails_in_company_harms_no_other() -> None:
    bench = harness(notes, strict=False)
    note, bad = a_comment("note"), a_comment("boom")

    seen = bench.show(note, bad)

    assert seen.handled == (note.id,)
    assert seen[bad].verdict == "deferred"


def test_the_operator_may_let_failures_pass() -> None:
    bench = harness(notes, strict=False, on_error="pass")
    bad = a_comment("boom")

    assert bench.show(bad).passed == (bad.id,)


def test_a_plugin_that_cannot_be_loaded_says_why_as_the_dispatcher_would(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")

    with pytest.raises(ExtensionError, match=r"^plugin broken could not be loaded: ModuleNotFoundError"):
        harness(tmp_path / "broken.py")


def test_an_agent_that_the_test_does_not_play_is_an_error_that_says_how_to() -> None:
    with pytest.raises(ExtensionError, match="this test has no agent; add one with harness"):
        harness(notes).show(a_comment("agent"))


def test_an_id_comes_once() -> None:
    bench = harness(notes)
    event = a_comment("hello")
    bench.show(event)

    with pytest.raises(ValueError, match="was shown before"):
        bench.show(event)


# ---- settings and commands


def test_prlooms_own_commands_never_reach_a_plugin() -> None:
    event = a_comment("/prloom note")

    seen = harness(notes).show(event)

    assert (seen[event].verdict, seen[event].by, seen.comments) == ("handled", "prloom", ())


def watching(ctx: PluginContext) -> None:
    """Store what is seen, and how."""

    @ctx.hook("onEvent")
    @ctx.hook("onGlobalEvent")
    def see(event: Event, hook: HookContext) -> None:
        events, last = hook.read_events(types=["pr_comment"], limit=5)
        seen = [hook.hook_point, event.type, hook.is_vouched(event.id), len(events), last is not None]
        hook.update_global_state("seen", lambda old: [*(old or []), seen])


def test_observers_see_each_event_first_with_those_before_it() -> None:
    bench = harness(watching)

    bench.show(a_comment("one"))
    bench.show(a_comment("two", author=Author("eve", "read")), a_review("x"))

    assert bench.global_state["seen"] == [
        ["onEvent", "pr_comment", False, 1, True],
        ["onEvent", "pr_comment", True, 2, True],
        ["onEvent", "pr_review", False, 2, True],
    ]


def test_an_event_of_the_whole_repository_is_shown_to_its_own_hook_and_no_agent() -> None:
    bench = harness(watching)

    seen = bench.show(an_event(type="release", pr=None), plan=REPOSITORY)

    assert bench.global_state["seen"] == [["onGlobalEvent", "release", False, 0, True]]
    assert len(seen.handled) == 1


# ---- where it runs


async def test_a_harness_works_where_a_loop_is_running() -> None:
    bench = harness(notes, agent=lambda prompt: "an answer")

    assert bench.show(a_comment("agent")).comments == ("an answer",)


def test_a_plugin_cannot_change_what_the_test_gave_it() -> None:
    def vandal(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def look(plan: str, triage: TriageContext) -> None:
            triage.events[0].context["added"] = 1  # type: ignore[index]

    event = a_comment("x", context={})

    harness(vandal).show(event)

    assert event.context == {}


FILE = """
from prloom.api import PluginContext

def register(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def look(plan, triage):
        triage.log.info("seen %d", len(triage.events))
        for event in triage.events:
            if "boom" in event.body:
                raise ValueError("from the file")
            triage.mark_event_handled(event.id, triage.repo_root.name)
"""


def test_a_fault_names_the_steps_through_the_plugins_code(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(FILE)

    (fault,) = harness(tmp_path / "tiny.py", strict=False).show(a_comment("boom")).faults

    assert fault.frames == ("tiny.py, line 10, in look",)


@pytest.mark.parametrize("name", ["tiny.py", "folder", "folder/__init__.py"])
def test_a_plugin_is_found_at_its_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "tiny.py").write_text(FILE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/__init__.py").write_text(FILE)
    (tmp_path / "folder/plugin.yaml").write_text("description: x\n")

    assert harness(tmp_path / name).registered.hooks == ("beforeTriage",)


@pytest.mark.parametrize(
    ("name", "text"), [("gone", "there is no "), ("empty", "is not a plugin; it needs an __init__.py")]
)
def test_a_path_without_a_plugin_is_an_error_that_says_what_is_missing(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ExtensionError, match=text):
        harness(tmp_path / name)


def test_the_log_is_as_it_was_after_a_showing() -> None:
    log = logging.getLogger("prloom.plugin.plugin")
    before: Any = (log.level, log.propagate, list(log.handlers))

    harness(notes).show(a_comment("note"))

    assert (log.level, log.propagate, list(log.handlers)) == before


def test_others_hear_of_the_plugin_what_they_would_have_heard(caplog: pytest.LogCaptureFixture) -> None:
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def look(plan: str, triage: TriageContext) -> None:
            triage.log.info("by the way")
            triage.log.warning("beware")

    seen = harness(register).show(a_comment())

    assert seen.log == ("info: by the way", "warning: beware")
    assert caplog.messages == ["beware"]


# ---- builders and golden events


def test_an_event_is_by_a_trusted_author_and_its_fields_can_be_given() -> None:
    event = an_event(author="bob", created_at=NOW, body="x", reply_to=None)

    assert event.author == Author("bob", "write")
    assert event.created_at == "2026-11-21T12:00:00.000Z"
    assert event.reply_to is None
    with pytest.raises(TypeError):
        an_event(no_such_field=1)


def test_builders_give_the_shapes_of_their_sources() -> None:
    assert a_request("x", file="a.py", line=3).context == {"plan": "pr-7", "file": "a.py", "line": 3, "side": "RIGHT"}
    assert a_request("x").author is None
    assert a_failed_check("lint", "E501").title == "lint failed"
    assert an_event().reply_to == Target("github", {"pr": 7})


def test_golden_events_cover_every_type() -> None:
    types = {event.type for event in GOLDEN_EVENTS.values()}

    assert types >= KINDS.keys()
    assert not [shape for shape in GOLDEN_EVENTS if shape.startswith("event of the type ")]  # each has one of its own


def test_golden_events_have_ids_of_their_own_and_only_the_edit_ends_another() -> None:
    ids = [event.id for event in GOLDEN_EVENTS.values()]

    seen = harness(watching).show(*GOLDEN_EVENTS.values())

    assert len(set(ids)) == len(ids)
    assert set(seen.fates) == set(ids)
    assert [each for each, fate in seen.fates.items() if fate.verdict == "superseded"] == ["golden:edited"]


WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def counts(ctx: PluginContext) -> None:
    """A plugin with a tool that can be switched off."""

    @ctx.tool("count-letters", WORD, check_fn=lambda: ctx.key != "off")
    def count(word: str, ctx: ToolContext) -> dict[str, object]:
        ctx.update_state("calls", lambda calls: (calls or 0) + 1)
        if word == "bad":
            raise LookupError(word)
        return {"message": f"{word} has {len(word)} letters", "data": {"letters": len(word)}}


def test_a_tool_is_called_as_an_agent_calls_it_and_what_it_stores_is_kept() -> None:
    bench = harness(counts, strict=False)

    result = bench.call_tool("count-letters", {"word": "abc"})

    assert (result.success, result.output, result.data) == (True, "abc has 3 letters", {"letters": 3})
    assert bench.state() == {"calls": 1}
    wrong = bench.call_tool("count-letters", {"word": 3})
    assert wrong.error == "the arguments of count-letters are not valid: word: 3 is not of type 'string'"
    failed = bench.call_tool("count-letters", {"word": "bad"})
    assert "LookupError: bad" in str(failed.error)
    assert bench.state() == {"calls": 1}
    assert harness(counts, name="off").call_tool("count-letters", {"word": "a"}).error == "count-letters unavailable"


def test_a_tool_that_is_not_there_and_a_function_that_fails_are_errors() -> None:
    bench = harness(counts)

    with pytest.raises(ExtensionError, match=r"plugin plugin has no tool 'count'; it has registered: count-letters"):
        bench.call_tool("count", {})
    with pytest.raises(ExtensionError, match="LookupError: bad"):
        bench.call_tool("count-letters", {"word": "bad"})
