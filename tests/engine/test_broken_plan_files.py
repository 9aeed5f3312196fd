"""What is wrong with a file of one plan is an error of that plan alone, whenever in a tick it goes wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stage import Stage, said

FILES = (
    "plan.md",
    "state.json",
    "bus/events.jsonl",
    "bus/decisions.jsonl",
    "bus/state/dispatcher.json",
    "bus",
    ".",
)


def link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def folder(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    """Leave nothing in its place."""


@contextmanager
def replaced(path: Path, put: Callable[[Path], None]) -> Iterator[None]:
    """Have something else in the place of a file, or of a folder, for a while."""
    kept = path.with_name(f"{path.name}.kept")
    existed = os.path.lexists(path)
    if existed:
        path.rename(kept)
    put(path)
    try:
        yield
    finally:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if existed:
            kept.rename(path)


@pytest.mark.parametrize("put", [link, folder, nothing])
@pytest.mark.parametrize("file", FILES)
async def test_a_broken_file_of_one_plan_keeps_no_other_plan_from_being_worked_on(
    stage: Stage, file: str, put: Callable[[Path], None]
):
    for plan_id, number in (("pr-7", 7), ("pr-8", 8)):
        stage.adopt(plan_id, pr=number)
        (stage.local(plan_id) / "plan.md").write_text("# Plan\n\n## TODO\n\n- [x] One\n")
    path = (stage.local() / file).resolve()

    dispatcher = stage.dispatcher()
    async with stage.rounds_of(dispatcher) as again:
        stage.append(said("first"))
        await again()
        phases = dispatcher._phases()
        for number in range(len(phases)):
            stage.append(said(f"mine-{number}"))
            stage.append(said(f"theirs-{number}"), plan_id="pr-8")
            for phase in phases[:number]:
                phase()
            with replaced(path, put):
                for phase in phases[number:]:
                    phase()
                await stage.drain(dispatcher)

                assert stage.fate(f"theirs-{number}", "pr-8")[-1] == "triaged"
            stage.clock.advance(hours=2)
