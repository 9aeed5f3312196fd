"""The one value behind `prloom status`, `prloom top` and the page in a browser."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from operator_scene import NOW, OperatorScene, every_state

from prloom.cli.output import dashboard_text
from prloom.engine.views import dashboard, dashboard_words
from prloom.engine.views.dashboard_schema import Dashboard, Need
from prloom.model.decision import WakeOn
from prloom.model.kinds import OPEN
from prloom.model.state import DispatchState
from prloom.model.work import Block, Kept, Question
from prloom.storage import json_codec, paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Dashboard:
    """Return what is shown of a repository with something in every state, while a dispatcher runs."""
    scene = every_state(OperatorScene(tmp_path_factory.mktemp("repository")))
    with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
        return dashboard.read(scene.where, NOW)


def needs(shown: Dashboard, kind: str) -> list[Need]:
    return [need for need in shown.needs if need.kind == kind]


def test_comments_of_one_author_are_one_entry_with_one_command_and_the_age_of_the_oldest(shown: Dashboard) -> None:
    (need,) = [need for need in needs(shown, "held") if need.plan == "pr-7"]

    assert need.text == "3 comments by mallory (has no permission here)"
    assert (need.ids, need.author) == (("h0", "h1", "h2"), "mallory")
    assert need.commands == ("prloom approve @mallory --plan pr-7",)
    assert need.remedy == "`prloom approve @mallory --plan pr-7`"
    assert need.age_ms == timedelta(hours=1) // timedelta(milliseconds=1)


def test_of_one_plan_only_its_own_waits_count(shown: Dashboard) -> None:
    of_all = shown.waiting_oldest_ms
    for plan in {wait.plan for wait in shown.waiting if wait.plan is not None}:
        found = dashboard.of_plans(shown, {plan})

        assert {wait.plan for wait in found.waiting} == {plan}
        ages = [wait.age_ms for wait in found.waiting if wait.age_ms is not None]
        assert found.waiting_oldest_ms == (max(ages) if ages else None)
    assert dashboard.of_plans(shown, ()).waiting_oldest_ms is None
    assert of_all is not None


def test_a_name_from_outside_is_one_quoted_word_of_a_command(shown: Dashboard) -> None:
    (need,) = [need for need in needs(shown, "held") if need.plan == "pr-8"]

    assert need.commands[0].startswith("prloom approve $'odd \\x1b]0;owned\\x07\\x1b[2J\\xe2\\x80\\xae[/red]")
    assert need.commands[0].endswith("</script>'")


@pytest.mark.parametrize(
    ("kind", "text", "remedy"),
    [
        ("parked", "2 reviews (triage failed 5 times)", "`prloom retry p0 p1`"),
        ("brake", "1 failed check (the brake max_ci_fixes = 3 is on: checks still fail)", "`prloom resume pr-10`"),
        ("brake", "the brake max_replies_per_thread_per_day = 10 is on", "`prloom retry a-4`"),
        ("brake", 'TODO "Pay": the brake max_runs_per_day = 200 is on: 200 runs today', "`prloom resume pr-16`"),
        ("failed", "1 action failed: the thread is locked", "`prloom retry a-1`"),
        ("withheld", "1 action failed: it holds a secret", "`prloom approve a-2`"),
        ("draft", "1 reply waits for you to send, edit or drop", "`prloom outbox` or `prloom outbox send a-3`"),
        ("blocked", "the remote refuses the commit", "`prloom resume pr-13`"),
        ("proposed", 'TODO "three" waits to be allowed', "`prloom todo pr-14 go t-14`"),
        ("settings", "notify: its required settings are missing: url", "`prloom plugins config notify`"),
        ("plugin", "monitor: exit code 1", "`prloom plugins restart monitor` or `prloom plugins logs monitor`"),
        ("source", "local: line 3 is ignored", "correct it at the source; `prloom status --all` shows all of it"),
    ],
)
def test_everything_that_needs_a_person_is_shown_with_what_resolves_it(
    shown: Dashboard, kind: str, text: str, remedy: str
) -> None:
    assert (text, remedy) in [(need.text, need.remedy) for need in needs(shown, kind)]


def test_a_question_of_a_worker_names_its_todo_and_is_answered_on_the_pull_request(shown: Dashboard) -> None:
    (need,) = [need for need in needs(shown, "blocked") if need.plan == "pr-12"]

    assert need.text.startswith('TODO "Choose a cache": asks "Redis or memory?')
    assert need.remedy == "answer on the pull request, or `prloom todo pr-12 open t-12`"


def test_a_question_in_a_plan_without_a_pull_request_is_answered_in_its_review_file(scene: OperatorScene) -> None:
    block = Block(
        reason="it asks", since=scene.ago(hours=2), way_on="prloom todo mine open t-1", todo="t-1", cause="todo"
    )
    asked = {"t-1": Question(text="Redis or memory?", after=DispatchState().log)}
    scene.plan("mine", "- [b] Choose <!-- prloom:todo t-1 -->\n", DispatchState(block=block, questions=asked))

    (need,) = needs(dashboard.read(scene.where, NOW), "blocked")

    review = scene.where.worktree("mine") / "prloom/.local/review.md"
    assert need.remedy == f"answer in {review}, or `prloom todo mine open t-1`"


def test_a_brake_that_blocks_a_plan_and_parked_its_events_is_one_entry(scene: OperatorScene) -> None:
    reason = "the brake max_ci_fixes = 3 is on: checks still fail"
    block = Block(reason=reason, since=scene.ago(hours=2), way_on="prloom resume pr-1", cause="limit")
    parked = scene.event("ci", "parked", type="check_failed", reason=reason)
    scene.plan("pr-1", "", DispatchState(block=block, open={"ci": parked}))

    (need,) = dashboard.read(scene.where, NOW).needs

    assert (need.kind, need.text, need.commands) == ("brake", reason, ("prloom resume pr-1",))


@pytest.mark.parametrize(("more", "told"), [("", "it is blocked"), (": no time", "no time")])
def test_a_todo_that_is_blocked_is_named_once(more: str, told: str, scene: OperatorScene) -> None:
    reason, way_on = f'the TODO "three" is blocked{more}', "prloom todo pr-1 open t-3"
    block = Block(reason=reason, since=scene.ago(hours=2), way_on=way_on, todo="t-3", cause="todo")
    scene.plan("pr-1", "- [b] three <!-- prloom:todo t-3 -->\n", DispatchState(block=block))

    assert [need.text for need in needs(dashboard.read(scene.where, NOW), "blocked")] == [f'TODO "three": {told}']


def test_to_give_up_a_plan_that_is_kept_the_command_is_the_one_that_drops_what_is_open(scene: OperatorScene) -> None:
    state = DispatchState(ended_at=scene.ago(hours=2), kept=Kept(reason="1 TODO is open"))
    scene.plan("p4", "- [ ] one <!-- prloom:todo t-1 -->\n", state, status="merged")

    (need,) = needs(dashboard.read(scene.where, NOW), "kept")

    assert need.commands == ("prloom forget p4 --yes",)
    assert need.remedy == "to give it up with what is open in it, `prloom forget p4 --yes`"


def test_calls_and_questions_of_runs_are_decided_with_their_commands(shown: Dashboard) -> None:
    (call,), (question,) = needs(shown, "confirm"), needs(shown, "question")

    assert (call.plan, call.commands) == ("pr-1", ("prloom allow ask-1", "prloom deny ask-1"))
    assert call.text.startswith("the worker wants to call deploy(")
    assert question.remedy == "answer where it was posted, or leave it: `prloom deny ask-2`"


def test_the_question_of_a_run_whose_plan_has_no_pull_request_names_where_it_can_be_answered(
    scene: OperatorScene,
) -> None:
    scene.plan("cleanup", "", DispatchState(), pr=None)
    scene.dispatcher()
    about = {"plan": "cleanup", "run": "run-1", "stage": "worker", "tool": "prloom_ask", "question": "Tabs?"}
    times = {"since": str(scene.ago(minutes=1)), "until": str(scene.later(minutes=9))}
    scene.report(paths.REQUESTS, {"requests": [{"id": "ask-3", **about, **times}]})

    (question,) = needs(dashboard.read(scene.where, NOW), "question")

    assert question.remedy == "answer with `w` in `prloom top`, or leave it: `prloom deny ask-3`"


def test_a_plan_that_cannot_be_read_and_a_bridge_that_fails_for_long_need_a_person(shown: Dashboard) -> None:
    assert [need.plan for need in needs(shown, "blocked")][-1] == "pr-17"
    assert [(need.ids, need.age_ms) for need in needs(shown, "bridge")] == [(("gitea",), 3_600_000)]


def test_a_bridge_that_failed_once_needs_no_person(scene: OperatorScene) -> None:
    polls = {"lastPollAt": scene.ago(seconds=1), "lastOkAt": scene.ago(minutes=2), "error": "502"}
    scene.report(paths.BRIDGES, {"bridges": [{"name": "github", **polls}]})

    shown = dashboard.read(scene.where, NOW)

    assert (shown.needs, shown.sources[0].error, shown.sources[0].last_ok_age_ms) == ((), "502", 120_000)


def test_what_a_daemon_that_runs_says_does_not_work_needs_a_person(scene: OperatorScene) -> None:
    half = {"name": "notify", "state": "running", "problem": "urls: number 2: …", "problemSince": scene.ago(minutes=2)}
    scene.report(paths.DAEMON_STATUS, {"daemons": [half]})

    with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
        (need,) = needs(dashboard.read(scene.where, NOW), "plugin")

    assert (need.text, need.age_ms) == ("notify: urls: number 2: …", 120_000)
    assert need.commands == ("prloom plugins logs notify", "prloom plugins config notify")
    assert dashboard.read(scene.where, NOW).needs == ()


def test_a_bridge_that_has_nothing_to_ask_is_not_said_to_be_polled_yet(scene: OperatorScene) -> None:
    why = "no repository on GitHub is known"
    scene.report(paths.BRIDGES, {"bridges": [{"name": "github", "idle": why}]})

    shown = dashboard.read(scene.where, NOW)

    assert shown.sources[0].idle == why
    assert "\n".join(dashboard_text.header(shown)).endswith("github: not asked")


def test_the_oldest_need_is_the_first_and_what_has_no_age_the_last(shown: Dashboard) -> None:
    ages = [need.age_ms for need in shown.needs]
    with_age = [age for age in ages if age is not None]

    assert ages == sorted(with_age, reverse=True) + [None] * (len(ages) - len(with_age))
    assert len({need.key for need in shown.needs}) == len(shown.needs)


def test_what_goes_on_is_shown_with_its_run_its_todo_and_its_calls_of_tools(shown: Dashboard) -> None:
    check, work, triage, hook = shown.working

    assert (check.kind, check.plan, check.phase, check.title, check.run) == (
        "step",
        "pr-3",
        "changed",
        "Check it",
        None,
    )
    assert (work.kind, work.plan, work.stage, work.agent) == ("run", "pr-1", "worker", "claude")
    assert (work.title, work.attempt, work.tool_calls, work.age_ms) == ("Rename foo to bar", 1, 3, 240_000)
    assert (triage.plan, triage.stage, triage.todo) == ("pr-2", "triage", None)
    assert (hook.kind, hook.agent, hook.stage) == ("hook", "quiet-period", "beforeTriage")
    assert shown.runs_now == 2


def test_what_waits_has_a_reason_and_an_end_and_what_ends_first_is_the_first(shown: Dashboard) -> None:
    assert [(wait.kind, wait.plan, wait.reason, wait.ends_in_ms) for wait in shown.waiting] == [
        ("plugin", None, "exit code 1", 5_000),
        ("deferred", "pr-5", "people are still talking", 40_000),
        ("action", "pr-11", "the server answered 502", 120_000),
        ("todo", "pr-4", "the usage limit is reached", 3_600_000),
        ("agent", "pr-9", "as many runs are active as dispatcher.max_parallel_plans allows", None),
    ]
    assert (shown.waiting_oldest_ms, shown.waiting_next_ms) == (10_800_000, 5_000)


@pytest.mark.parametrize(("due", "ends"), [({"seconds": 40}, 40_000), ({"days": 7}, None)])
def test_a_conditional_wait_says_what_ends_it_and_has_an_end_only_if_it_is_tried_again_before_its_deadline(
    due: dict[str, float], ends: int | None, scene: OperatorScene
) -> None:
    event = scene.deferred("d")
    assert event.deferral is not None
    until = scene.later(**due)
    wait = replace(event.deferral, wake_on=WakeOn(types=("check_*", "pr_pushed")), deferred_until=until)
    scene.plan("pr-5", "", DispatchState(open={"d": replace(event, deferral=wait)}))

    shown = dashboard.read(scene.where, NOW)

    (found,) = shown.waiting
    assert found.text == "waits for an event check_* or pr_pushed (pr_comment d, by quiet-period)"
    assert (found.ends_in_ms, found.deadline) == (ends, scene.later(days=7))
    assert found.text in "\n".join(dashboard_text.progress(shown))


def test_today_counts_the_runs_that_are_over_and_those_that_measured_nothing(shown: Dashboard) -> None:
    assert (shown.today.runs, shown.today.input_tokens, shown.today.cost_usd, shown.today.unmeasured_runs) == (
        4,
        3000,
        1.5,
        1,
    )


def test_plans_in_which_something_goes_on_come_first_and_those_that_ended_last(shown: Dashboard) -> None:
    assert [plan.id for plan in shown.plans][:5] == ["pr-1", "pr-2", "pr-3", "cleanup", "pr-7"]
    assert (shown.plans[-1].id, shown.plans[-1].status) == ("pr-6", "merged")
    (held,) = [plan for plan in shown.plans if plan.id == "pr-7"]
    assert (held.held, held.needs, held.todos, held.age_ms) == (3, 1, 1, 3_600_000)


def test_a_run_whose_program_was_not_started_yet_is_not_shown_as_going_on(tmp_path: Path) -> None:
    scene, run = OperatorScene(tmp_path), "20260101T120000000Z-triage-00000001"
    scene.plan("mine", "- [ ] Work <!-- prloom:todo t-1 -->\n", DispatchState())
    scene.run("mine", run, calls=0)
    with SafeDir.make(scene.where.worktree("mine"), *paths.LOCAL, paths.RUNS, run) as folder:
        folder.remove("activity.jsonl")
    with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
        assert dashboard.read(scene.where, NOW).working == ()


def test_without_a_dispatcher_no_step_no_hook_and_no_run_that_ended_is_shown(tmp_path: Path) -> None:
    scene = every_state(OperatorScene(tmp_path))

    shown = dashboard.read(scene.where, NOW)

    assert (shown.working, shown.runs_now, shown.dispatcher.running) == ((), 0, False)
    assert {need.kind for need in shown.needs}.isdisjoint({"confirm", "question", "settings"})


def test_the_document_can_be_read_again_and_its_version_is_in_it(shown: Dashboard) -> None:
    document = json.loads(json_codec.encode(shown))

    assert document["schemaVersion"] == 1
    assert set(document) >= {"needs", "working", "waiting", "plans", "today", "dispatcher", "sources"}


@pytest.mark.parametrize("state", OPEN)
def test_an_event_in_each_open_state_is_counted_in_its_plan(state: str, scene: OperatorScene) -> None:
    event = scene.event("e", state)
    if state == "deferred":
        event = scene.deferred("e")
    scene.plan("pr-1", "", DispatchState(open={"e": event}))

    (plan,) = dashboard.read(scene.where, NOW).plans

    assert getattr(plan, state) == 1


def ages(shown: Dashboard) -> list[tuple[str, float | None]]:
    """Return of what kind each need is, and how many hours it is old."""
    found = [(need.kind, need.age_ms) for need in shown.needs]
    return [(kind, None if age is None else age / 3_600_000) for kind, age in found]


def test_what_a_state_of_an_older_version_does_not_date_has_the_age_of_the_file_that_says_it(
    scene: OperatorScene,
) -> None:
    local = scene.plan("pr-2", "- [b] Do it <!-- prloom:todo t-1 -->\n")
    scene.age(local / paths.PLAN_TEXT, hours=3)

    assert ages(dashboard.read(scene.where, NOW)) == [("parked", 3)]


@pytest.mark.parametrize("block", [None, "the worktree has changes"])
def test_a_plan_that_the_operator_paused_needs_nobody_and_is_shown_as_paused(
    scene: OperatorScene, block: str | None
) -> None:
    state = DispatchState(paused=True, paused_at=scene.ago(hours=4))
    if block is not None:
        state = replace(state, block=Block(reason=block, since=scene.ago(hours=5), way_on="prloom resume pr-1"))
    scene.plan("pr-1", "- [ ] one\n", state)

    found = dashboard.read(scene.where, NOW)

    assert found.needs == ()
    assert [(line.id, dashboard_words.state(line)) for line in found.plans] == [("pr-1", "paused")]


def test_a_plan_that_cannot_be_read_has_the_age_of_its_latest_file(scene: OperatorScene) -> None:
    local = scene.plan("pr-1")
    (local / paths.PLAN_STATE).write_text("{")
    scene.age(*(path for path in local.rglob("*") if path.is_file()), hours=6)
    scene.age(local / paths.PLAN_STATE, hours=4)

    assert ages(dashboard.read(scene.where, NOW)) == [("blocked", 4)]


def test_a_plan_that_the_dispatcher_cannot_open_and_one_with_an_error_have_its_age(scene: OperatorScene) -> None:
    scene.plan("pr-1")
    scene.report(paths.PLANS, {"unreadable": {"pr-1": "no room"}, "since": {"pr-1": scene.ago(hours=2)}})
    scene.plan("pr-2", blocked=True, last_error="the branch is gone", last_error_at=scene.ago(hours=5))

    assert ages(dashboard.read(scene.where, NOW)) == [("blocked", 5), ("blocked", 2)]


def test_a_plan_whose_last_try_failed_needs_a_person_though_prloom_tries_again(scene: OperatorScene) -> None:
    scene.plan("pr-1", "- [ ] one\n", last_error="no exchange", last_error_at=scene.ago(hours=5))

    found = dashboard.read(scene.where, NOW)

    assert [(need.kind, need.plan, need.text, need.commands) for need in found.needs] == [
        ("error", "pr-1", "no exchange", ("prloom doctor",))
    ]
    assert ages(found) == [("error", 5)]


def test_a_report_of_an_older_dispatcher_without_times_is_read_and_its_needs_come_last(scene: OperatorScene) -> None:
    scene.plan("pr-1")
    scene.report(paths.PLANS, {"unreadable": {"pr-1": "no room"}})
    scene.report(paths.BRIDGES, {"bridges": [{"name": "github", "error": "502", "warnings": ["line 3"]}]})
    scene.plan("pr-2", "- [ ] one\n", last_error="no exchange", last_error_at=scene.ago(hours=1))

    found = ages(dashboard.read(scene.where, NOW))

    assert found[0] == ("error", 1)
    assert sorted(found[1:]) == [("blocked", None), ("bridge", None), ("source", None)]


@pytest.mark.parametrize(("error", "hours"), [("prloom.toml: unknown key tick", 4), ("PRLOOM_TICK: unknown key", None)])
def test_a_mistake_in_the_file_is_as_old_as_its_last_change(
    tmp_path: Path, error: str, hours: float | None, scene: OperatorScene
) -> None:
    (tmp_path / "prloom.toml").write_text("tick = 1\n")
    scene.age(tmp_path / "prloom.toml", hours=4)

    assert ages(dashboard.read(scene.where, NOW, config_error=error)) == [("config", hours)]


def test_a_plan_is_as_old_as_its_oldest_pending_event(scene: OperatorScene) -> None:
    pending = [scene.event(f"e{hours}", "pending", since=scene.ago(hours=hours)) for hours in (2, 7)]
    scene.plan("pr-1", "", DispatchState(open={event.id: event for event in pending}))

    (plan,) = dashboard.read(scene.where, NOW).plans

    assert (plan.pending, plan.age_ms) == (2, 7 * 3_600_000)
