from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from stage import Stage, said

from prloom.engine.views import doctor, runtime_status
from prloom.engine.views.doctor import Finding
from prloom.errors import PrloomError
from prloom.model.activity import ActivityEvent
from prloom.storage import activity_file, paths
from prloom.storage.activity_file import StoredActivity
from prloom.storage.dispatcher_files import OWNER, DispatcherLock
from prloom.storage.safe_dir import SafeDir


def found(stage: Stage) -> tuple[Finding, ...]:
    return tuple(doctor.findings(stage.paths, stage.clock()))


async def a_sound_stage(stage: Stage) -> Path:
    local = stage.adopt()
    await stage.take_in(said("e"))
    return local


async def test_the_activity_of_a_plan_is_known_and_a_line_that_is_none_is_named(stage: Stage) -> None:
    local = await a_sound_stage(stage)
    event = ActivityEvent(id="a-1", seq=1, type="TODO_UPDATE", plan_id="pr-7", timestamp=1, data={})
    line = activity_file.encode(StoredActivity(event), "2026-11-22T10:00:00Z")
    (local / activity_file.NAME).write_bytes(line)
    assert found(stage) == ()

    (local / activity_file.NAME).write_bytes(line.replace(b'"TODO_UPDATE"', b"7"))
    assert [finding.what.partition(":")[0] for finding in found(stage)] == ["it is not a valid activity"]


def test_a_repository_where_nothing_was_ever_done_has_no_findings(stage: Stage) -> None:
    assert found(stage) == ()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("nonsense", "JSON is malformed: "),
        ('{"kind": "event"}', "it is not an envelope with ts, kind, schemaVersion and data: "),
        ('{"kind": "note", "data": {}}', "its kind is note, not one of event, decision, action"),
        ('{"kind": "event", "data": {"id": ""}}', "it is not a valid event: Expected `str` of length >= 1 - at `$.id`"),
        (
            '{"kind": "decision", "data": {"seq": 1}}',
            "it is not a valid decision: Object missing required field `stage`",
        ),
        ('{"kind": "event", "schemaVersion": 9, "data": {}}', "its schemaVersion is 9, and this prloom knows 1"),
    ],
)
async def test_a_damaged_line_is_named_with_its_file_its_number_and_its_fix(stage: Stage, line: str, what: str) -> None:
    journal = await a_sound_stage(stage) / "bus/events.jsonl"
    with journal.open("a") as file:
        file.write(f"{line}\n")

    (finding,) = found(stage)

    assert finding.severity == "error"
    assert finding.what.startswith(what)
    assert finding.where == f"{journal}, line 2"
    assert finding.fix


async def test_a_torn_last_line_and_files_that_were_keep_are_only_warnings(stage: Stage) -> None:
    local = await a_sound_stage(stage)
    with (local / "bus/decisions.jsonl").open("a") as file:
        file.write('{"torn')
    (local / "bus/state/dispatcher.json.corrupt-20260101T120000Z").write_text("{")

    assert [(finding.severity, finding.what) for finding in found(stage)] == [
        ("warning", "the last line is unfinished"),
        ("warning", "a state file that could not be read was set aside here"),
    ]


def damaged_state(local: Path) -> None:
    (local / "state.json").write_text("{")


def linked_state(local: Path) -> None:
    (local / "state.json").rename(local / "elsewhere")
    (local / "state.json").symlink_to("elsewhere")


def linked_folder(local: Path) -> None:
    (local / "bus").rename(local / "elsewhere")
    (local / "bus").symlink_to("elsewhere")


def piped_journal(local: Path) -> None:
    (local / "bus/actions.jsonl").unlink()
    os.mkfifo(local / "bus/actions.jsonl")


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (damaged_state, "state.json cannot be read"),
        (linked_state, "state.json is a symbolic link"),
        (linked_folder, "bus is a symbolic link"),
        (piped_journal, "actions.jsonl is a pipe"),
    ],
)
async def test_what_stands_in_the_place_of_prlooms_files_is_an_error(
    stage: Stage, harm: Callable[[Path], None], what: str
) -> None:
    harm(await a_sound_stage(stage))

    findings = found(stage)

    assert any(what in finding.what for finding in findings)
    assert all(finding.fix for finding in findings)
    assert "error" in {finding.severity for finding in findings} or what.endswith("pipe")


async def test_a_damaged_plan_hides_no_other_plans_findings(stage: Stage) -> None:
    damaged_state(await a_sound_stage(stage))
    damaged_state(stage.adopt("other", pr=8))

    assert sorted(finding.where for finding in found(stage)) == ["plan other", "plan pr-7"]


