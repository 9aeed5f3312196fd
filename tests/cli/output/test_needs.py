"""The calls and questions of agents that wait for a person, as `prloom status` shows them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from command_line import Prloom
from stage import Stage, said

from prloom.api import Target
from prloom.engine.tools import confirmations
from prloom.engine.views import status
from prloom.model.permission import PermissionRequest
from prloom.model.record import Timestamp
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir


def publish(stage: Stage, **of_question: Any) -> None:
    since, until = Timestamp.of(stage.clock()), Timestamp.of(stage.clock() + timedelta(minutes=10))
    about = {"plan": "pr-7", "run": "run-1", "stage": "worker", "since": since, "until": until}
    call = PermissionRequest(id="ask-1", tool="deploy", plugin="ops", arguments={"to": "a\x1b[2Jb"}, **about)
    question = PermissionRequest(id="ask-2", tool="prloom_ask", question="Tabs?\x1b[2J", **about, **of_question)
    with SafeDir.make(stage.root, *paths.LOCAL) as local:
        state = local.make_sub(paths.BUS, paths.BUS_STATE)
        Document(state, paths.REQUESTS).save({"requests": confirmations.listed((call, question))})


def test_a_call_and_a_question_that_wait_need_the_operator(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    publish(stage)

    with SafeDir.make(stage.root, *paths.LOCAL) as local, DispatcherLock(local):
        text = prloom("status").out
        listed = json.loads(prloom("status", "--json").out)["requests"]

    assert "Needs you (2, oldest first)" in text
    assert "pr-7  confirm   the worker wants to call deploy(" in text
    assert "`prloom allow ask-1` or `prloom deny ask-1`" in text
    assert "answer where it was posted, or leave it: prloom deny ask-2" in text.replace("`", "")
    assert "\x1b" not in text
    assert [(each["id"], each["tool"], each.get("question")) for each in listed] == [
        ("ask-1", "deploy", None),
        ("ask-2", "prloom_ask", "Tabs?\x1b[2J"),
    ]


async def test_a_question_that_a_brake_holds_back_says_so_and_what_posts_it(stage: Stage, prloom: Prloom) -> None:
    stage.configure("[limits]\nmax_replies_per_thread_per_day = 1\n")
    stage.adopt()
    stage.bridge.news += [said(name, reply_to=Target("forge", {"thread": "t1"})) for name in ("a", "b")]
    await stage.tick()
    (plan,) = status.read(stage.paths, stage.clock()).plans
    assert plan.actions.waiting
    publish(stage, post=plan.actions.waiting[0].id)

    with SafeDir.make(stage.root, *paths.LOCAL) as local, DispatcherLock(local):
        text = " ".join(prloom("status").out.replace("`", "").split())

    assert "it is not posted yet: the brake max_replies_per_thread_per_day = 1 is on" in text
    assert "have it posted: prloom resume pr-7, or leave it: prloom deny ask-2" in text


def test_requests_of_a_dispatcher_that_was_killed_are_not_shown(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    publish(stage)

    assert "requests" not in json.loads(prloom("status", "--json").out)
    assert "ask-1" not in prloom("status").out
