"""Each action of the pages does what its command does."""

from __future__ import annotations

import json

import pytest
from stage import Stage, said
from stage_parts import deferring
from web_browser import BASE, Browser

from prloom.api import Author, Refused
from prloom.engine.operator import poll_request
from prloom.model.event import digest
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir
from prloom.web.actions import ACTIONS

PLAN = "# A plan\n\n## TODO\n\n- [ ] Do it <!-- prloom:todo t-1 -->\n- [ ] Then this <!-- prloom:todo t-2 -->\n"


@pytest.fixture
async def waiting(stage: Stage) -> Stage:
    """A deferred event, a held one, and a failed action."""
    local = stage.adopt()
    (local / "plan.md").write_text(PLAN)
    stage.plugin("quiet", deferring(saying="wait"))
    stage.bridge.refuse = lambda action: Refused("locked")
    stage.append(said("d1", "wait"), said("h1", "let me in", author=Author("eve", "none")), said("t1"))
    await stage.tick()
    return stage


def state(stage: Stage, event_id: str) -> str | None:
    found = stage.open().get(event_id)
    return found["state"] if found else None


async def test_an_approval_is_for_the_text_that_the_page_showed(waiting: Stage, browser: Browser):
    shown = browser.json("/read")["held"]

    assert [(each["id"], each["body"]) for each in shown] == [("h1", "let me in")]
    assert browser.act("approve", id="h1", plan="pr-7", digest="of another text").startswith("the text of h1 is not")
    assert state(waiting, "h1") == "held"
    assert browser.act("approve", id="h1", plan="pr-7", digest=shown[0]["digest"]) == "Approved: h1."
    assert state(waiting, "h1") == "pending"


async def test_the_page_of_an_event_approves_its_text(waiting: Stage, browser: Browser):
    text = digest(said("h1", "let me in", author=Author("eve", "none")))

    assert text in browser.get("/event?id=h1&plan=pr-7").text


async def test_a_deferred_event_is_due_now(waiting: Stage, browser: Browser):
    assert browser.act("retry", id="d1", plan="pr-7") == "Due now: d1."
    assert state(waiting, "d1") == "pending"
    assert browser.act("retry", id="d1", plan="pr-7").startswith("d1 is already pending")


async def test_an_event_is_dropped_with_a_reason(waiting: Stage, browser: Browser):
    assert browser.act("drop", id="d1", plan="pr-7").startswith("the reason is missing")
    assert browser.act("drop", id="d1", plan="pr-7", reason="no longer wanted") == "Dropped: d1."
    assert state(waiting, "d1") is None


async def test_a_plan_is_paused_and_resumed(waiting: Stage, browser: Browser):
    assert browser.act("pause", plan="pr-7") == "Paused: pr-7."
    assert waiting.state()["paused"]
    assert browser.act("resume", plan="#7") == "Resumed: pr-7."
    assert not waiting.state().get("paused")


async def test_all_plans_are_paused_and_resumed_only_where_that_is_said(waiting: Stage, browser: Browser):
    waiting.adopt("other", pr=8)

    assert browser.act("pause", all="yes") == "Paused: other, pr-7."
    assert "Resumed: other, pr-7." in browser.act("resume", all="yes")
    assert "the plan is missing" in browser.act("pause", plan="")
    assert "the form names a plan, and all plans" in browser.act("pause", plan="pr-7", all="yes")


async def test_a_plan_is_blocked_and_unblocked(waiting: Stage, browser: Browser):
    assert browser.act("block", plan="pr-7", reason="on holiday") == "Blocked: pr-7."
    assert waiting.state()["block"]["reason"] == "on holiday"
    assert browser.act("unblock", plan="pr-7") == "Unblocked: pr-7."
    assert "block" not in waiting.state()


async def test_a_todo_is_dropped_opened_and_added(waiting: Stage, browser: Browser):
    assert browser.act("todo", plan="pr-7", todo="t-2", change="drop") == "Dropped: Then this."
    assert browser.act("todo", plan="pr-7", todo="t-2", change="open") == "Opened: t-2."
    assert browser.act("todo", plan="pr-7", todo="t-2", change="burn").startswith("a TODO cannot be changed so")
    assert browser.act("add-todo", plan="pr-7", title="And that", context="soon").startswith("Added: t-")
    assert "And that" in (waiting.local() / "plan.md").read_text()


@pytest.mark.parametrize("action", ["allow", "allow-always", "deny", "answer"])
async def test_a_call_of_a_tool_needs_a_dispatcher(waiting: Stage, browser: Browser, action: str):
    assert browser.act(action, id="ask-1", text="yes").startswith("no dispatcher is running, so no call waits")


