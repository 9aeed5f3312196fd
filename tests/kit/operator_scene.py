"""A repository as dispatchers, agents and people leave it: plans of every kind, and something in every state.

It is written as files, so that what reads them can be tried without a dispatcher: `prloom status`, `top` and the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from prloom.engine.bus import entries
from prloom.model import record
from prloom.model.action import Action, Comment
from prloom.model.activity import ActivityEvent
from prloom.model.decision import Deferral
from prloom.model.event import Target
from prloom.model.kinds import OpenState
from prloom.model.plan import Plan
from prloom.model.record import Position, Timestamp
from prloom.model.run import RunRecord, RunUsage
from prloom.model.state import DispatchState, OpenEvent, QueuedAction
from prloom.model.work import Block, Question, TodoWork
from prloom.storage import activity_file, dispatcher_files, envelope, paths, run_log
from prloom.storage.activity_file import StoredActivity
from prloom.storage.document import Document
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red][bold]<script>alert(1)</script>"
"""Text from outside that tries a terminal, a markup and a page."""

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class OperatorScene:
    """Writes plans and what a dispatcher reports; all times count back from `now`."""

    root: Path
    now: datetime = NOW

    @property
    def where(self) -> RepositoryPaths:
        return RepositoryPaths(self.root, self.root / "prloom/.local/worktrees")

    def ago(self, **span: float) -> Timestamp:
        return Timestamp.of(self.now - timedelta(**span))

    def later(self, **span: float) -> Timestamp:
        return Timestamp.of(self.now + timedelta(**span))

    def age(self, *files: Path, **span: float) -> None:
        """Have files written last that long ago."""
        at = self.ago(**span).timestamp()
        for file in files:
            os.utime(file, (at, at))

    def plan(self, plan_id: str, text: str = "", state: DispatchState | None = None, **fields: Any) -> Path:
        """Write a plan and return its local folder; `text` are the lines of its TODOs."""
        local = self.where.worktree(plan_id).joinpath(*paths.LOCAL)
        bus = local / paths.BUS / paths.BUS_STATE
        bus.mkdir(parents=True)
        number = plan_id.removeprefix("pr-")
        given = {"branch": plan_id, "title": f"Title of {plan_id}", "pr": int(number) if number.isdigit() else None}
        plan = Plan(id=plan_id, **{**given, **fields})
        (local / paths.PLAN_STATE).write_text(json.dumps(record.to_builtins(plan)))
        (local / paths.PLAN_TEXT).write_text(f"# {plan.title}\n\n## TODO\n\n{text}")
        for name in (paths.EVENTS, paths.DECISIONS):
            (local / paths.BUS / name).write_text("")
        (bus / paths.DISPATCHER).write_text(json.dumps(record.to_builtins(state or DispatchState())))
        return local

    def event(self, event_id: str, state: OpenState, **fields: Any) -> OpenEvent:
        """Return an open event, an hour old unless `since` says otherwise."""
        given = {"type": "pr_comment", "source": "github", "digest": "", "since": self.ago(hours=1), **fields}
        return OpenEvent(id=event_id, state=state, position=Position(1, 0), **given)

    def deferred(self, event_id: str, **fields: Any) -> OpenEvent:
        wait = Deferral(
            owner="quiet-period",
            reason="people are still talking",
            attempts=2,
            first_deferred_at=self.ago(hours=3),
            deferred_until=self.later(seconds=40),
            deadline=self.later(days=7),
            on_expire="park",
        )
        return self.event(event_id, "deferred", deferral=wait, first_deferred_at=wait.first_deferred_at, **fields)

    def action(self, action_id: str, **fields: Any) -> QueuedAction:
        return QueuedAction(
            id=action_id, **{"position": (1, 0), "target": "github", "since": self.ago(minutes=30), **fields}
        )

    def queued(self, plan_id: str, action: Action) -> None:
        """Write an action to a plan's `actions.jsonl`, as the first."""
        line = envelope.encode(entries.NAMES[Action], record.sparse(action), str(self.ago(minutes=30)))
        (self.where.worktree(plan_id).joinpath(*paths.LOCAL, paths.BUS) / paths.ACTIONS).write_bytes(line + b"\n")

    def report(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a file in which a dispatcher reports something."""
        with SafeDir.make(self.root, *paths.LOCAL) as local:
            folder = local.make_sub(paths.BUS, paths.BUS_STATE)
            Document(folder, name).save({**record.to_builtins(content), "at": str(self.ago(seconds=1))})

    def dispatcher(
        self, *, pid: int | None = None, started: Timestamp | None = None, ticked: Timestamp | None = None
    ) -> None:
        """Have a dispatcher run, this process unless another is named: for days, and its last tick was just now."""
        pid = pid or os.getpid()
        about = {"pid": pid, "startTime": dispatcher_files.started(pid), "stopped": False}
        file = self.root.joinpath(*paths.LOCAL, dispatcher_files.OWNER)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**about, "startedAt": str(started or self.ago(days=9))}))
        at = (ticked or self.ago(seconds=1)).timestamp()
        os.utime(file, (at, at))

    def run(self, plan_id: str, run_id: str, calls: int = 3, **about: Any) -> None:
        """Write the folder of a run that goes on."""
        with SafeDir.make(self.where.worktree(plan_id), *paths.LOCAL, paths.RUNS, run_id) as folder:
            spec = {"stage": run_id.split("-")[1], "agent": "claude", "startedAt": str(self.ago(minutes=4)), **about}
            folder.replace("invocation.json", json.dumps(spec).encode())
            folder.replace(activity_file.NAME, b"")  # the start of the program is in it
            for number in range(calls):
                data = {"toolCallId": str(number), "toolName": "Bash", "arguments": {"command": f"make {EVIL}"}}
                event = ActivityEvent(
                    id=str(number),
                    seq=number,
                    type="TOOL_CALL_START",
                    plan_id=plan_id,
                    run_id=run_id,
                    timestamp=0,
                    data=data,
                )
                activity_file.append(folder, activity_file.encode(StoredActivity(event), str(self.ago())))
        with SafeDir.make(self.root, *paths.LOCAL, paths.STARTED_RUNS) as started:
            started.replace(run_id, json.dumps({"plan": plan_id}).encode())

    def ended_run(self, number: int, **about: Any) -> None:
        """Write a run of today that is over into the log of runs."""
        run_id = f"20260101T1110{number:02d}000Z-triage-0000000{number % 10}"
        given: dict[str, Any] = {
            "id": run_id,
            "plan": "pr-1",
            "stage": "triage",
            "agent": "claude",
            "model": "opus",
            "status": "ok",
        }
        usage = RunUsage(input_tokens=1000, output_tokens=100)
        times = {"started_at": self.ago(minutes=50), "ended_at": self.ago(minutes=49), "seconds": 60.0}
        run = RunRecord(
            **{**given, **times, "usage": usage, "cost_usd": 0.5, **about},
        )
        run_log.append(self.root, run, self.now)


def every_state(scene: OperatorScene) -> OperatorScene:
    """Write something in every state that a plan, an event, an action, a TODO, a run, a plugin or a bridge can have."""
    _plans_that_need_a_person(scene)
    _plans_that_go_on(scene)
    _reports(scene)
    for number in range(3):
        scene.ended_run(number)
    scene.ended_run(3, usage=None, cost_usd=None)
    return scene


def _plans_that_need_a_person(scene: OperatorScene) -> None:
    held = {
        f"h{n}": scene.event(f"h{n}", "held", author="mallory", reason="mallory has no permission here")
        for n in range(3)
    }
    scene.plan("pr-7", "- [ ] one <!-- prloom:todo t-1 -->\n", DispatchState(open=held), title=f"Held {EVIL}")
    odd = scene.event(f"odd {EVIL}", "held", author=f"eve{EVIL}", since=scene.ago(hours=5))
    scene.plan("pr-8", "", DispatchState(open={odd.id: odd}))
    parked = {
        f"p{n}": scene.event(f"p{n}", "parked", reason="triage failed 5 times", type="pr_review") for n in range(2)
    }
    scene.plan("pr-9", "", DispatchState(open=parked))
    fixes = scene.event(
        "ci", "parked", type="check_failed", reason="the brake max_ci_fixes = 3 is on: checks still fail"
    )
    scene.plan("pr-10", "", DispatchState(open={"ci": fixes}))
    queue = {
        "a-1": scene.action("a-1", failed=True, error="the thread is locked", tried_at=scene.ago(minutes=20)),
        "a-2": scene.action("a-2", failed=True, withheld=True, error="it holds a secret"),
        "a-3": scene.action("a-3", draft=True),
        "a-4": scene.action(
            "a-4", error="the brake max_replies_per_thread_per_day = 10 is on", next_try=scene.later(hours=9)
        ),
        "a-5": scene.action("a-5", error="the server answered 502", next_try=scene.later(minutes=2), attempts=1),
        "a-6": scene.action("a-6"),
    }
    scene.plan("pr-11", "", DispatchState(queue=queue))
    scene.queued("pr-11", Action(id="a-3", target=Target("github", {}), payload=Comment(message="It is faster now.")))
    since = scene.ago(hours=2)
    todo = "- [b] Choose a cache <!-- prloom:todo t-12 -->\n"
    block = Block(
        reason="the TODO waits for an answer",
        since=since,
        way_on="prloom todo pr-12 open t-12",
        todo="t-12",
        cause="todo",
    )
    asked = {"t-12": Question(text=f"Redis or memory? {EVIL}", after=DispatchState().log)}
    scene.plan("pr-12", todo, DispatchState(block=block, questions=asked))
    stopped = replace(
        block, reason="the remote refuses the commit", way_on="prloom resume pr-13", todo=None, cause="branch"
    )
    scene.plan("pr-13", "- [ ] two <!-- prloom:todo t-13 -->\n", DispatchState(block=stopped))
    scene.plan("pr-14", "- [ ] three <!-- prloom:todo t-14 -->\n", DispatchState(proposed="t-14"))
    scene.plan("pr-15", "", DispatchState(paused=True))
    limited = TodoWork(
        id="t-16",
        title="Pay",
        phase="ready",
        waits_for="the brake max_runs_per_day = 200 is on: 200 runs today",
        waits_since=scene.ago(hours=1),
        retry_at=scene.later(hours=12),
    )
    scene.plan("pr-16", "- [ ] Pay <!-- prloom:todo t-16 -->\n", DispatchState(work=limited))
    local = scene.plan("pr-17")
    (local / paths.PLAN_STATE).write_text("{")


def _plans_that_go_on(scene: OperatorScene) -> None:
    run = "20260101T115600000Z-worker-00000001"
    work = TodoWork(
        id="t-1", title="Rename foo to bar", phase="running", run=run, agent="claude", started_at=scene.ago(minutes=4)
    )
    scene.plan(
        "pr-1",
        "- [x] done <!-- prloom:todo t-0 -->\n- [ ] Rename foo to bar <!-- prloom:todo t-1 -->\n",
        DispatchState(work=work),
    )
    scene.run("pr-1", run, todo="t-1", attempt=1)
    triaged = scene.event("t", "pending", run="20260101T115700000Z-triage-00000002", by="claude")
    scene.plan("pr-2", "", DispatchState(open={"t": triaged}))
    scene.run("pr-2", "20260101T115700000Z-triage-00000002", calls=0)
    checks = TodoWork(id="t-3", title="Check it", phase="changed", started_at=scene.ago(minutes=9))
    scene.plan("pr-3", "- [ ] Check it <!-- prloom:todo t-3 -->\n", DispatchState(work=checks))
    late = TodoWork(
        id="t-4",
        title="Later",
        phase="ready",
        waits_for="the usage limit is reached",
        waits_since=scene.ago(minutes=5),
        retry_at=scene.later(hours=1),
    )
    scene.plan("pr-4", "- [ ] Later <!-- prloom:todo t-4 -->\n", DispatchState(work=late))
    scene.plan(
        "pr-5",
        "",
        DispatchState(open={"d": scene.deferred("d")}, done={"handled": 4, "triaged": 2}, delivered=3, commits=2),
    )
    scene.plan("pr-6", "", DispatchState(), status="merged")
    scene.plan("cleanup", "", DispatchState(open={"n": scene.event("n", "pending")}), pr=None)


def _reports(scene: OperatorScene) -> None:
    polled = scene.ago(seconds=12)
    scene.report(
        paths.BRIDGES,
        {
            "bridges": [
                {"name": "github", "lastPollAt": polled, "lastOkAt": polled, "requests": {"total": 9, "charged": 1}},
                {"name": "gitea", "lastPollAt": polled, "lastOkAt": scene.ago(hours=1), "error": f"502 {EVIL}"},
                {"name": "local", "lastPollAt": polled, "lastOkAt": polled, "warnings": ["line 3 is ignored"]},
            ]
        },
    )
    scene.report(
        paths.PLUGINS,
        {
            "plugins": [
                {"name": "quiet-period", "source": "bundled", "loaded": True, "hooks": ["beforeTriage"]},
                {"name": "broken", "source": "project", "error": f"ImportError: no module named x {EVIL}"},
            ]
        },
    )
    missing = "its required settings are missing: url; run `prloom plugins config notify`"
    since = str(scene.ago(minutes=3))
    scene.report(
        paths.DAEMON_STATUS,
        {
            "daemons": [
                {"name": "notify", "state": "error", "reason": missing, "since": since},
                {"name": "monitor", "state": "error", "reason": "exit code 1", "since": since},
                {
                    "name": "slow",
                    "state": "error",
                    "reason": "exit code 1",
                    "since": since,
                    "nextAttemptAt": str(scene.later(seconds=5)),
                },
                {"name": "good", "state": "running", "since": since, "pid": 1},
            ]
        },
    )
    about = {
        "plan": "pr-1",
        "run": "20260101T115600000Z-worker-00000001",
        "stage": "worker",
        "until": scene.later(minutes=10),
    }
    scene.report(
        paths.REQUESTS,
        {
            "requests": [
                {"id": "ask-1", "tool": "deploy", "arguments": {"to": EVIL}, "since": scene.ago(minutes=2), **about},
                {
                    "id": "ask-2",
                    "tool": "prloom_ask",
                    "question": f"Tabs? {EVIL}",
                    "since": scene.ago(minutes=1),
                    **about,
                },
            ]
        },
    )
    hook = {
        "plan": "cleanup",
        "plugin": "quiet-period",
        "hook": "beforeTriage",
        "events": ["n"],
        "since": scene.ago(seconds=3),
    }
    scene.report(paths.WORK, {"hooks": [hook], "waiting": ["pr-9"], "limits": {}, "todoLimits": {}})
