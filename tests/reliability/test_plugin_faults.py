"""Everything that a plugin can do wrong, all of it in one tick, beside a plugin that is well.

Each fault has a plugin and a plan of its own. The tick is played once; the tests look at what came of it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp

import pytest
from stage import Stage, said

from prloom import processes
from prloom.api import Manifest
from prloom.api.context import Services
from prloom.engine.views import status, why
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.process import ProcessHost
from prloom.model.hook import HookCall, Outcome

MEMORY = 200 * 1024 * 1024
LIMIT = timedelta(seconds=1)
"""How long a hook may run on an event on which it hangs."""
PATIENCE = timedelta(minutes=2)
"""How long everything else may take: on a busy machine, twenty plugins at once need more than some seconds."""
OVERRAN = "took longer than 1 s"

OUT_OF_TURN = """
for fd in range(3, 10):
    with suppress(OSError):
        os.write(fd, b"no line of the protocol\\n" * 9)
time.sleep(3600)
"""

FAULTS: Mapping[str, tuple[str, str]] = {
    "raises": ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
    "exits-politely": ("raise SystemExit(3)", "SystemExit"),
    "recurses": ("again = lambda: again(); again()", "RecursionError"),
    "exits": ("os._exit(3)", "it exited with status 3"),
    "crashes": ("ctypes.string_at(0)", "it was ended by SIGSEGV"),
    "hangs": ("time.sleep(3600)", OVERRAN),
    "spins": ("while True: pass", OVERRAN),
    "floods": ("while True: print('x' * 1000)", OVERRAN),
    "deadlocks": ("lock = threading.Lock(); lock.acquire(); lock.acquire()", OVERRAN),
    "deadlocks-on-state": (
        "triage.update_state('n', lambda n: triage.update_state('n', lambda m: 1 / 0))",
        "ZeroDivisionError",
    ),
    "forks": (
        "for _ in range(3): note(subprocess.Popen(['sleep', '3600'], start_new_session=True).pid)\nos._exit(1)",
        "it exited with status 1",
    ),
    "daemonizes": ("note(os.fork() or daemon())\nraise RuntimeError('no luck')", "RuntimeError: no luck"),
    "eats-memory": ("eaten = []\nwhile True: eaten.append(bytearray(16 << 20))", "MemoryError"),
    "returns-garbage": ("return object()", "returned"),
    "marks-garbage": ("triage.mark_event_handled('no such event')", "no such event"),
    "writes-garbage": ("triage.set_state('n', object())", "JSON"),
    "emits-garbage": ("triage.emit_comment('nowhere', 7)", "emit_comment"),
    "closes-its-pipes": ("os.closerange(3, 100); time.sleep(3600)", "its process died"),
    "speaks-out-of-turn": (OUT_OF_TURN, "its process died"),
}

BAD = """
import ctypes, os, subprocess, sys, threading, time
from contextlib import suppress

def note(pid):
    with open({pids!r}, "a") as file:
        file.write(f"{{pid}}\\n")

def daemon():
    os.setsid()
    time.sleep(3600)

def register(ctx):
    @ctx.hook("beforeTriage")
    def fault(plan, triage):
        for event in triage.events:
            if event.body == "bad " + ctx.manifest.name:
                return misbehave(triage)
        return plan

def misbehave(triage):
{code}
"""

MUTATES = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def change(plan, triage):
        for event in triage.events:
            for change in (lambda: setattr(event, "body", "changed"), lambda: triage.events.clear(),
                           lambda: event.context.clear(), lambda: event.context.update(new=1)):
                try:
                    change()
                except Exception:
                    pass
        return plan
"""

WELL = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def see(plan, triage):
        for event in triage.events:
            triage.emit_comment(event.reply_to, f"saw {event.body} {dict(event.context)}")
            triage.mark_event_handled(event.id)
        return plan
