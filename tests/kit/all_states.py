"""One repository with something in every state that an event, action, TODO, plan, run, plugin or bridge can have.

The states are those that the code declares: one that is added there is missing here until a builder writes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from msgspec.structs import replace
from operator_scene import OperatorScene

from prloom.core.plans.plan_reader import BOXES, TodoState
from prloom.core.plugins.daemon_life import DaemonState
from prloom.engine.bus import adopted
from prloom.engine.views.status_schema import BridgeStatus, PluginStatus
from prloom.model.decision import DeliveryChange
from prloom.model.kinds import PlanState, State
from prloom.model.plan import Adopted, Counts, Plan
from prloom.model.pull_request import KeptPullRequest
from prloom.model.run import RunState, UnusableAgent
from prloom.model.state import DispatchState, QueuedAction
from prloom.model.work import Block, Kept, Phase, Question, TodoWork
from prloom.storage import dispatcher_files, paths
from prloom.storage.plan_session import SessionKind
from prloom.storage.safe_dir import SafeDir


class StateName(NamedTuple):
    """A state of a kind of thing; the plan, plugin or bridge that is in it is called `KIND-STATE`."""

    kind: str
    state: str

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.state}".lower().replace("_", "-").replace(" ", "-")


def _flags(record: type) -> tuple[str, ...]:
    """Return the fields of a record that are true or false: each of them is a state of its own."""
    return tuple(name for name, kind in get_type_hints(record).items() if kind is bool)


def _values(record: type, name: str) -> tuple[str, ...]:
    """Return the values that a field of a record can have."""
    return get_args(get_type_hints(record)[name])


DECLARED: Final[Mapping[str, tuple[str, ...]]] = {
    "event": get_args(State),
    "action": (*_values(DeliveryChange, "state"), *_flags(QueuedAction)),
    "todo": get_args(TodoState),
    "phase": get_args(Phase),
    "block": _values(Block, "cause"),
    "plan": get_args(PlanState),
    "run": get_args(RunState),
    "daemon": get_args(DaemonState),
    "plugin": tuple(name for name in PluginStatus.__struct_fields__ if name in {"loaded", "error"}),
    "bridge": tuple(
        name for name in BridgeStatus.__struct_fields__ if name not in {"name", "requests"} and "since" not in name
    ),
    "session": get_args(SessionKind),
}
"""The states of each kind of thing, as the code declares them."""

FURTHER: Final[Mapping[str, tuple[str, ...]]] = {
    "action": ("braked",),
    "todo": ("proposed", "waiting", "braked", "question"),
    "plan": ("kept", "lost", "unreadable", "failing", "pr-waiting", "fetching-base"),
    "run": ("triage",),
    "hook": ("running",),
    "agent": ("awaited", "unusable"),
    "request": ("confirm", "question"),
    "daemon": ("given-up", "unset"),
    "bridge": ("failing-once",),
}
"""States that are made of several fields."""

ALL: Final = tuple(
    dict.fromkeys(
        StateName(kind, state)
        for declared in (DECLARED, FURTHER)
        for kind, states in declared.items()
        for state in states
    )
)


@dataclass
class AllStates:
    """Writes the repository. All ages are hours and a half, so that no second that goes by shows."""

    scene: OperatorScene
    bridges: list[dict[str, Any]] = field(default_factory=list)
    plugins: list[dict[str, Any]] = field(default_factory=list)
    daemons: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    hooks: list[dict[str, Any]] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)
    drafts: dict[str, Any] = field(default_factory=dict)
    runs: int = 0

    def write(self) -> None:
        """Write all of it; raises KeyError for a kind of thing that nothing writes."""
        for each in ALL:
            _BUILDERS[each.kind](self, each)
        scene = self.scene
        scene.report(paths.BRIDGES, {"bridges": self.bridges})
        scene.report(paths.PLUGINS, {"plugins": self.plugins})
        scene.report(paths.DAEMON_STATUS, {"daemons": self.daemons})
        scene.report(paths.REQUESTS, {"requests": self.requests})
        waits = {"waiting": self.awaited, "limits": {}, "todoLimits": {}, "draftWaits": self.drafts}
        scene.report(paths.WORK, {"hooks": self.hooks, **waits})

    def ago(self, hours: int = 2) -> Any:
        return self.scene.ago(hours=hours + 0.5)

    def later(self, hours: int = 3) -> Any:
        return self.scene.later(hours=hours + 0.5)

    def run_id(self, stage: str) -> str:
        self.runs += 1
        return f"20260101T115600000Z-{stage}-{self.runs:08d}"


def _event(made: AllStates, name: StateName) -> None:
    scene = made.scene
    given: dict[str, Any] = {"since": made.ago(), "author": "mallory", "reason": f"why {name.state}"}
    if name.state == "deferred":
        opened = scene.deferred(name.id, since=made.ago())
        assert opened.deferral is not None
        wait = replace(opened.deferral, first_deferred_at=made.ago(), deferred_until=made.later())
        opened = replace(opened, deferral=wait, first_deferred_at=made.ago())
    elif name.state in {"pending", "held", "parked"}:
        opened = scene.event(name.id, name.state, **given)  # type: ignore[arg-type]
    else:
        scene.plan(name.id, "", DispatchState(done={name.state: 4}))
        return
    scene.plan(name.id, "", DispatchState(open={name.id: opened}))


def _action(made: AllStates, name: StateName) -> None:
    fields: dict[str, Any] = {"since": made.ago()}
    match name.state:
        case "failed" | "withheld":
            fields |= {"failed": True, "error": f"why {name.state}", "tried_at": made.ago(1)}
            fields["withheld"] = name.state == "withheld"
        case "retrying":
            fields |= {"error": "the server answered 502", "next_try": made.later(), "attempts": 1}
        case "braked":
            reason = "the brake max_replies_per_thread_per_day = 10 is on"
            fields |= {"error": reason, "next_try": made.later()}
        case "delivered" | "dropped":
            scene_state = DispatchState(delivered=3 * (name.state == "delivered"))
            made.scene.plan(name.id, "", scene_state)
            return
        case "queued":
            pass
        case flag:
            fields[flag] = True
    queue = {name.id: made.scene.action(name.id, **fields)}
    made.scene.plan(name.id, "", DispatchState(queue=queue))


def _line(name: StateName, box: str = " ") -> str:
    return f"- [{box}] Do {name.id} <!-- prloom:todo t-{name.id} -->\n"


def _todo(made: AllStates, name: StateName) -> None:
    box = BOXES.get(name.state, " ")  # type: ignore[call-overload]
    text, todo = _line(name, box), f"t-{name.id}"
    state = DispatchState()
    work = TodoWork(id=todo, title=f"Do {name.id}", phase="ready", waits_since=made.ago(), retry_at=made.later())
    match name.state:
        case "proposed":
            state = DispatchState(proposed=todo, proposed_at=made.ago())
        case "blocked":
            state = DispatchState(blocked_at={todo: made.ago()})
        case "waiting":
            state = DispatchState(work=replace(work, waits_for="the usage limit is reached"))
        case "braked":
            state = DispatchState(
                work=replace(work, waits_for="the brake max_runs_per_day = 200 is on: 200 runs today")
            )
        case "question":
            text, way_on = _line(name, "b"), f"prloom todo {name.id} open {todo}"
            block = Block(reason="it waits for an answer", since=made.ago(), way_on=way_on, todo=todo, cause="todo")
            asked = Question(text="Redis or memory?", after=state.log, targets=("forge",))
            state = DispatchState(block=block, questions={todo: asked})
    made.scene.plan(name.id, text, state)


def _phase(made: AllStates, name: StateName) -> None:
    work = TodoWork(id=f"t-{name.id}", title=f"Do {name.id}", phase=name.state, started_at=made.ago())  # type: ignore[arg-type]
    made.scene.plan(name.id, _line(name), DispatchState(work=work))


def _block(made: AllStates, name: StateName) -> None:
    todo, box = None, " "
    if name.state == "todo":
        todo, box = f"t-{name.id}", "b"
    reason = f"stopped because of the {name.state}"
    way_on = f"prloom resume {name.id}"
    block = Block(reason=reason, since=made.ago(), way_on=way_on, todo=todo, cause=name.state)  # type: ignore[arg-type]
    made.scene.plan(name.id, _line(name, box), DispatchState(block=block))


def _plan(made: AllStates, name: StateName) -> None:
    scene, id_ = made.scene, name.id
    match name.state:
        case "active":
            scene.plan(id_, _line(name), DispatchState(commits=2))
        case "review":
            scene.plan(id_, _line(name, "x"))
        case "paused":
            scene.plan(id_, "", DispatchState(paused=True, paused_at=made.ago()))
        case "draft" | "queued" | "fetching-base":
            _draft(made, name)
        case "kept":
            kept = Kept(reason="it has changes that are not committed")
            scene.plan(id_, "", DispatchState(kept=kept, ended_at=made.ago()))
        case "lost":
            plan = Plan(id=id_, branch=id_, title=f"Title of {id_}")
            gone = Adopted(plan=plan, worktree="", counts=Counts(todos_open=1), counted_at=made.ago())
            with SafeDir.make(scene.root, *paths.LOCAL) as top:
                adopted.remember(top, gone)
        case "unreadable":
            local = scene.plan(id_)
            (local / paths.PLAN_STATE).write_text("{")
            scene.age(*(path for path in local.rglob("*") if path.is_file()), hours=2.5)
        case "failing":
            event = scene.event(id_, "pending", run="r-1", by="claude", since=made.ago())
            error = "the exchange of the runs cannot be opened"
            state = DispatchState(open={id_: event})
            scene.plan(id_, _line(name), state, last_error=error, last_error_at=made.ago())
        case "pr-waiting":
            late = KeptPullRequest(error="502", retry_at=made.later(), failing_since=made.ago())
            scene.plan(id_, "", DispatchState(pull_request=late))
        case ended:
            scene.plan(id_, "", status=ended)


def _draft(made: AllStates, name: StateName) -> None:
    inbox = made.scene.where.local / paths.INBOX
    inbox.mkdir(parents=True, exist_ok=True)
    status = name.state
    if status == "fetching-base":
        status = "queued"
        made.drafts[name.id] = {"reason": "origin cannot be read", "since": made.ago(), "until": made.later()}
    text = f"---\nstatus: {status}\n---\n# Title of {name.id}\n\n## TODO\n\n- [ ] one\n"
    (inbox / f"{name.id}.md").write_text(text)


def _run(made: AllStates, name: StateName) -> None:
    stage = "worker"
    if name.state == "triage":
        stage = "triage"
    run = made.run_id(stage)
    if name.state not in {"running", "queued", "triage"}:
        made.scene.plan(name.id)
        times = {"started_at": made.scene.ago(minutes=1), "ended_at": made.scene.ago(), "seconds": 60.0}
        made.scene.ended_run(made.runs, id=run, plan=name.id, status=name.state, stage=stage, **times)
        return
    work = TodoWork(id=f"t-{name.id}", title=f"Do {name.id}", phase="running", run=run, started_at=made.ago())
    state = DispatchState(work=work)
    if stage == "triage":
        event = made.scene.event(name.id, "pending", run=run, by="claude", since=made.ago())
        state = DispatchState(open={name.id: event})
    made.scene.plan(name.id, _line(name), state)
    made.scene.run(name.id, run, calls=2, startedAt=str(made.ago()))


def _hook(made: AllStates, name: StateName) -> None:
    event = made.scene.event(name.id, "pending", since=made.ago())
    made.scene.plan(name.id, "", DispatchState(open={name.id: event}))
    hook = {"plugin": "quiet-period", "hook": "beforeTriage", "events": [name.id], "since": made.ago()}
    made.hooks.append({"plan": name.id, **hook})


def _agent(made: AllStates, name: StateName) -> None:
    if name.state == "unusable":
        agent = UnusableAgent(agent="claude", cause="sign_in", remedy="run `claude auth login`")
        wait = TodoWork(id=f"t-{name.id}", title=f"Do {name.id}", phase="ready", waits_since=made.ago())
        work = replace(wait, retry_at=made.later(), waits_for="claude is not signed in", limited=True, unusable=agent)
        made.scene.plan(name.id, _line(name), DispatchState(work=work))
        return
    event = made.scene.event(name.id, "pending", since=made.ago())
    made.scene.plan(name.id, "", DispatchState(open={name.id: event}))
    made.awaited.append(name.id)


def _request(made: AllStates, name: StateName) -> None:
    made.scene.plan(name.id)
    asked: dict[str, Any] = {"tool": "deploy", "arguments": {"to": "staging"}}
    if name.state == "question":
        asked = {"tool": "prloom_ask", "question": "Tabs or spaces?"}
    times = {"since": made.ago(), "until": made.later()}
    made.requests.append({"id": name.id, "plan": name.id, "run": "r", "stage": "worker", **times, **asked})


def _daemon(made: AllStates, name: StateName) -> None:
    report: dict[str, Any] = {"name": name.id, "state": name.state, "since": str(made.ago())}
    match name.state:
        case "error":
            report |= {"reason": "exit code 1", "nextAttemptAt": str(made.later())}
        case "given-up":
            report |= {"state": "error", "reason": "exit code 2"}
        case "unset":
            report |= {"state": "error", "reason": "its required settings are missing: url; run it"}
        case "running":
            report |= {"pid": os.getpid()}
    made.daemons.append(report)


def _plugin(made: AllStates, name: StateName) -> None:
    report: dict[str, Any] = {"name": name.id, "source": "project", "loaded": True, "hooks": ["onEvent"]}
    if name.state == "error":
        report |= {"loaded": False, "hooks": [], "error": "ImportError: no module named x", "errorSince": made.ago(3)}
    made.plugins.append(report)


def _bridge(made: AllStates, name: StateName) -> None:
    polled = made.ago(0)
    report: dict[str, Any] = {"name": name.id, "lastPollAt": polled, "lastOkAt": polled}
    match name.state:
        case "last_poll_at":
            report = {"name": name.id}
        case "error" | "last_ok_at":
            report |= {"error": "502 bad gateway", "errorSince": made.ago(), "lastOkAt": None}
        case "failing-once":
            report |= {"error": "504 timeout", "lastOkAt": made.scene.ago(hours=0.5, seconds=5)}
        case "idle":
            report |= {"idle": "no pull request is open"}
        case "warnings":
            report |= {"warnings": ["line 3 is ignored"], "warningsSince": made.ago(5)}
    made.bridges.append(report)


def _session(made: AllStates, name: StateName) -> None:
    made.scene.plan(name.id)
    pid = os.getpid()
    began = dispatcher_files.started(pid) or 0
    with SafeDir.make(made.scene.root, *paths.LOCAL, paths.SESSIONS) as folder:
        report = {"kind": name.state, "pid": pid, "startTime": began, "since": str(made.ago())}
        folder.replace(f"{name.id}.json", json.dumps(report).encode())


_BUILDERS: Final[Mapping[str, Callable[[AllStates, StateName], None]]] = {
    "event": _event,
    "action": _action,
    "todo": _todo,
    "phase": _phase,
    "block": _block,
    "plan": _plan,
    "run": _run,
    "hook": _hook,
    "agent": _agent,
    "request": _request,
    "daemon": _daemon,
    "plugin": _plugin,
    "bridge": _bridge,
    "session": _session,
}
