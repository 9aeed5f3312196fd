"""What a forge reports of a pull request and prloom answers by itself: checks that fail, and conflicts."""

from __future__ import annotations

import pytest
from forge_bridge import ForgeBridge
from values import an_event
from workbench import Run, Workbench


@pytest.fixture
async def forge(bench: Workbench) -> ForgeBridge:
    """A pull request that prloom has opened with its first commit."""
    found = ForgeBridge()
    bench.stage.bridge, bench.stage.bridges = found, [found]
    bench.script(*(Run({f"f{n}.py": f"{n}\n"}, answer={"outcome": "done", "summary": f"s{n}"}) for n in range(9)))
    await bench.work_on("- [ ] first", ticks=2)
    return found


async def fails(bench: Workbench, forge: ForgeBridge, number: int, head: str | None = None) -> None:
    """Report a failed check of a head, by default the present one, and let prloom work on what comes of it."""
    commit = head or bench.project.git("rev-parse", "work")
    context = {"check": "test", "commit": commit}
    log = f"E  assert {number} == 0"
    forge.news.append(
        an_event(f"check-{number}", type="check_failed", source="forge", pr=1, body=log, context=context, author=None)
    )
    bench.stage.clock.advance(minutes=2)
    await bench.ticks(2)


async def test_a_failed_check_becomes_a_todo_with_its_log_and_no_agent_is_asked(bench: Workbench, forge: ForgeBridge):
    await fails(bench, forge, 1)

    assert bench.boxes == ["- [x] first", "- [x] Make the failed check pass: test"]
    assert "E  assert 1 == 0" in bench.prompt(1)
    assert "Prloom-Event: check-1" in bench.project.git("log", "-1", "--format=%B", "work")
    assert bench.stage.triager.batches == []


@pytest.mark.parametrize(
    ("kind", "context"),
    [("check_passed", {"supersedes": "check-1"}), ("pr_pushed", {"commit": "b" * 40})],
    ids=["passed", "pushed"],
)
async def test_a_failed_check_that_is_over_when_the_plan_goes_on_becomes_no_todo(
    bench: Workbench, forge: ForgeBridge, kind: str, context: dict[str, str]
):
    await bench.carry_out("pause", "work")
    await fails(bench, forge, 1)
    forge.news.append(
        an_event("over", type=kind, source="forge", pr=1, title="", body="", author=None, context=context)
    )
    bench.stage.clock.advance(minutes=2)
    await bench.ticks(1)
    await bench.carry_out("resume", "work", ticks=3)

    assert bench.boxes == ["- [x] first"]
    assert bench.state.done["superseded"] == 1


async def test_a_check_that_goes_on_failing_stops_the_plan_until_a_person_resumes_it(
    bench: Workbench, forge: ForgeBridge
):
    bench.configure(rest="[limits]\nmax_ci_fixes = 1\n")
    for number in (1, 2):
        await fails(bench, forge, number)

    assert len(bench.commits) == 2
    assert bench.block.reason.startswith("the brake max_ci_fixes = 1 is on: ")

    await fails(bench, forge, 3)
    assert len(bench.commits) == 2

    await bench.carry_out("resume", "work", ticks=3)
    assert bench.state.block is None
    assert len(bench.commits) == 3
    assert bench.state.ci_fixes.count == 1


async def test_a_push_of_a_person_begins_the_count_anew(bench: Workbench, forge: ForgeBridge):
    bench.configure(rest="[limits]\nmax_ci_fixes = 1\n")
    await fails(bench, forge, 1)

    bench.project.git("commit", "--quiet", "--allow-empty", "--message=mine", cwd=bench.worktree)
    await fails(bench, forge, 2)

    assert len(bench.commits) == 4
    assert bench.state.block is None


async def test_todos_that_are_only_collected_are_the_agents_to_write(bench: Workbench, forge: ForgeBridge):
    bench.configure('mode = "off"')

    await fails(bench, forge, 1)

    assert bench.stage.triager.batches == [("check-1",)]


async def conflicts(bench: Workbench, forge: ForgeBridge) -> None:
    bench.project.git("commit", "--quiet", "--allow-empty", "--message=upstream")
    forge.news.append(
        an_event(
            "conflict-1", type="merge_conflict", source="forge", pr=1, body="", context={"base": "main"}, author=None
        )
    )
    bench.stage.clock.advance(minutes=2)
    await bench.ticks(2)


async def test_a_conflict_is_rebased_away_where_the_operator_says_so(bench: Workbench, forge: ForgeBridge):
    bench.configure('rebase = "auto"')

    await conflicts(bench, forge)

    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"
    assert bench.project.git("log", "--format=%s", "work").splitlines()[1] == "upstream"
    assert bench.state.rebase_todo is None


async def test_a_conflict_is_shown_to_an_agent_elsewhere(bench: Workbench, forge: ForgeBridge):
    bench.configure('rebase = "on_request"')

    await conflicts(bench, forge)

    assert bench.stage.triager.batches == [("conflict-1",)]
    assert bench.boxes == ["- [x] first"]