"""


class HangingHost(ProcessHost):
    """The host of a plugin that hangs on its own event: there alone the limit is to be hit."""

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        hangs = any(event.body == f"bad {self.key}" for event in call.events)
        return await super().run(call, services, LIMIT if hangs else limit)


class Played:
    """What came of the tick."""

    def __init__(self, stage: Stage, left: Sequence[int]) -> None:
        self.stage = stage
        self.left = left
        shown = status.read(stage.paths, stage.clock())
        self.waiting = {
            event.id: (event.plugin, event.reason) for plan in shown.plans for event in plan.events.deferred
        }
        self.handled = {plan.id: plan.events.handled for plan in shown.plans}
        self.errors = {plan.id: plan.last_error for plan in shown.plans}


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    root = Path(mkdtemp(prefix="prloom-test-"))
    try:
        yield asyncio.run(play(root))
    finally:
        shutil.rmtree(root, ignore_errors=True)


async def play(root: Path) -> Played:
    """Let every plugin do what it does wrong, each on an event of a plan of its own, in one tick."""
    pids = root / "pids"
    stage = Stage(root)
    stage.configure(f'[plugins]\nhook_timeout = "{PATIENCE.total_seconds():.0f}s"\n')
    codes = {name: bad(code, pids) for name, (code, _) in FAULTS.items()}
    for name, code in {**codes, "mutates": MUTATES, "well": WELL}.items():
        stage.hosts.append(host(root, name, code))  # type: ignore[arg-type]
        stage.on_error[name] = "defer"
    for number, name in enumerate([*FAULTS, "mutates"], 1):
        stage.adopt(name, pr=number)
        stage.append(
            said(f"{name}-bad", f"bad {name}", pr=number, context={"line": 7}),
            said(f"{name}-well", "hello", pr=number, context={"line": 7}),
            plan_id=name,
        )
    await stage.tick()
    return Played(stage, [int(pid) for pid in pids.read_text().split() if processes.living(int(pid))])


def bad(code: str, pids: Path) -> str:
    return BAD.format(pids=str(pids), code="\n".join(f"    {line}" for line in code.splitlines()))


def host(root: Path, name: str, code: str) -> ProcessHost:
    file = root / "code" / f"{name.replace('-', '_')}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(code)
    found = DiscoveredPlugin(key=name, source="project", path=str(file), manifest=Manifest(name=name))
    kind = HangingHost if FAULTS.get(name, ("", ""))[1] == OVERRAN else ProcessHost
    return kind(found, {}, repo_root=root, environ=os.environ, memory=MEMORY, start_limit=PATIENCE)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plugins_fault_is_contained_and_named_within_the_tick(played: Played, fault: str):
    plugin, reason = played.waiting[f"{fault}-bad"]

    assert plugin == fault
    assert FAULTS[fault][1] in reason


@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_tick_handles_what_stands_beside_the_event_that_a_plugin_fails_on(played: Played, fault: str):
    assert f"{fault}-well" not in played.waiting
    assert played.handled[fault] == 1
    assert played.errors[fault] is None


@pytest.mark.parametrize("fault", FAULTS)
def test_the_life_of_the_event_names_the_plugin_that_failed(played: Played, fault: str):
    life = why.document(why.find(played.stage.paths, f"{fault}-bad"))

    assert any(fault in (step.by, step.reason) and FAULTS[fault][1] in (step.reason or "") for step in life.steps)
    assert life.state == "deferred"


def test_what_a_plugin_does_to_the_events_that_it_got_nobody_else_sees(played: Played):
    assert played.handled["mutates"] == 2
    assert "saw bad mutates {'line': 7}" in played.stage.bridge.said


def test_every_healthy_event_was_answered_once(played: Played):
    assert sorted(played.stage.bridge.said) == sorted(
        ["saw hello {'line': 7}"] * (len(FAULTS) + 1) + ["saw bad mutates {'line': 7}"]
    )


def test_no_process_that_a_plugin_began_is_left_over(played: Played):
    assert played.left == []