async def test_a_linked_folder_of_the_repositorys_own_is_an_error(stage: Stage) -> None:
    await a_sound_stage(stage)
    linked_folder(stage.root / "prloom/.local")

    assert any("prloom/.local/bus is a symbolic link" in finding.what for finding in found(stage))


async def test_what_a_killed_writer_left_anywhere_is_named_once_it_is_old(stage: Stage) -> None:
    local = await a_sound_stage(stage)
    (local / "runs/20260101-triage").mkdir(parents=True)
    left = (
        local / "bus/state/.dispatcher.json.0123456789ab.tmp",
        local / "runs/20260101-triage/.result.json.01234567.tmp",
        stage.root / ".prloom.toml.0123456789ab.tmp",
    )

    def left_since(seconds: float) -> None:
        at = stage.clock().timestamp() - seconds
        for leftover in (*left, stage.root / ".somebody-elses.tmp"):
            leftover.touch()
            os.utime(leftover, (at, at))

    left_since(60)
    assert found(stage) == ()
    left_since(7200)

    assert {(finding.severity, finding.where) for finding in found(stage)} == {("warning", str(each)) for each in left}


async def test_a_dispatcher_that_lives_but_does_not_tick_is_an_error(stage: Stage) -> None:
    stage.adopt()
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        now = stage.clock().timestamp()
        os.utime(Path(local.path) / OWNER, (now, now))
        assert found(stage) == ()
        stage.clock.now += runtime_status.SILENT + timedelta(seconds=1)

        (finding,) = found(stage)

    assert finding.what == f"the dispatcher, process {os.getpid()}, is running, but does not answer"
    assert finding.fix.startswith(f"end it with `kill {os.getpid()}`")


async def test_a_lock_file_that_a_running_dispatcher_has_lost_is_a_warning(stage: Stage) -> None:
    stage.adopt()
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        local.remove(paths.LOCK)

        (finding,) = found(stage)

        assert finding.severity == "warning"
        assert finding.where == local.where(paths.LOCK)
        assert finding.what == f"the running dispatcher, process {os.getpid()}, has no lock file: somebody removed it"
        assert (
            finding.fix == "leave it: the dispatcher makes the file again at its next tick, and nobody need remove it"
        )


async def test_what_the_dispatcher_could_not_use_when_it_last_ran_is_named(stage: Stage) -> None:
    def down() -> None:
        raise OSError("the source is down")

    stage.adopt(preset="careful")
    stage.bridge.fail = down
    await stage.tick()
    state = stage.root / "prloom/.local/bus/state/plugins.json"
    state.write_text('{"plugins": [{"name": "mine", "error": "it raised"}, {"name": "fine"}]}')
    again = "correct that; the next `prloom start` tries again"

    assert [(finding.where, finding.what, finding.fix) for finding in found(stage)] == [
        ("plugin mine", "it raised", f"{again}, or `prloom plugins disable mine`"),
        ("bridge forge", "OSError: the source is down", f"{again}, or set enabled = false in [bridges.forge]"),
        ("plan pr-7", "plan pr-7: no preset careful is configured", "add [presets.careful] to prloom.toml"),
    ]


async def test_a_restart_is_recommended_only_for_what_a_running_dispatcher_could_not_load(stage: Stage) -> None:
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    polled = {"name": "polled", "lastPollAt": "2026-01-01T12:00:00.000Z", "error": "the source is down"}
    unloaded = {**polled, "name": "unloaded", "loaded": False}
    (state / "bridges.json").write_text(json.dumps({"bridges": [polled, unloaded]}))
    off = {"name": "off", "loaded": True, "error": "switched off until 2026-01-01T12:05:00.000Z"}
    (state / "plugins.json").write_text(json.dumps({"plugins": [off, {"name": "broken", "error": "it raised"}]}))

    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        fixes = {finding.where: finding.fix.partition(", or ")[0] for finding in found(stage)}

    assert fixes == {
        "bridge polled": "correct that; prloom tries again by itself",
        "bridge unloaded": "correct that and restart prloom",
        "plugin off": "correct that; prloom tries again by itself",
        "plugin broken": "correct that and restart prloom",
    }


def test_a_check_that_cannot_be_made_is_a_finding_for_each_of_its_lines() -> None:
    def check() -> tuple[Finding, ...]:
        raise PrloomError("prloom.toml: this is wrong; mend it\nthat too")

    assert doctor.guarded(check, "here") == (
        Finding(severity="error", what="prloom.toml: this is wrong", where="here", fix="mend it"),
        Finding(severity="error", what="that too", where="here", fix="correct that, and run `prloom doctor` again"),
    )
