"""Plans that plugins and bridges bring: drafts in the inbox."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from stage import ListBridge, Stage, said

from prloom.api import (
    Action,
    BridgeContext,
    InterceptContext,
    PluginContext,
    Polled,
    Target,
    TriageContext,
    UpsertPlan,
)
from prloom.engine.bus import inbox, upserts
from prloom.errors import PrloomError
from prloom.storage.safe_dir import SafeDir

PLAN = "# Make it fast\n\n## TODO\n- [ ] Drop the sleep\n"


def upsert(text: str = PLAN, title: str = "Make it fast", **fields: Any) -> UpsertPlan:
    return UpsertPlan("tracker", title, text, **fields)


def texts(stage: Stage) -> Mapping[str, str]:
    return {file.name: file.read_text() for file in sorted(Path(stage.root, "prloom/.local/inbox").iterdir())}


def emitting(stage: Stage, payload: UpsertPlan, target: str = "inbox") -> None:
    """Have a plugin bring a plan for each event."""

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def bring(plan: str, triage: TriageContext) -> str:
            for event in triage.events:
                triage.emit_action(Action(target=Target(target, {}), payload=payload, related_event_id=event.id))
                triage.mark_event_handled(event.id)
            return plan

    stage.plugin("tracker", register)


async def test_a_plan_that_a_plugin_brings_becomes_a_draft(stage: Stage, pr_7: Path):
    emitting(stage, upsert(metadata={"id": 12}))

    await stage.take_in(said("e1"))

    source = "source: {system: tracker, kind: plan, id: '12'}"
    assert texts(stage) == {"make-it-fast.md": f"---\nstatus: draft\n{source}\n---\n{PLAN}"}
    (delivered,) = [each for decision in stage.decisions() for each in decision.get("deliveries", [])]
    assert (delivered["state"], delivered["remoteId"]) == ("delivered", "make-it-fast")


async def test_a_plan_that_cannot_be_used_fails_visibly(stage: Stage, pr_7: Path):
    emitting(stage, upsert(status="soon"))

    await stage.take_in(said("e1"))

    (failed,) = stage.state()["queue"].values()
    assert failed["error"] == "a plan cannot have the status 'soon'; its action has to say draft or queued"


async def test_a_bridge_that_claims_the_target_gets_the_plan(stage: Stage, pr_7: Path):
    emitting(stage, upsert(), target="forge")

    await stage.take_in(said("e1"))

    assert [action.kind for action in stage.bridge.actions_seen] == ["upsert_plan"]
    assert texts(stage) == {}


def test_a_plan_of_the_same_source_replaces_its_draft_and_keeps_what_was_there(stage: Stage):
    stage.root.mkdir(exist_ok=True)
    upserts.write(stage.paths, upsert())
    again = upserts.write(stage.paths, upsert(PLAN + "- [ ] More\n", status="queued"))
    upserts.write(stage.paths, upsert(PLAN + "- [ ] More\n", status="queued"))

    files = texts(stage)
    assert again == "make-it-fast"
    assert len(files) == 2
    assert files["make-it-fast.md"].startswith("---\nstatus: queued\n")
    assert [PLAN in text and "More" not in text for name, text in files.items() if ".replaced-" in name] == [True]


def test_plans_of_other_sources_have_drafts_of_their_own(stage: Stage):
    stage.root.mkdir(exist_ok=True)
    upserts.write(stage.paths, upsert(metadata={"id": "1"}))
    upserts.write(stage.paths, upsert(metadata={"id": "2"}))

    assert list(texts(stage)) == ["make-it-fast-2.md", "make-it-fast.md"]


def test_a_hidden_plan_waits_out_of_sight_until_it_is_shown(stage: Stage):
    stage.root.mkdir(exist_ok=True)
    upserts.write(stage.paths, upsert(hidden=True))
    assert inbox.every(stage.paths) == ()

    upserts.write(stage.paths, upsert())

    assert [draft.id for draft in inbox.every(stage.paths)] == ["make-it-fast"]
    assert list(texts(stage)) == ["make-it-fast.md"]


def test_a_plan_without_a_heading_gets_its_title_as_text(stage: Stage):
    stage.root.mkdir(exist_ok=True)
    upserts.write(stage.paths, upsert("---\nlabels: [a]\n---\nWords\ud800\n", title="Fast\n## TODO\n- [ ] x"))

    (text,) = texts(stage).values()
    assert "labels: [a]\n" in text
    assert text.endswith("---\n# Fast ## TODO - [ ] x\n\nWords?\n")


def test_a_plan_that_is_at_work_is_not_replaced(stage: Stage):
    local = stage.adopt("fast")
    (local / "plan.md").write_text(
        "---\nsource: {system: tracker, kind: plan, id: Make it fast}\n---\n# Make it fast\n"
    )

    with pytest.raises(
        PrloomError, match="plan fast was made from tracker Make it fast and is at work; change it with"
    ):
        upserts.write(stage.paths, upsert())


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (upsert(title=" "), "a plan needs a source and a title"),
        (upsert("---\nstate: x\n---\n"), "has the unknown key 'state'"),
        (upsert("x" * (inbox.LONGEST + 1)), "more than 1048576 bytes"),
    ],
)
def test_a_plan_that_no_draft_could_hold_is_refused(stage: Stage, payload: UpsertPlan, error: str):
    stage.root.mkdir(exist_ok=True)
    with pytest.raises(PrloomError, match=error):
        upserts.write(stage.paths, payload)
    assert not SafeDir.make(stage.root, "prloom", ".local", "inbox").names()


class TicketBridge(ListBridge):
    """A source whose poll brings plans, once each."""

    def __init__(self, *plans: UpsertPlan) -> None:
        super().__init__()
        self.plans = plans

    async def events(self, ctx: BridgeContext, state: Any) -> Polled:
        return dataclasses.replace(
            await super().events(ctx, None), plans=self.plans[state or 0 :], state=len(self.plans)
        )


async def test_a_plan_that_a_poll_brings_becomes_a_draft_without_any_other_plan(stage: Stage):
    stage.bridges = [TicketBridge(upsert(metadata={"id": 12}))]

    await stage.tick()
    await stage.tick_after(minutes=2)

    source = "source: {system: tracker, kind: plan, id: '12'}"
    assert texts(stage) == {"make-it-fast.md": f"---\nstatus: draft\n{source}\n---\n{PLAN}"}


@pytest.mark.parametrize(
    ("unusable", "why"),
    [
        (upsert(status="merged"), "a plan cannot have the status 'merged'; its action has to say draft or queued"),
        (UpsertPlan("tracker", 5, PLAN), "Expected `str`, got `int` - at `$.title`"),  # type: ignore[arg-type]
    ],
    ids=["status", "type"],
)
async def test_one_that_cannot_be_used_is_a_warning_and_keeps_no_other_back(
    stage: Stage, unusable: UpsertPlan, why: str
):
    stage.bridges = [TicketBridge(unusable, upsert(title="Another"))]

    await stage.tick()

    assert list(texts(stage)) == ["another.md"]
    (told,) = stage.published("bridges")
    assert told["warnings"] == [f"a plan of forge cannot be used: {why}"]


def guarding(stage: Stage, function: Callable[[str, InterceptContext], object]) -> None:
    """Have a plugin look at each plan before it is written."""
    stage.plugin("guard", lambda ctx: ctx.register_hook("beforeUpsert", function))


async def test_a_plugin_changes_a_plan_that_a_poll_brings_before_it_is_written(stage: Stage):
    stage.bridges = [TicketBridge(upsert())]
    guarding(stage, lambda plan, ctx: plan.replace("sleep", "nap"))

    await stage.tick()

    assert "Drop the nap" in texts(stage)["make-it-fast.md"]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (
            lambda plan, ctx: ctx.block("no") if ctx.upsert.title != "Another" else None,
            "plugin guard refuses the plan 'Make it fast': no",
        ),
        (
            lambda plan, ctx: None if ctx.upsert.title == "Another" else 1 / 0,
            "beforeUpsert failed, so the plan is not written",
        ),
    ],
)
async def test_a_plan_of_a_poll_that_a_plugin_refuses_or_fails_on_is_a_warning_and_keeps_no_other_back(
    stage: Stage, function: Callable[[str, InterceptContext], object], why: str
):
    stage.bridges = [TicketBridge(upsert(), upsert(title="Another"))]
    guarding(stage, function)

    await stage.tick()

    assert list(texts(stage)) == ["another.md"]
    (told,) = stage.published("bridges")
    assert why in str(told["warnings"])
