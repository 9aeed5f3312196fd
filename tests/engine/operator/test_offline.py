from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, said

from prloom.api import Author, PluginContext, TriageContext
from prloom.engine.bus.event_store import EventStore
from prloom.engine.operator import offline
from prloom.model import record
from prloom.model.decision import Change, Deferral
from prloom.storage import dispatcher_files
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir


def deferring(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            triage.update_state("looks", lambda looks: (looks or 0) + 1)
            triage.update_global_state(event.id, lambda looks: (looks or 0) + 1)
            triage.mark_event_deferred(event.id, "not now", 60_000)


def ask(stage: Stage, verb: Any, *ids: str, **about: Any) -> str | None:
    """Write a request down and have it carried out."""
    stage.ask(verb, *ids, **about)
    return offline.carry_out(stage.paths, stage.clock)


async def a_deferred_event(stage: Stage, event_id: str = "e", plan_id: str = "pr-7") -> None:
    stage.adopt(plan_id)
    if not stage.hosts:
        stage.plugin("quiet", deferring)
    await stage.take_in(said(event_id), plan_id=plan_id)


async def test_without_a_dispatcher_a_request_is_carried_out_at_once(stage: Stage) -> None:
    await a_deferred_event(stage)

    assert ask(stage, "retry", "e") is None

    assert stage.open()["e"]["state"] == "pending"
    assert stage.decisions()[-1]["note"].startswith("cli-")


async def test_what_was_carried_out_is_not_carried_out_again_by_the_next_dispatcher(stage: Stage) -> None:
    await a_deferred_event(stage)
    ask(stage, "retry", "e")

    await stage.tick()

    assert stage.fate("e") == ["pending", "deferred", "pending", "deferred"]


async def test_what_was_carried_out_is_not_carried_out_again_by_the_next_command(stage: Stage) -> None:
    await a_deferred_event(stage)
    wait = record.from_wire(Deferral, stage.open()["e"]["deferral"])
    ask(stage, "retry", "e")
    with SafeDir.make(stage.local() / "bus") as bus:
        put_off = Change(event_id="e", verdict="deferred", state="deferred", reason="not now", deferral=wait)
        EventStore.open(bus, stage.clock).commit("beforeTriage", "quiet", changes=(put_off,))

    assert ask(stage, "retry", "unknown") is None

    assert stage.fate("e") == ["pending", "deferred", "pending", "deferred"]


async def test_while_a_dispatcher_runs_it_is_left_to_that(stage: Stage) -> None:
    await a_deferred_event(stage)
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        assert ask(stage, "drop", "e", reason="no") == offline.RUNNING
        assert stage.open()["e"]["state"] == "deferred"

    await stage.tick()

    assert "e" not in stage.open()
    assert stage.fate("e")[-1] == "dropped"


@pytest.mark.parametrize("verb", ["pause", "resume"])
async def test_a_request_that_waits_only_for_an_earlier_one_says_so(stage: Stage, verb: str) -> None:
    stage.adopt()
    stage.append(said("e"))
    ask(stage, "drop", "e", reason="no")

    left = ask(stage, verb, "pr-7")

    assert left == "it waits for an earlier request: it names an event that was not taken in yet"
    assert ask(stage, "retry", "e") == "it names an event that was not taken in yet"


async def test_nobody_passes_for_a_dispatcher(stage: Stage) -> None:
    await a_deferred_event(stage)
    with SafeDir.make(stage.root, "prloom", ".local") as local:
        before = dispatcher_files.owner(local)

        ask(stage, "retry", "e")

        assert dispatcher_files.owner(local) == before


async def test_requests_that_were_left_before_are_carried_out_too_and_in_their_order(stage: Stage) -> None:
    await a_deferred_event(stage)
    stage.ask("drop", "e", reason="first")

    assert ask(stage, "retry", "e") is None

    assert stage.fate("e")[-1] == "dropped"


async def test_what_a_killed_dispatcher_left_undone_is_done_first_and_once(stage: Stage) -> None:
    await a_deferred_event(stage)
    await a_deferred_event(stage, "f", "a-plan")
    behind = {plan: (stage.local(plan) / "bus/state/dispatcher.json").read_bytes() for plan in ("pr-7", "a-plan")}
    await stage.tick_after(minutes=2)
    stores = [
        stage.local() / "plugin-state/quiet.json",
        stage.local("a-plan") / "plugin-state/quiet.json",
        stage.root / "prloom/.local/plugin-state-global/quiet.json",
    ]
    sound = [json.loads(path.read_text()) for path in stores]
    for plan, state in behind.items():
        (stage.local(plan) / "bus/state/dispatcher.json").write_bytes(state)
    for path in stores:
        path.unlink()
    rewind(stores[2], sound[2])

    assert ask(stage, "retry", "e") is None

    assert json.loads(stores[2].read_text()) == sound[2]
    assert (sound[2]["e"], sound[2]["f"]) == (2, 2)
    assert stage.open("a-plan")["f"]["deferral"]["attempts"] == 2


def rewind(path: Path, sound: Any) -> None:
    """Put a global store back to before its last two writes, one of each plan."""
    version = sound["$prloom"]["version"]
    path.write_text(json.dumps({"e": 1, "f": 1, "$prloom": {"version": version - 2}}))


async def test_a_plan_that_cannot_be_opened_keeps_the_request_for_later(stage: Stage) -> None:
    await a_deferred_event(stage)
    store = stage.local() / "plugin-state"
    store.rename(store.with_name("elsewhere"))
    store.symlink_to("elsewhere")

    left = ask(stage, "retry", "e")

    assert left is not None
    assert "plugin-state is a symbolic link" in left
    store.unlink()
    store.with_name("elsewhere").rename(store)
    assert offline.carry_out(stage.paths, stage.clock) is None
    assert stage.open()["e"]["state"] == "pending"


async def test_an_event_of_the_repository_as_a_whole_can_be_asked_about_too(stage: Stage) -> None:
    stage.adopt()
    await stage.poll(said("issue", pr=None, author=Author("eve", "none")))

    assert ask(stage, "drop", "issue", reason="no") is None

    state = json.loads((stage.root / "prloom/.local/bus/state/dispatcher.json").read_text())
    assert (state["open"], state["done"]) == ({}, {"dropped": 1})
