"""A dispatcher that runs and does not tick."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import click
import pytest
from operator_scene import OperatorScene

from prloom.cli.output import dashboard_text
from prloom.engine.views import dashboard
from prloom.storage import paths


def head(scene: OperatorScene) -> str:
    return click.unstyle("\n".join(dashboard_text.header(dashboard.read(scene.where, scene.now))))


def test_a_dispatcher_that_does_not_tick_needs_a_person_and_is_not_just_called_running(scene: OperatorScene) -> None:
    scene.dispatcher(ticked=scene.ago(seconds=40))

    shown = dashboard.read(scene.where, scene.now)

    assert shown.dispatcher.running
    assert head(scene) == f"dispatcher running, pid {os.getpid()}, but it has not answered for 40 s"
    (need,) = shown.needs
    assert (need.kind, need.age_ms) == ("dispatcher", 40_000)
    assert need.text == f"the dispatcher, process {os.getpid()}, is running, but does not answer"
    assert need.commands == (f"kill {os.getpid()}", f"kill -9 {os.getpid()}", "prloom start")


@pytest.mark.parametrize(("tick", "seconds"), [(1_000, 20), (60_000, 100)])
def test_a_dispatcher_has_the_time_of_two_ticks_and_half_a_minute(
    scene: OperatorScene, tick: int, seconds: int
) -> None:
    scene.report(paths.WORK, {"tickMs": tick})
    scene.dispatcher(ticked=scene.ago(seconds=seconds))

    assert dashboard.read(scene.where, scene.now).needs == ()
    assert f"last tick {seconds // 60 or seconds}" in head(scene)


def test_a_suspended_dispatcher_is_to_be_continued(scene: OperatorScene) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            scene.dispatcher(pid=process.pid, ticked=scene.ago(minutes=2))

            (need,) = dashboard.read(scene.where, scene.now).needs
        finally:
            process.kill()

    assert need.text == f"the dispatcher, process {process.pid}, is suspended and does nothing"
    assert need.remedy == f"let it continue with `kill -CONT {process.pid}`"
    assert need.commands == (f"kill -CONT {process.pid}",)
