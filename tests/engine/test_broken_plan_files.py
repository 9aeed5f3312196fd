"""What is wrong with a file of one plan is an error of that plan alone, whenever in a tick it goes wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stage import Stage, said

from prloom.engine.views import status

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


def garbage(path: Path) -> None:
    """Leave bytes that are no text, and no record."""
    path.write_bytes(b"\xff\xfe\x00 {garbage\n")


def denied(path: Path) -> None:
    """Leave a file that may not be read; for root it is an empty one."""
    path.touch(mode=0)


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


def two_plans(stage: Stage) -> None:
    for plan_id, number in (("pr-7", 7), ("pr-8", 8)):
        stage.adopt(plan_id, pr=number)
        (stage.local(plan_id) / "plan.md").write_text("# Plan\n\n## TODO\n\n- [x] One\n")


@pytest.mark.parametrize("put", [link, folder, garbage, denied, nothing])
@pytest.mark.parametrize("file", FILES)
async def test_a_broken_file_of_one_plan_keeps_no_other_plan_from_being_worked_on(
    stage: Stage, file: str, put: Callable[[Path], None]
):
    two_plans(stage)
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


FOLDERS = ("bus", ".")
MADE_ANEW = "bus/state/dispatcher.json"
"""A file that the dispatcher does not read while it runs, and writes from the log."""


@pytest.mark.parametrize(
    ("file", "put", "reason"),
    [
        *((file, link, "is a symbolic link, and prloom does not use it; ") for file in FILES if file != "."),
        *((file, folder, "is a folder, and prloom does not use it; ") for file in FILES if file not in FOLDERS),
        ("bus", garbage, "is a file, and prloom does not use it; "),
        ("state.json", garbage, "cannot be read: "),
        *((file, denied, "Permission denied") for file in FILES if file not in {*FOLDERS, MADE_ANEW}),
    ],
)
async def test_a_file_that_cannot_be_used_is_an_error_of_its_plan_until_it_can_be(
    stage: Stage, file: str, put: Callable[[Path], None], reason: str
):
    two_plans(stage)
    path = (stage.local() / file).resolve()

    def errors() -> dict[str, str | None]:
        return {plan.id: plan.last_error for plan in status.read(stage.paths, stage.clock()).plans}

    async with stage.rounds() as again:
        await again()
        with replaced(path, put):
            if put is denied and os.access(path, os.R_OK):
                pytest.skip("root may read every file")
            stage.bridge.news.append(said("mine"))
            await again()

            found = errors()
            assert reason in (found["pr-7"] or "")
            assert str(path) in (found["pr-7"] or "")
            assert found["pr-8"] is None
        await again(hours=2)
        assert errors() == {"pr-7": None, "pr-8": None}
        assert stage.fate("mine")[-1] == "triaged"
