"""Each page shows its value, to people and to programs, and every text as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import whole_page
from operator_scene import EVIL, OperatorScene, every_state
from stage import Stage, said
from stage_parts import deferring
from web_browser import Browser, Time

from prloom.agents import run_folder
from prloom.api import Author
from prloom.cli.events import COLUMNS
from prloom.model import record
from prloom.model.decision import Decision
from prloom.model.kinds import EVENT_ORDERS, STATES
from prloom.storage import envelope, paths
from prloom.web.app import PAGES

RUN = "20260101T115600000Z-worker-00000001"
HOSTILE = (
    f'{EVIL}\n<img src=x onerror=alert(1)>\n"><script>alert(2)</script>\n[click](javascript:alert(3))\n{{{{ 7 * 7 }}}}'
)


@pytest.fixture
def scene(stage: Stage, time: Time) -> OperatorScene:
    """Something in every state, with a script in every text."""
    made = every_state(OperatorScene(stage.root, time.now))
    made.plan(
        "evil", f"- [ ] Do {EVIL} <!-- prloom:todo t-e -->\n\n## Notes\n\n{HOSTILE}\n", title=HOSTILE, branch=f"b{EVIL}"
    )
    return made


@pytest.fixture
async def played(stage: Stage) -> Stage:
    """A plan whose events a dispatcher took in: a hostile one that is held, one that waits, one that is answered."""
    stage.adopt(title=HOSTILE)
    stage.plugin("quiet", deferring(saying="wait"))
    held = said("h1", HOSTILE, title=HOSTILE, author=Author("eve<b>", "none"), url="javascript:alert(4)")
    stage.append(held, said("d1", "please wait"), said("t1", HOSTILE))
    await stage.tick()
    return stage


def test_every_page_is_whole_and_shows_each_text_as_text(scene: OperatorScene, browser: Browser):
    paths = [
        "/",
        "/read",
        "/events",
        "/log",
        "/costs",
        "/stats",
        "/extensions",
        f"/runs/{RUN}",
        "/plans/evil/todos/t-e",
    ]
    paths += [f"/plans/{plan}" for plan in ("evil", *(f"pr-{number}" for number in range(1, 18)), "cleanup")]
    for path in paths:
        answer = browser.get(path)
        assert answer.status_code == 200, f"{path}: {whole_page.text(answer.text)}"
        assert whole_page.problems(answer.text) == [], path
        assert "\x1b" not in answer.text
        assert "\u202e" not in answer.text
    shown = whole_page.text(browser.get("/plans/evil").text)
    assert "<script>alert(2)</script>" in shown
    assert "\\u202e" in shown
    assert "{{ 7 * 7 }}" in shown
    assert "[click](javascript:alert(3))" in shown


async def test_what_came_in_is_shown_as_text_on_each_page_that_has_it(played: Stage, browser: Browser):
    for path in ("/", "/read", "/events", "/log?since=30d", "/plans/pr-7", "/event?id=h1", "/event?id=t1&plan=pr-7"):
        answer = browser.get(path)
        assert answer.status_code == 200, f"{path}: {whole_page.text(answer.text)}"
        assert whole_page.problems(answer.text) == [], path
    shown = whole_page.text(browser.get("/event?id=h1").text)
    assert "<img src=x onerror=alert(1)>" in shown
    assert "eve<b>" in shown


def test_the_first_page_of_an_empty_repository_says_how_to_begin(browser: Browser):
    shown = whole_page.text(browser.get("/").text)

    assert "Nothing needs you." in shown
    assert "prloom adopt" in shown
    assert "Dispatcher not running; prloom start runs it" in shown


def test_a_configuration_that_cannot_be_read_is_shown_and_hides_nothing(stage: Stage, browser: Browser):
    (stage.root / "prloom.toml").write_text("nonsense = 1\n")

    assert "nonsense" in whole_page.text(browser.get("/").text)
    assert "nonsense" in whole_page.text(browser.get("/extensions").text)


async def test_a_plans_page_has_its_conversation_with_the_history_of_each_event(played: Stage, browser: Browser):
    found = browser.json("/plans/pr-7")

    assert [each["id"] for each in found["conversation"]] == ["t1", "d1", "h1"]
    assert [each["state"] for each in found["conversation"]] == ["triaged", "deferred", "held"]
    assert [step["verdict"] for step in found["conversation"][1]["steps"]] == ["admitted", "deferred"]
    assert found["conversation"][2]["body"] == HOSTILE


def test_the_form_of_events_offers_each_state_and_each_order(browser: Browser):
    shown = browser.get("/events").text

    for name, values in (("state", STATES), ("sort", EVENT_ORDERS)):
        (form,) = re.findall(f'<select name="{name}">.*?</select>', shown)
        assert [each for each in re.findall('value="(.*?)"', form) if each] == [*values]


async def test_the_list_of_events_has_the_columns_of_the_command(played: Stage, browser: Browser):
    shown = browser.get("/events").text

    heads = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", shown)
    assert [head.upper() for head in heads] == [column.head for column in COLUMNS]
    first_row = shown.partition("<tbody>")[2].partition("</tr>")[0]
    assert len(re.findall(r"<td[ >]", first_row)) == len(COLUMNS)


async def test_an_events_page_is_its_history(played: Stage, browser: Browser):
    found = browser.json("/event?id=d1")
    shown = whole_page.text(browser.get("/event?id=d1").text)

    assert found["state"] == "deferred"
    assert [step["verdict"] for step in found["steps"]] == ["admitted", "deferred"]
    assert "quiet" in shown
    assert "please wait" in shown


def test_a_runs_page_has_its_activity_and_says_what_it_is_for(scene: OperatorScene, browser: Browser):
    found = browser.json(f"/runs/{RUN}")

    assert (found["run"]["stage"], found["steps"]) == ("worker", 3)
    assert "TOOL_CALL_START" in browser.get(f"/runs/{RUN}").text


def test_a_secret_that_a_run_was_told_is_masked_for_programs_too(scene: OperatorScene, browser: Browser):
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"
    (folder,) = scene.root.glob(f"prloom/.local/worktrees/*/prloom/.local/runs/{RUN}")
    (folder / run_folder.PROMPT).write_text(f"Use {secret}.")

    for accept in ("text/html", "application/json"):
        text = browser.get(f"/runs/{RUN}", headers={"accept": accept}).text
        assert secret not in text
        assert "Use [secret]." in text


def test_a_secret_in_the_log_or_in_the_activity_of_a_run_is_masked_for_programs_too(
    scene: OperatorScene, browser: Browser, time: Time
):
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"
    scene.ended_run(9, id="20260101T115600000Z-worker-00000009", status="failed", error=f"push with {secret} failed")
    (folder,) = scene.root.glob(f"prloom/.local/worktrees/*/prloom/.local/runs/{RUN}")
    activity = folder / "activity.jsonl"
    activity.write_text(activity.read_text().replace("make ", f"make TOKEN={secret} "))

    for path in ("/log?since=24h", f"/runs/{RUN}"):
        for accept in ("text/html", "application/json"):
            text = browser.get(path, headers={"accept": accept}).text
            assert secret not in text, (path, accept)
            assert "[secret]" in text, (path, accept)


def test_costs_have_charts_whose_figures_are_text_too(scene: OperatorScene, browser: Browser):
    page = browser.get("/costs?since=30d").text

    assert "$1.50" in whole_page.text(page)
    assert 'role="img" aria-label="By plan: pr-1: $1.50"' in page
    assert sum(group["runs"] for group in browser.json("/costs?since=30d")["groups"]) == 4


async def test_the_slowest_plugin_and_the_waits_of_events_are_seen_at_once_by_people_and_programs(
    stage: Stage, browser: Browser, time: Time
):
    stage.adopt()
    stage.plugin("quick", deferring(saying="wait"))
    stage.append(said("a"), said("b", "wait"))
    await stage.tick()
    time.now = stage.clock.now
    slow = record.sparse(Decision(seq=1000, stage="onEvent", by="slow", duration_ms=61_000))
    with (stage.local() / "bus/decisions.jsonl").open("ab") as log:
        log.write(envelope.encode("decision", slow, record.iso(time.now)) + b"\n")

    for path in ("/stats", "/extensions"):
        page = browser.get(path).text
        assert 'aria-label="How long plugins took: slow: p95 1 min, p50 1 min; quick: p95 ' in page, path
        assert whole_page.problems(page) == []
    assert [each["plugin"] for each in browser.json("/extensions")["times"]] == ["slow", "quick"]
    found = browser.json("/stats")
    assert (found["throughput"]["eventsIn"], found["waits"]["count"], len(found["days"])) == (2, 1, 1)
    assert "How long events waited, by day: " in browser.get("/stats").text


def test_what_a_daemon_printed_is_there_for_programs_too_without_its_secrets(scene: OperatorScene, browser: Browser):
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"
    name = "conversation-monitor"
    (scene.root / "prloom.toml").write_text(f'[plugins]\nenabled = ["{name}"]\n')
    folder = scene.where.local / paths.DAEMONS / paths.plugin_folder(name)
    folder.mkdir(parents=True)
    (folder / paths.DAEMON_LOG).write_text(f"listening with {secret}\n")

    assert browser.json("/extensions")["logs"] == {name: ["listening with [secret]"]}
    assert "listening with [secret]" in whole_page.text(browser.get("/extensions").text)


def test_the_page_of_plugins_shows_what_went_wrong(scene: OperatorScene, browser: Browser):
    shown = whole_page.text(browser.get("/extensions").text)

    assert "gitea" in shown
    assert "502" in shown
    assert "line 3 is ignored" in shown


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/plans/none", "no plan none"),
        ("/plans/%2e%2e", "no plan .."),
        ("/plans/..%2F..%2Fetc", "there is no such page"),
        ("/runs/none", "no run none in the worktrees"),
        ("/event?id=none", "no event"),
        ("/nothing", "there is no such page"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(stage: Stage, browser: Browser, path: str, told: str):
    answer = browser.get(path)

    assert answer.status_code == 404
    assert told in whole_page.text(answer.text)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/events?since=ever", "since: 'ever' is not a time; write an age such as 30m, 2h or 7d, a date such as"),
        ("/costs?since=1x", "since: '1x' is not a time"),
        ("/events?state=foo", "state=foo is none of its values; use one of pending, deferred, held, parked, handled"),
        ("/events?sort=zz", "sort=zz is none of its values; use one of came, age"),
        ("/events?limit=-1", "limit=-1 is not a number; write one from 1 to 2000"),
        ("/log?limit=0", "limit=0 is not a number; write one from 1 to 2000"),
    ],
)
def test_a_query_that_means_nothing_is_refused_with_what_is_right(browser: Browser, path: str, told: str):
    answer = browser.get(path)

    assert answer.status_code == 400
    assert told in whole_page.text(answer.text)


@pytest.mark.parametrize("since", ["2h", "1h30m", "2026-11-21", "2026-11-21T20:16:05Z"])
def test_pages_take_any_age_or_date_that_the_command_line_takes(browser: Browser, since: str):
    for page in ("/events", "/costs", "/log", "/stats"):
        assert browser.get(f"{page}?since={since}").status_code == 200


def test_a_program_is_refused_as_json(browser: Browser):
    answer = browser.get("/plans/none", headers={"accept": "application/json"})

    assert answer.status_code == 404
    assert answer.json()["error"].startswith("no plan none")


def test_the_figures_are_in_prometheus_format(scene: OperatorScene, browser: Browser):
    answer = browser.get("/metrics")
    lines = answer.text.splitlines()

    assert answer.headers["content-type"].startswith("text/plain")
    assert "prloom_dispatcher_up 0.0" in lines
    assert 'prloom_needs{kind="held"} 2.0' in lines
    assert 'prloom_bridge_up{bridge="gitea"} 0.0' in lines
    assert "prloom_today_runs_total 4.0" in lines
    assert "mallory" not in answer.text


def test_each_page_is_tried_here():
    tried = Path(__file__).read_text()

    assert [path for path in PAGES if f'"{path.partition("{")[0]}' not in tried] == []


def test_a_plan_is_named_and_no_path_leads_to_that_of_another_repository(scene: OperatorScene, browser: Browser):
    outside = scene.root.parent / "other"
    (outside / "prloom" / ".local").mkdir(parents=True)
    (outside / "prloom" / ".local" / "plan.md").write_text("# P\n\n## TODO\n\n- [ ] Theirs <!-- prloom:todo t-x -->\n")

    answer = browser.get("/event", params={"id": "t-x", "plan": "../../../../other"})

    assert answer.status_code == 404
    assert "is a TODO" not in answer.text


def test_a_plan_whose_log_a_newer_prloom_has_written_is_shown_with_what_is_wrong(stage: Stage, browser: Browser):
    local = stage.adopt()
    (local / "plan.md").write_text("# A plan\n\n## TODO\n\n- [ ] Do it <!-- prloom:todo t-1 -->\n")
    (local / "bus").mkdir(exist_ok=True)
    (local / "bus/decisions.jsonl").write_text('{"schemaVersion": 99, "data": {}}\n')

    answer = browser.get("/plans/pr-7")

    assert answer.status_code == 200
    assert "decisions.jsonl contains a decision that cannot be read: its schemaVersion is 99" in answer.text
    assert "Do it" in answer.text
    todo = browser.get("/plans/pr-7/todos/t-1")
    assert (todo.status_code, "update prloom" in todo.text, "Refused" in todo.text) == (500, True, False)
