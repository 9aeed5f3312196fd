from __future__ import annotations

import pytest
from stage import Stage, said

from prloom.engine.operator import emit
from prloom.errors import PrloomError


def test_all_are_appended_or_none(stage: Stage) -> None:
    local = stage.adopt()
    emit.append(stage.paths, "pr-7", [said("b")], stage.clock())
    before = (local / "bus/events.jsonl").read_bytes()

    with pytest.raises(PrloomError, match=r"^plan pr-7 already has an event b, so nothing was appended; `prloom why`"):
        emit.append(stage.paths, "pr-7", [said("a"), said("b")], stage.clock())

    assert (local / "bus/events.jsonl").read_bytes() == before


def test_a_plan_whose_folder_is_gone_takes_nothing(stage: Stage) -> None:
    with pytest.raises(PrloomError, match=r"^there is no .*pr-9/prloom/\.local; adopt its branch or "):
        emit.append(stage.paths, "pr-9", [said("a")], stage.clock())
    with pytest.raises(PrloomError, match=r"^there is no "):
        emit.plan(stage.paths, "pr-9")


def test_a_plan_is_known_by_its_state(stage: Stage) -> None:
    stage.adopt(title="Cache it")

    assert emit.plan(stage.paths, "pr-7").title == "Cache it"
