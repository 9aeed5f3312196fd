"""A worker goes on with its session after a failure, and begins a new one where the program has lost it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import executable
import pytest
from workbench import Workbench

from prloom.engine.runs import listing

# As claude speaks; `lost` says that it no longer has any session.
CLAUDE = """#!{python}
import json, sys
from pathlib import Path

home = Path({home!r})
prompt = sys.stdin.read()
number = len(list(home.glob("worker-*.md")))
(home / f"worker-{{number}}.md").write_text(prompt)
session = None
if "--resume" in sys.argv:
    session = sys.argv[sys.argv.index("--resume") + 1]
with (home / "sessions").open("a") as file:
    file.write(f"{{session}}\\n")
if session and {lost!r}:
    said = ["No conversation found with session ID: " + session]
    print(json.dumps({{"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": said}}))
    sys.exit(1)
Path("fast.py").write_text("fast\\n" if number == 0 else "really fast\\n")
session = session or f"session-{{number:04}}"
answer = json.dumps({{"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"}})
result = {{"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn", "result": answer}}
print(json.dumps(result | {{"session_id": session, "modelUsage": {{"m": {{"inputTokens": 7, "outputTokens": 1}}}}}}))
"""


def plays_claude(bench: Workbench, *, lost: bool) -> None:
    executable.write(
        bench.home / "bin" / "claude", CLAUDE.format(python=sys.executable, home=str(bench.home), lost=lost)
    )
    check = json.dumps("grep -q really fast.py")
    bench.stage.configure(f'[stages]\ndefault = "claude"\n[work]\nchecks = [{check}]\n')
    bench.todo("- [ ] Make it fast")


def sessions(home: Path) -> list[str]:
    return (home / "sessions").read_text().split()


@pytest.mark.parametrize(
    ("lost", "expected"), [(False, ["None", "session-0000"]), (True, ["None", "session-0000", "None"])]
)
async def test_a_failed_attempt_goes_on_with_its_session_where_the_program_has_it(
    bench: Workbench,
    lost: bool,  # noqa: FBT001 - parametrised
    expected: list[str],
) -> None:
    plays_claude(bench, lost=lost)

    await bench.ticks(2)

    assert bench.commits == ["Be fast"]
    assert sessions(bench.home) == expected
    last = bench.prompt(len(expected) - 1)
    assert last.startswith("# Carry out one TODO" if lost else "# The TODO is not done yet")
    assert "grep -q really fast.py" in last
    runs = [run for run in listing.listed(bench.stage.paths, bench.stage.clock()) if run.stage == "worker"]
    # A session that is lost counts as no attempt, and its run is recorded like any other.
    attempts = [(1, "ok"), (2, "failed"), (2, "ok")] if lost else [(1, "ok"), (2, "ok")]
    assert sorted((run.attempt or 0, run.status) for run in runs) == attempts  # the clock stood still
    assert {run.todo for run in runs} == set(bench.state.done_todos)
