"""The pull request of a plan: opened once with the first commit, described, and marked ready when all is done."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from forge_bridge import ForgeBridge
from shared_remote import Remote
from values import an_event
from workbench import Run, Workbench

from prloom.api import Author, PullRequest


def adding(name: str) -> Run:
    """Return a run that adds a file."""
    return Run({f"{name}.py": f"{name}\n"}, answer={"outcome": "done", "summary": name, "commitMessage": f"Add {name}"})


@pytest.fixture
def forge(bench: Workbench) -> ForgeBridge:
    found = ForgeBridge()
    bench.stage.bridge, bench.stage.bridges = found, [found]
    bench.script(adding("one"), adding("two"))
    return found


async def test_it_is_opened_once_with_the_first_commit_shows_what_is_done_and_is_ready_when_no_todo_is_left(
    bench: Workbench, forge: ForgeBridge
):
    await bench.work_on("- [ ] first", "- [ ] second")

    pull = forge.pulls[1]
    assert (pull.branch, pull.base, pull.draft) == ("work", "main", True)
    (commit,) = [done.commit for done in bench.state.done_todos.values()]
    assert commit is not None
    assert f"- [x] first — done in {commit[:12]}\\\n  one\n- [ ] second\n" in pull.body

    await bench.ticks(2)
    assert forge.calls.count("open") == 1
    assert forge.calls.count("ready") == 1
    assert [pull.draft for pull in forge.pulls.values()] == [False]


async def test_a_todo_that_a_brake_holds_back_is_shown_with_the_reason_the_end_and_the_box_that_lifts_it(
    bench: Workbench, forge: ForgeBridge
):
    bench.configure(rest="[limits]\nmax_runs_per_day = 1\n")

    await bench.work_on("- [ ] first", "- [ ] second", ticks=3)
    bench.stage.clock.advance(minutes=1)
    await bench.tick()

    assert "- [ ] second — waits until 2026-01-02 00:00 UTC (the brake max" in forge.pulls[1].body
    assert "- [ ] continue the work on this plan <!-- prloom:box resume -->" in forge.pulls[1].body

    author = Author("ann", "write")
    forge.news.append(an_event("box", type="box_ticked", source="forge", pr=1, body="/prloom resume", author=author))
    await bench.ticks(2)

    assert bench.commits == ["Add one", "Add two"]


async def test_what_people_write_around_the_cockpit_stays(bench: Workbench, forge: ForgeBridge):
    await bench.work_on("- [ ] first", "- [ ] second")
    forge.pulls[1] = replace(forge.pulls[1], body=f"My words.\n\n{forge.pulls[1].body}\n\nMore of mine.\n")

    await bench.ticks(2)

    body = forge.pulls[1].body
    assert body.startswith("My words.\n\n<!-- prloom:begin -->")
    assert body.endswith("<!-- prloom:end -->\n\nMore of mine.\n")


async def test_one_that_was_opened_before_a_crash_is_found_again(bench: Workbench, forge: ForgeBridge):
    bench.todo("- [ ] first")
    await forge.open_pull_request(
        bench.stage.bridge.contexts[0] if bench.stage.bridge.contexts else None,  # type: ignore[arg-type]
        branch="work",
        base="main",
        title="work",
        body="",
        draft=True,
    )

    await bench.ticks(2)

    assert list(forge.pulls) == [1]
    assert "<!-- prloom:begin -->" in forge.pulls[1].body


async def opened_before_a_crash(bench: Workbench, forge: ForgeBridge, *, head: str | None = None) -> None:
    """Have the first TODO done, and a pull request that GitHub opened for it, of which prloom knows nothing."""
    forge.down = True
    await bench.work_on("- [ ] first", "- [ ] second")
    forge.down = False
    bench.stage.clock.advance(minutes=10)
    at = head or bench.project.git("rev-parse", "work")
    forge.pulls[1] = PullRequest(1, "work", "", "work", "main", "closed", "https://forge.example/1", at)


async def test_one_that_was_opened_before_a_crash_and_closed_since_is_found_and_ends_the_plan(
    bench: Workbench, forge: ForgeBridge
):
    await opened_before_a_crash(bench, forge)

    await bench.ticks(3)

    assert list(forge.pulls) == [1]
    state = json.loads((bench.worktree / "prloom/.local/state.json").read_text())
    assert (state["pr"], state["url"], state["status"]) == (1, "https://forge.example/1", "closed")


async def test_one_that_was_closed_with_commits_of_people_on_top_is_found_too(
    bench: Workbench, forge: ForgeBridge, tmp_path: Path
):
    remote = Remote(bench, tmp_path)
    await opened_before_a_crash(bench, forge)
    bench.project.git("pull", "--quiet", "origin", "work", cwd=remote.clone)
    forge.pulls[1] = replace(forge.pulls[1], head=remote.push("ann.py", "ann\n"), state="merged")

    await bench.ticks(3)

    assert list(forge.pulls) == [1]
    assert json.loads((bench.worktree / "prloom/.local/state.json").read_text())["status"] == "merged"


async def test_an_earlier_one_of_a_branch_of_the_same_name_is_not_taken_for_the_plans(
    bench: Workbench, forge: ForgeBridge
):
    await opened_before_a_crash(bench, forge, head=bench.project.git("rev-parse", "main"))

    await bench.ticks(3)

    assert [pull.state for pull in forge.pulls.values()] == ["closed", "open"]
    assert bench.commits == ["Add one", "Add two"]


async def test_a_forge_that_is_down_keeps_no_todo_from_being_done(bench: Workbench, forge: ForgeBridge):
    forge.down = True

    await bench.work_on("- [ ] first", "- [ ] second", ticks=2)

    assert bench.commits == ["Add one", "Add two"]
    assert bench.state.pull_request.error == "forge: the forge is down"
    assert bench.state.pull_request.retry_at is not None

    forge.down = False
    bench.stage.clock.advance(minutes=2)
    await bench.tick()
    assert list(forge.pulls) == [1]
    assert bench.state.pull_request.error is None


async def test_none_is_opened_where_the_operator_says_so(bench: Workbench, forge: ForgeBridge):
    bench.configure('open = "never"')

    await bench.work_on("- [ ] first")

    assert (bench.commits, forge.pulls) == (["Add one"], {})
