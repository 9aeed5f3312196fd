"""The plugins' stores: each write once, in order, and made again from the log where a file is damaged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from faulty_disks import FailingDisk
from stage import Stage, said

from prloom.api import PluginContext, TriageContext
from prloom.engine.bus.plugin_stores import PluginStores
from prloom.errors import StorageError
from prloom.model.decision import Decision, Scope, StateWrite
from prloom.model.state import DispatchState
from prloom.storage.document import CHECK
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path, "stores") as opened:
        yield opened


def none(plugin: str) -> Iterable[StateWrite]:
    return ()


def wrote(version: int, plugin: str = "p", *, scope: Scope = "global", deleted: tuple[str, ...] = ()) -> Decision:
    """Return a decision with one write, whose value is its version."""
    write = StateWrite(plugin=plugin, scope=scope, version=version, values={"v": version}, deleted=deleted)
    return Decision(seq=1, stage="beforeTriage", by=plugin, writes=(write,))


def on_disk(folder: SafeDir, plugin: str = "p") -> dict[str, object]:
    content = folder.read_bytes(f"{plugin}.json")
    assert content is not None
    return {key: value for key, value in json.loads(content).items() if key != CHECK}


def test_a_write_makes_the_version_that_it_names(folder: SafeDir):
    stores = PluginStores(folder, "global", none)

    stores.apply(wrote(1), DispatchState())
    stores.apply(wrote(2), DispatchState())

    assert on_disk(folder) == {"v": 2, "$prloom": {"version": 2}}
    assert stores.next_version("p") == 3


def test_a_write_that_the_file_has_had_is_not_made_again(folder: SafeDir):
    for version in (1, 2):
        PluginStores(folder, "global", none).apply(wrote(version), DispatchState())

    PluginStores(folder, "global", none).apply(wrote(1), DispatchState())

    assert on_disk(folder)["v"] == 2


def test_writes_of_the_other_scope_are_not_this_stores(folder: SafeDir):
    stores = PluginStores(folder, "plan", none)

    stores.apply(wrote(1, scope="global"), DispatchState())

    assert folder.names() == ()


def test_a_write_ahead_of_its_turn_waits_for_those_before_it(folder: SafeDir):
    stores = PluginStores(folder, "global", none)

    stores.apply(wrote(2), DispatchState())
    assert stores.get("p").values == {}
    stores.apply(wrote(1), DispatchState())

    assert stores.get("p").values == {"v": 2}
    assert on_disk(folder)["v"] == 2


def test_a_write_whose_predecessor_is_gone_for_good_is_made_in_the_end(folder: SafeDir):
    stores = PluginStores(folder, "global", none)
    stores.apply(wrote(3), DispatchState())

    stores.settle()

    assert on_disk(folder) == {"v": 3, "$prloom": {"version": 3}}


def test_deleted_keys_are_gone(folder: SafeDir):
    stores = PluginStores(folder, "global", none)
    stores.apply(wrote(1), DispatchState())

    stores.apply(
        Decision(
            seq=2, stage="", by="", writes=(StateWrite(plugin="p", scope="global", version=2, deleted=("v", "never")),)
        ),
        DispatchState(),
    )

    assert on_disk(folder) == {"$prloom": {"version": 2}}


def test_what_could_not_be_written_is_written_when_it_is_applied_again(tmp_path: Path):
    stores = PluginStores(SafeDir.make(tmp_path, "stores", disk=FailingDisk("rename")), "global", none)
    with pytest.raises(StorageError):
        stores.apply(wrote(1), DispatchState())
    assert stores.next_version("p") == 2

    stores.apply(wrote(1), DispatchState())

    assert on_disk(SafeDir.make(tmp_path, "stores"))["v"] == 1


def test_a_plugins_file_that_cannot_be_written_is_no_other_plugins_trouble(folder: SafeDir, tmp_path: Path):
    stores = PluginStores(folder, "global", none)
    (tmp_path / "stores/bad.json").mkdir()
    with pytest.raises(StorageError, match=r"bad\.json is a folder"):
        stores.apply(wrote(1, "bad"), DispatchState())

    stores.apply(wrote(1, "good"), DispatchState())

    assert on_disk(folder, "good")["v"] == 1


def test_a_damaged_file_is_made_again_from_the_log_keep_and_written_at_once(folder: SafeDir, tmp_path: Path):
    (tmp_path / "stores/p.json").write_text('{"v": 1,')
    writes = [wrote(version).writes[0] for version in (2, 1, 3)]

    store = PluginStores(folder, "global", lambda plugin: writes if plugin == "p" else ()).get("p")

    assert (store.version, store.values) == (3, {"v": 3})
    assert on_disk(folder) == {"v": 3, "$prloom": {"version": 3}}
    assert [name for name in folder.names() if name.startswith("p.json.corrupt-")]


def test_a_missing_file_is_a_new_beginning(folder: SafeDir):
    store = PluginStores(folder, "global", lambda plugin: [wrote(1).writes[0]]).get("p")

    assert store.version == 0


# ---- wired


def counting(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def count(plan: str, triage: TriageContext) -> None:
        ids = [event.id for event in triage.events]
        triage.update_state("own", lambda seen: (seen or []) + ids)
        triage.update_global_state("all", lambda seen: (seen or []) + ids)


async def two_plans_that_have_counted(stage: Stage) -> None:
    stage.plugin("counter", counting)
    for number in (1, 2):
        stage.adopt(f"pr-{number}", pr=number)
    for number in (1, 2, 1, 2):
        await stage.poll(said(f"e{len(stage.bridge.news)}", pr=number))


def damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:10])


async def test_a_plans_damaged_plugin_state_is_made_again_from_its_decision_log(stage: Stage):
    await two_plans_that_have_counted(stage)
    damage(stage.local("pr-1") / "plugin-state/counter.json")

    await stage.poll(said("more", pr=1))

    own = json.loads((stage.local("pr-1") / "plugin-state/counter.json").read_text())
    assert own["own"] == ["e0", "e2", "more"]


async def test_the_damaged_state_that_plans_share_is_made_again_from_all_their_decision_logs(stage: Stage):
    await two_plans_that_have_counted(stage)
    shared = stage.root / "prloom/.local/plugin-state-global/counter.json"
    damage(shared)

    await stage.poll(said("more", pr=1))

    assert json.loads(shared.read_text())["all"] == ["e0", "e1", "e2", "e3", "more"]


async def test_state_that_was_taken_away_by_hand_does_not_come_back_with_a_later_rebuild(stage: Stage):
    await two_plans_that_have_counted(stage)
    own = stage.local("pr-1") / "plugin-state/counter.json"
    own.unlink()
    await stage.poll(said("anew", pr=1))
    damage(own)

    await stage.poll(said("more", pr=1))

    assert json.loads(own.read_text())["own"] == ["anew", "more"]


async def test_a_plan_whose_log_cannot_be_read_keeps_no_other_from_a_rebuild(stage: Stage):
    await two_plans_that_have_counted(stage)
    shared = stage.root / "prloom/.local/plugin-state-global/counter.json"
    damage(shared)
    bus = stage.local("pr-2") / "bus"
    bus.rename(stage.local("pr-2") / "elsewhere")
    bus.symlink_to("elsewhere")

    await stage.poll(said("more", pr=1))

    assert json.loads(shared.read_text())["all"] == ["e0", "e1", "e2", "more"]
