"""A simulated day of two plans, and that its checks see what is wrong; `make soak` lets weeks of fifty go by."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import soak
import soak_checks
from soak import Soak
from soak_checks import Checks
from soak_git import git

from prloom.model.record import Timestamp
from prloom.model.run import RunRecord
from prloom.storage import paths, run_log


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Soak:
    return soak.played(tmp_path_factory.mktemp("soak"), seed=4, plans=2, days=1)


def test_after_a_day_of_people_ci_and_failing_workers_every_plan_has_ended(day: Soak):
    report = day.report()

    assert day.wrong == []
    assert set(report["ends"]) <= {"merged", "closed", "stopped"}
    assert report["steps"]["done"] >= 4
    assert report["pull requests"] == 2


def test_the_soak_sees_costs_that_do_not_add_up(day: Soak):
    day.agents.totals.input_tokens += 1

    assert [each for each in day.checks.at_the_end() if "the costs are" in each]
    day.agents.totals.input_tokens -= 1


def test_the_soak_sees_a_reply_that_was_posted_twice(day: Soak):
    day.forge.posts.append(day.forge.posts[0])

    assert [each for each in day.checks.at_the_end() if "posted 2 times" in each]
    day.forge.posts.pop()


def test_the_soak_sees_a_branch_that_prloom_moved_back(day: Soak):
    tip = git(day.bare, "rev-parse", "plan-1")
    for target in (f"{tip}~1", tip):
        git(day.bare, "update-ref", "refs/heads/plan-1", target)

    found = day.checks.at_the_end()

    assert [each for each in found if "was moved back" in each]
    assert [each for each in found if "pushed twice" in each]


def test_the_soak_sees_a_todo_with_two_commits_and_a_persons_commit_that_is_gone(day: Soak):
    message = git(day.bare, "log", "--format=%B", "-1", "--grep=Prloom-Todo", "plan-2")
    first = git(day.bare, "commit-tree", "plan-2^{tree}", "-p", "plan-2", "-m", message)
    second = git(day.bare, "commit-tree", "plan-2^{tree}", "-p", first, "-m", message)
    gone = git(day.bare, "commit-tree", "plan-2^{tree}", "-p", "plan-2", "-m", "theirs")
    git(day.bare, "branch", "again", second)
    day.people.pushed.commits["Theirs on again"] = gone

    found = list(day.checks.branch("again"))

    assert [each.partition(" of ")[0] for each in found] == ["again has 2 commits", "again has lost 'Theirs on again'"]


def test_the_soak_sees_a_run_over_a_limit_but_for_those_that_a_person_allowed(day: Soak):
    now = day.stage.clock() + timedelta(days=30)
    started_at = Timestamp.of(now)
    for number in range(soak_checks.MOST_PER_PLAN + 2):
        todo = {0: "lifted", 1: "retried"}.get(number, "plain")
        run = RunRecord(
            id=f"{todo}-{number}",
            plan="plan-1",
            stage="worker",
            todo=todo,
            agent="claude",
            status="ok",
            started_at=started_at,
            seconds=1,
        )
        run_log.append(day.root, run, now)
    checks = Checks(day)
    assert [*checks._brakes(now)] == ["plan-1 has 14 runs in a day"]

    checks._lifts["plan-1", "lifted"] = now - timedelta(hours=1)
    assert [*checks._brakes(now)] == ["plan-1 has 13 runs in a day"]

    retried = {"changes": [{"eventId": "e", "verdict": "retried"}]}
    started = {"changes": [{"eventId": "e", "verdict": "started"}], "run": "retried-1"}
    for decision in (retried, started):
        checks._note_retries("plan-1", decision)
    assert [*checks._brakes(now)] == []
    (day.root / "prloom/.local" / paths.RUN_LOG / f"{started_at.date().isoformat()}.jsonl").unlink()
