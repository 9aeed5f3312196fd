"""A folder in the place of a file in which a dispatcher only reports something keeps it from no work, and is named."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from stage import Stage, said

from prloom.engine.views import dashboard, doctor, status
from prloom.storage import dispatcher_files, health_file, paths

STATE = f"{paths.BUS}/{paths.BUS_STATE}"
PUBLISHED = [f"{STATE}/{name}" for name in (paths.PLUGINS, paths.BRIDGES, paths.WORK, paths.PLANS)]
FILES = [*PUBLISHED, dispatcher_files.OWNER, health_file.HEALTH]


@pytest.fixture(params=FILES)
def blocked_file(request: pytest.FixtureRequest, stage: Stage) -> Path:
    """A folder in the place of a report file, before a dispatcher starts."""
    stage.adopt()
    stage.append(said("a"))
    path = stage.root.joinpath(*paths.LOCAL, request.param)
    path.mkdir(parents=True)
    return path


def warnings(caplog: pytest.LogCaptureFixture, path: Path) -> list[str]:
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return [each for each in told if f"{path} is a folder" in each]


async def test_one_round_does_its_work_and_names_the_file_once(
    stage: Stage, blocked_file: Path, caplog: pytest.LogCaptureFixture
):
    await stage.tick()

    assert stage.bridge.said == ["re a"]
    assert len(warnings(caplog, blocked_file)) == (blocked_file.name != health_file.HEALTH)  # one round writes none


async def test_a_dispatcher_starts_and_works_and_names_the_file_once(
    stage: Stage, blocked_file: Path, caplog: pytest.LogCaptureFixture
):
    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["re a"])
        stage.append(said("b"))
        await stage.until(lambda: stage.bridge.said == ["re a", "re b"])

    assert len(warnings(caplog, blocked_file)) == 1


def test_status_names_the_file_and_doctor_says_what_to_do(stage: Stage, blocked_file: Path):
    shown = status.read(stage.paths, stage.clock())
    needs = dashboard.read(stage.paths, stage.clock()).needs
    found = [each for each in doctor.findings(stage.paths, stage.clock()) if each.where == str(blocked_file)]

    assert f"{blocked_file} is a folder" in str(shown.dispatcher.trouble)
    assert [(need.kind, need.text, need.commands) for need in needs if need.kind == "dispatcher"] == [
        ("dispatcher", shown.dispatcher.trouble, ("prloom doctor",))
    ]
    assert shown.dispatcher.trouble_since is not None
    assert [each.what for each in found] == [f"{blocked_file} is a folder, and prloom does not use it"]
    assert [each.fix for each in found] == ["find out what created it, move it away, and try again"]
