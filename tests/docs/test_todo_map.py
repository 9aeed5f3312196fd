"""The map of the work on a TODO names functions that exist, and each of them is called while a TODO is done."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from project import Project
from workbench import Run, Workbench

APPROVED = Run(answer={"verdict": "approve", "comments": [], "summary": "Good."})


@contextmanager
def traced() -> Iterator[set[str]]:
    """Collect the dotted names of prloom's functions that are called, in all threads."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("prloom."):
            called.add(f"{module}.{frame.f_code.co_qualname}")

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type] - None ends it


@pytest.fixture
def functions(named: Callable[[str], Any]) -> list[str]:
    """Return the functions that the map names, in its order."""
    section = named("docs/how-it-works.md").text.partition("## A map of the work on a TODO\n")[2].partition("\n## ")[0]
    return re.findall(r"^\|[^|]*\| `([\w.]+)` \|", section, re.MULTILINE)


async def test_each_function_that_the_map_names_is_called_while_a_todo_is_done(
    functions: list[str], tmp_path: Path
) -> None:
    bench = Workbench(Project(tmp_path / "project"), tmp_path / "bench")
    bench.configure('review = true\nchecks = ["true"]')
    bench.script(Run({"fast.py": "fast\n"}))
    bench.script(APPROVED, stage="review")
    bench.todo("## TODO", "- [ ] Make it fast")

    with traced() as called:
        await bench.tick()
    bench.pools.close()

    assert bench.commits == ["Make it fast"]
    assert len(functions) > 15
    assert [function for function in functions if function not in called] == []
