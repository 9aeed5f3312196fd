"""What a daemon's answer to a hook may ask for."""

from __future__ import annotations

import pytest

from prloom.core.plugins import daemon_hooks
from prloom.model.event import Event
from prloom.model.hook import HookCall, Limits, Mark, Outcome, Writes

NOW = "2026-01-01T00:00:00.000Z"


def a_call(hook: str = "beforeTriage", **more: object) -> HookCall:
    event = Event(id="e1", source="s", type="pr_comment")
    return HookCall(hook=hook, plan_id="p", repo_root="/r", worktree="/w", now=NOW, events=(event,), **more)


@pytest.mark.parametrize("milliseconds", [0, 5000, Limits().longest_deferral_ms])
def test_a_mark_of_an_event_of_the_call_is_allowed(milliseconds: int):
    assert daemon_hooks.problem(a_call(), Outcome(marks=(Mark("e1", "deferred", None, milliseconds),))) is None


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (Mark("e2", "handled"), "event 'e2' is not in this batch"),
        (Mark("e1", "deferred", None, -1), "retryAfterMs is -1; use 0 to"),
        (Mark("e1", "deferred", None, 10**15), "retryAfterMs is 1000000000000000"),
        (Mark("e1", "deferred", None, None, "soon"), "until is 'soon'; give an ISO 8601 text"),
        (Mark("e1", "deferred", None, None, NOW), "which is in the past"),
    ],
)
def test_a_mark_that_makes_no_sense_is_named(mark: Mark, said: str):
    assert said in str(daemon_hooks.problem(a_call(), Outcome(marks=(mark,))))


def test_only_before_triage_marks_events():
    assert daemon_hooks.problem(a_call("onEvent"), Outcome(marks=(Mark("e1", "handled"),))) == (
        "marks: only beforeTriage marks events"
    )


def test_a_store_has_a_size():
    outcome = Outcome(writes=(Writes(scope="plan", values={"key": "x" * 20}),))

    assert daemon_hooks.problem(a_call(limits=Limits(state_bytes=30)), outcome) is None
    assert "at most 29 are allowed" in str(daemon_hooks.problem(a_call(limits=Limits(state_bytes=29)), outcome))
