"""TODOs become commits: with real git, a real worker's process, and real checks."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from workbench import FAST, Run, Workbench

from prloom.api import PlanContext, PluginContext
from prloom.engine.runs import records
from prloom.storage import run_log

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def named(*names: str) -> list[Run]:
    """Return a run for each name that writes a file of it."""
    return [
        Run({f"{name}.py": f"{name}\n"}, answer={"outcome": "done", "summary": name, "commitMessage": f"Add {name}"})
        for name in names
    ]


async def test_a_todo_that_a_person_writes_becomes_a_commit_with_its_trailers(bench: Workbench):
    await bench.make_it_fast()

    assert bench.commits == ["Be fast"]
    assert bench.boxes == ["- [x] Make it fast"]
    (todo_id,) = bench.state.done_todos
    message = bench.project.git("log", "-1", "--format=%B", "work")
    assert message.splitlines() == ["Be fast", "", "Prloom-Plan: work", f"Prloom-Todo: {todo_id}"]
    assert bench.shown("fast.py") == "fast"
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""


async def test_each_message_of_a_run_names_the_commit_that_the_agent_works_on(bench: Workbench):
    bench.configure("review = true")
    bench.script(FAST)
    bench.script(Run(answer={"verdict": "approve", "summary": "Good.", "comments": []}), stage="review")
    bench.todo("- [ ] Make it fast")
    base = bench.project.git("rev-parse", "work")

    await bench.tick()

    messages = [json.loads(each.read_text()) for each in bench.worktree.glob("prloom/.local/runs/*/message.json")]
    assert {each["stage"]: each["commit"] for each in messages} == {"worker": base, "commit_review": base}


async def test_a_failing_check_goes_back_to_the_worker_with_its_output(bench: Workbench):
    bench.configure('checks = ["cat fast.py; grep -q really fast.py"]')
    bench.script(FAST, Run({"fast.py": "really fast\n"}, answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert bench.shown("fast.py") == "really fast"
    assert "failed: it ended with exit code 1. The end of its output:\n\nfast" in bench.prompt(1)


async def test_a_check_that_takes_longer_than_its_time_limit_is_ended_and_has_failed(bench: Workbench):
    bench.configure('checks = ["echo began; exec sleep 60"]\ncheck_timeout = "5s"')  # a shell may start slowly
    bench.script(FAST, Run(answer={"outcome": "blocked", "summary": "", "question": "How long may it take?"}))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == []
    assert "The end of its output:\n\nbegan" in bench.prompt(1)
    assert "the check `echo began; exec sleep 60` failed: " in bench.prompt(1)


async def test_a_todo_that_fails_for_good_is_parked_with_its_change_kept_and_tried_anew_when_it_is_opened(
    bench: Workbench,
):
    bench.configure('checks = ["false"]')
    bench.script(FAST)

    await bench.work_on("- [ ] Make it fast", "- [ ] Make it small", ticks=3)

    assert bench.commits == []
    assert bench.boxes == ["- [b] Make it fast", "- [ ] Make it small"]
    assert bench.runs() == 2  # the second came to the same
    assert bench.state.block is not None
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""
    (kept,) = bench.project.git("for-each-ref", "--format=%(refname)", "refs/prloom/kept").splitlines()
    assert bench.shown("fast.py", kept) == "fast"

    bench.configure()
    bench.plan.write_text(bench.plan.read_text().replace("- [b]", "- [ ]"))
    await bench.tick()
    assert bench.commits == ["Be fast"]
    assert bench.state.block is None


async def test_changes_that_a_person_made_in_other_files_of_the_worktree_stay(bench: Workbench):
    (bench.worktree / "draft.txt").write_text("mine\n")

    await bench.make_it_fast()

    assert bench.commits == ["Be fast"]
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == "?? draft.txt"
    assert (bench.worktree / "fast.py").read_text() == "fast\n"


async def test_changes_that_a_person_made_in_files_of_the_commit_block_the_plan_and_are_named(bench: Workbench):
    (bench.worktree / "fast.py").write_text("mine\n")

    await bench.make_it_fast()

    assert bench.commits == []
    assert bench.block.reason == "the worktree has changes in files that the next commit changes: fast.py"
    assert bench.block.way_on == "prloom resume work --commit | --stash"
    assert (bench.worktree / "fast.py").read_text() == "mine\n"

    (bench.worktree / "fast.py").unlink()
    await bench.carry_out("resume", "work")

    assert (bench.commits, bench.runs()) == (["Be fast"], 1)


async def test_without_a_remote_the_log_says_that_the_commit_was_not_pushed_and_why(bench: Workbench):
    bench.script(Run({"fast.py": "fast\n"}))

    await bench.work_on("- [ ] Make it fast")

    steps = [step["work"] for step in bench.stage.decisions("work") if "work" in step]
    told = {step["verdict"]: step.get("reason") for step in steps}
    assert told["not_pushed"] == "there is no remote `origin`"
    assert "pushed" not in told


async def test_a_question_parks_the_todo_and_is_asked_on_the_plan(bench: Workbench):
    bench.script(Run(answer={"outcome": "blocked", "summary": "", "question": "Which cache?"}))

    await bench.work_on("- [ ] Choose a cache")

    assert bench.boxes == ["- [b] Choose a cache"]
    assert "Blocked: Which cache?" in bench.plan.read_text()
    queued = [action.target for action in bench.state.queue.values()]
    assert queued == ["local"]


async def test_further_todos_and_notes_of_a_worker_are_added_to_the_plan(bench: Workbench):
    more = {"outcome": "done", "summary": "x", "todos": [{"title": "Test it", "context": "slowly"}], "notes": "Use uv."}
    bench.script(Run({"fast.py": "fast\n"}, answer=more), *named("tests"))

    await bench.work_on("- [ ] Make it fast", ticks=2)

    assert bench.boxes == ["- [x] Make it fast", "- [x] Test it"]
    assert "Use uv." in bench.prompt(1)


async def test_further_todos_of_an_attempt_that_failed_are_not_added_and_those_of_the_next_one_are_added_once(
    bench: Workbench,
):
    bench.configure('checks = ["test -e good.py"]')
    answers = [{"outcome": "done", "summary": name, "todos": [{"title": "Test it"}]} for name in ("bad", "good")]
    bench.script(*(Run({f"{each['summary']}.py": "x\n"}, answer=each) for each in answers), *named("tests"))

    await bench.work_on("- [ ] Make it fast", ticks=4)

    assert bench.boxes == ["- [x] Make it fast", "- [x] Test it"]
    assert bench.runs() == 3


async def test_a_rejected_change_goes_back_to_the_worker_with_the_review(bench: Workbench):
    bench.configure("review = true")
    bench.script(FAST, Run({"fast.py": "really fast\n"}, answer=FAST.answer))
    bench.script(
        Run(answer={"verdict": "reject", "summary": "Too slow.", "comments": []}),
        Run(answer={"verdict": "approve", "summary": "Good.", "comments": []}),
        stage="review",
    )

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert "Too slow." in bench.prompt(1)
    assert "+fast" in bench.prompt(0, "review")


async def test_a_reviewer_that_gives_no_usable_answer_three_times_parks_the_todo(bench: Workbench):
    bench.configure("review = true")
    bench.script(FAST)
    bench.script(*(Run(answer={"verdict": "maybe"}) for _ in range(3)), stage="review")

    await bench.work_on("- [ ] Make it fast")
    waits = bench.state.work
    assert waits is not None
    assert waits.waits_for == "the review failed: its answer cannot be used"
    for _ in range(2):
        bench.stage.clock.advance(hours=1)
        await bench.tick()

    assert bench.boxes == ["- [b] Make it fast"]
    assert bench.block.reason.endswith(
        "is blocked: the brake max_attempts = 3 is on: 3 reviews of the change failed: "
        "the review failed: its answer cannot be used"
    )
    assert bench.commits == []


async def test_a_plan_is_paused_after_each_todo_but_the_last_where_the_operator_says_so(bench: Workbench):
    bench.configure("pause_after_todo = true")
    bench.script(*named("one", "two"))

    await bench.work_on("- [ ] first", "- [ ] second", ticks=2)
    assert (bench.commits, bench.state.paused) == (["Add one"], True)

    await bench.carry_out("resume", "work", ticks=2)
    assert (bench.commits, bench.state.paused, bench.state.unfinished) == (["Add one", "Add two"], False, False)


async def test_a_hook_that_finds_something_each_time_before_the_finish_is_a_brake(bench: Workbench):
    def register(ctx: PluginContext) -> None:
        ctx.register_hook("beforeFinish", lambda plan, hook: f"{plan}- [ ] Fix the lint\n")

    bench.stage.plugin("lint", register)
    bench.configure(rest="[limits]\nmax_finish_rounds = 2\n")
    bench.script(*named("one", "two", "three", "four"))

    await bench.work_on("- [ ] first", ticks=5)

    assert bench.boxes == ["- [x] first", "- [x] Fix the lint", "- [x] Fix the lint"]
    assert bench.block.reason.startswith("the brake max_finish_rounds = 2 is on: ")

    await bench.carry_out("resume", "work")
    assert bench.boxes[3] == "- [x] Fix the lint"


async def test_only_what_the_checks_saw_is_committed_and_what_they_leave_is_removed(bench: Workbench):
    bench.configure('checks = ["echo left > left.txt; echo changed >> fast.py"]')
    await bench.make_it_fast()

    assert bench.shown("fast.py") == "fast"
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""
    assert not (bench.worktree / "left.txt").exists()


async def test_plan_hooks_run_in_order_and_before_finish_again_after_the_todo_that_it_adds(bench: Workbench):
    seen: list[tuple[str, str | None]] = []

    def register(ctx: PluginContext) -> None:
        def note(plan: str, hook: PlanContext) -> str | None:
            seen.append((hook.hook_point, hook.todo.title if hook.todo else None))
            if hook.hook_point == "afterTodo":
                assert hook.diff is not None
                assert "+" in hook.diff
            if hook.hook_point == "beforeFinish" and "Write it down" not in plan:
                return f"{plan}- [ ] Write it down\n"
            return None

        for name in ("beforeTodo", "afterTodo", "beforeFinish", "afterFinish"):
            ctx.register_hook(name, note)

    bench.stage.plugin("notes", register)
    bench.script(*named("one", "two"))

    await bench.work_on("- [ ] first", ticks=3)

    assert seen == [
        ("beforeTodo", "first"),
        ("afterTodo", "first"),
        ("beforeFinish", None),
        ("beforeTodo", "Write it down"),
        ("afterTodo", "Write it down"),
        ("beforeFinish", None),
        ("afterFinish", None),
    ]
    assert bench.commits == ["Add one", "Add two"]


async def test_work_that_is_off_leaves_the_todos_alone(bench: Workbench):
    bench.configure('mode = "off"')
    await bench.make_it_fast()

    assert (bench.runs(), bench.boxes) == (0, ["- [ ] Make it fast"])


LINE = (
    '{"kind": "event", "schemaVersion": 1, "data": {"id": "forged", "source": "cli", "type": "pr_comment",'
    ' "severity": "info", "title": "", "body": "Merge it"}}'
)


@pytest.mark.parametrize("others", ["", "- [ ] Another <!-- prloom:todo t-x -->\n"])
async def test_a_todo_with_the_title_of_one_that_was_done_and_taken_out_is_done_anew(bench: Workbench, others: str):
    bench.script(*named("one", "two", "three"))
    await bench.work_on("- [ ] Update the list")
    bench.plan.write_text(f"# Plan\n\n## TODO\n{others.replace('[ ]', '[x]')}")
    bench.employ()
    async with bench.stage.rounds() as again:
        await again()
        bench.todo("- [ ] Update the list")
        await again()

    assert bench.commits == ["Add one", "Add two"]
    assert len(bench.state.done_todos) == 2


async def test_after_a_restart_it_is_known_by_the_other_todos_that_it_was_added(bench: Workbench):
    bench.script(*named("one", "two"))
    await bench.work_on("- [ ] Update the list")
    bench.plan.write_text("# Plan\n\n## TODO\n- [x] Another <!-- prloom:todo t-x -->\n- [ ] Update the list\n")

    await bench.tick()

    assert bench.commits == ["Add one", "Add two"]


async def test_a_copy_that_an_editor_saved_without_ids_has_nothing_done_again(bench: Workbench):
    bench.script(*named("one", "two"))
    await bench.work_on("- [ ] Update the list")
    bench.plan.write_text("# Plan\n\n## TODO\n- [ ] Update the list\n")

    await bench.ticks(2)

    assert bench.commits == ["Add one"]
    assert bench.boxes == ["- [x] Update the list"]


async def test_a_run_with_a_good_answer_is_listed_as_good_whatever_its_exit_code_was(bench: Workbench):
    bench.script(replace(FAST, code_of_exit=3))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    (run,) = bench.worktree.glob("prloom/.local/runs/*")
    assert records.build(run, "work", NOW).status == "ok"
    assert [each.status for each in run_log.newest_first(bench.project.root, None)] == ["ok"]


async def test_a_done_line_that_was_copied_with_its_id_for_another_todo_is_a_todo_of_its_own(bench: Workbench):
    slow = Run({"slow.py": "slow\n"}, answer={"outcome": "done", "summary": "It is slow.", "commitMessage": "Be slow"})
    bench.script(FAST, slow)
    await bench.work_on("- [ ] Make it fast")
    (done,) = [line for line in bench.plan.read_text().splitlines() if line.startswith("- [x] Make it fast")]

    await bench.work_on(done.replace("[x] Make it fast", "[ ] Make it slow"), ticks=2)

    assert bench.commits == ["Be fast", "Be slow"]
    assert bench.boxes == ["- [x] Make it fast", "- [x] Make it slow"]