async def test_a_run_that_is_not_there_cannot_be_stopped(waiting: Stage, browser: Browser):
    assert browser.act("stop", run="none").startswith("no run none")


async def test_a_poll_is_requested_from_the_dispatcher_that_runs(waiting: Stage, browser: Browser):
    assert browser.act("poll") == poll_request.NO_DISPATCHER
    with SafeDir.make(waiting.root, "prloom", ".local") as local, DispatcherLock(local):
        assert browser.act("poll") == "Asked the running dispatcher to poll now."
    (line,) = (waiting.root / "prloom/.local/control.jsonl").read_text().splitlines()
    assert json.loads(line)["data"]["type"] == "poll"


async def test_replies_that_wait_are_sent_edited_and_dropped(stage: Stage, browser: Browser):
    stage.configure('[outbox]\ntrusted = "draft"\n')
    stage.adopt()
    stage.append(said("c1"), said("c2"))
    await stage.tick()
    (first, read), (second, _) = [(each["id"], each["version"]) for each in browser.json("/read")["drafts"]]

    assert browser.act("edit-draft", id=first, text="in other words") == f"Changed: {first}."
    (edited,) = [each for each in browser.json("/read")["drafts"] if each["id"] == first]
    assert edited["payload"]["message"] == "in other words"
    assert browser.act("send", id=first).startswith(f"the text of {first} is not named")
    assert browser.act("send", id=first, version=read).startswith(f"the text of {first} is not the one that the page")
    done = browser.act("send", id=first, version=edited["version"])
    assert done == f"To be posted by the next `prloom start`: {first}."
    assert browser.act("drop-draft", id=second) == f"Dropped: {second}."
    assert browser.act("send", id=second, version="1-0").startswith(f"{second}: there is no such draft any more")
    await stage.tick()
    assert stage.bridge.said == ["in other words"]


async def test_a_draft_that_is_edited_before_a_running_dispatcher_sends_it_is_not_sent(stage: Stage, browser: Browser):
    stage.configure('[outbox]\ntrusted = "draft"\n')
    stage.adopt()
    stage.append(said("c1"))
    await stage.tick()
    (draft,) = browser.json("/read")["drafts"]
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        browser.act("edit-draft", id=draft["id"], text="by another browser")
        assert browser.act("send", id=draft["id"], version=draft["version"]).startswith(
            "Sent to the running dispatcher"
        )
    await stage.tick()

    assert stage.bridge.said == []
    assert [each["payload"]["message"] for each in browser.json("/read")["drafts"]] == ["by another browser"]


async def test_what_was_done_is_said_on_the_next_page_once(waiting: Stage, browser: Browser):
    sent = {"csrf": browser.csrf, "back": "/events", "plan": "pr-7"}
    browser.post("/actions/pause", data=sent, headers={"origin": BASE})

    assert "Paused: pr-7." not in browser.get("/events", headers={"x-prloom-refresh": "1"}).text
    assert "Paused: pr-7." in browser.get("/events").text
    assert "Paused: pr-7." not in browser.get("/events").text


async def test_a_program_acts_with_the_token_in_a_header(waiting: Stage, browser: Browser):
    headers = {"origin": BASE, "x-csrf-token": browser.csrf, "accept": "application/json"}

    done = browser.post("/actions/retry", data={"id": "d1"}, headers=headers)
    failed = browser.post("/actions/retry", data={"id": "d1"}, headers=headers)

    assert (done.status_code, done.json()) == (200, {"done": "Due now: d1."})
    assert (failed.status_code, failed.json()["error"]) == (409, "d1 is already pending; run `prloom start`")


def test_an_action_that_does_not_exist_is_refused(browser: Browser):
    answer = browser.post("/actions/burn", data={"csrf": browser.csrf}, headers={"origin": BASE})

    assert answer.status_code == 404


def test_each_action_is_tried_here(request: pytest.FixtureRequest):
    tried = request.path.read_text()

    assert [action for action in ACTIONS if f'"{action}"' not in tried and action != "release"] == []


async def test_nothing_is_approved_without_the_text_that_was_shown(waiting: Stage, browser: Browser):
    assert browser.act("approve", id="h1", plan="pr-7") == "the text of h1 is not named; reload the page, and read it"
    assert browser.act("release", id="h1", plan="pr-7").startswith("h1 is an event, and not a reply that is withheld")
    assert state(waiting, "h1") == "held"
