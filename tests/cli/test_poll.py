from __future__ import annotations

import json

from command_line import Prloom
from stage import Stage

from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir


def test_a_running_dispatcher_is_asked(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        ran = prloom("poll", "7")

    assert (ran.code, ran.out) == (0, "Asked the running dispatcher to poll now.\n")
    (line,) = (stage.root / "prloom/.local/control.jsonl").read_text().splitlines()
    assert json.loads(line)["data"]["type"] == "poll"
    assert json.loads(line)["data"]["context"]["ids"] == ["pr-7"]


def test_without_one_it_says_when_the_next_poll_is_and_writes_nothing(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()

    assert prloom("poll").out == (
        "No dispatcher is running; to poll, run `prloom start`, or `prloom start --once` for one round.\n"
    )
    assert not (stage.root / "prloom/.local/control.jsonl").exists()
