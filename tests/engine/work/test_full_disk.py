"""A worker fills the disk: the work waits, `prloom status` says for what, and goes on when there is room again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from project import Project
from small_disk import small_disk
from workbench import Run, Workbench

from prloom.engine.views import status

ANSWER = {"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"}
FILLS = """
with Path({path!r}).open("wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        Path({noted!r}).touch()
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    """A workbench whose repository is on a small disk, and whose worker's own files are elsewhere."""
    with small_disk(tmp_path / "disk", 24) as disk:
        made = Workbench(Project(disk / "project"), tmp_path / "bench")
        yield made
        made.pools.close()


async def test_what_a_worker_has_done_before_the_disk_was_full_is_committed_when_there_is_room(
    bench: Workbench, tmp_path: Path
):
    filling, noted = bench.worktree / "filling", tmp_path / "noted"
    code = FILLS.format(path=str(filling), noted=str(noted))
    # Its answer is printed when the disk is full already; another run would be told from this one.
    bench.script(Run({"fast.py": "fast\n"}, code=code, answer=ANSWER), Run(answer=None))
    bench.todo("- [ ] Make it fast")
    bench.employ()

    async with bench.stage.running():
        await bench.stage.until(noted.exists)
        bench.stage.clock.advance(minutes=1)
        await bench.stage.until(lambda: "free some space" in (trouble(bench) or ""))
        filling.unlink()
        await bench.stage.until(lambda: bench.boxes == ["- [x] Make it fast"])
        bench.stage.clock.advance(minutes=10)
        await bench.stage.until(lambda: not trouble(bench))

    assert (bench.runs(), bench.shown("fast.py")) == (1, "fast")
    steps = [each["work"] for each in bench.stage.decisions("work") if each.get("work")]
    assert [step["verdict"] for step in steps].count("done") == 1
    assert all(step.get("work", {}).get("failures", 0) == 0 for step in steps)


def trouble(bench: Workbench) -> str | None:
    """Return what `prloom status` says that is wrong."""
    return status.read(bench.stage.paths, bench.stage.clock()).dispatcher.trouble or None
