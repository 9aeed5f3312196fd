"""Try a plugin on events of every shape, and try the promises of `PluginContract` in a process of its own.

Some of the promises are tried by running the plugin in the process that tries them: `python -m prloom.testing.trial`.
So that process has the environment that a plugin's has, and is ended when it takes too long.
"""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from prloom.api import Action, Deferral, Event, Json
from prloom.errors import ExtensionError
from prloom.extensions import inputs, loading
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.interface import HookFailed
from prloom.model import record
from prloom.model.hook_points import BEFORE_TRIAGE, ON_EVENT, ON_GLOBAL_EVENT
from prloom.model.record import Record
from prloom.testing.events import PLAN, a_comment, an_event
from prloom.testing.harness import REPOSITORY, Harness
from prloom.testing.plugin_contract import PluginContract
from prloom.testing.runners import Runner
from prloom.testing.shown import Fate, Fault, Shown

_PLAN = "# Plan\n\n- [ ] Rename it\n"
ANSWER = "All is well."
"""The agent's message, where the plugin runs one."""

PROMISES_LIMIT: Final = timedelta(minutes=3)
"""How long all promises together may take."""

_ARGV = (sys.executable, "-P", "-m", "prloom.testing.trial")
_MOST_LOSSES = 3
"""Hangs and deaths after which a trial ends: each of the many that would follow costs as long."""


@dataclass(frozen=True)
class Trial:
    """What a plugin did with one event, by itself, or at a hook point that no event leads to.

    `verdict` is handled, deferred, passed (an agent's turn), failed, or ran, where there is no event; `state` and
    `global_state` are what it stored.
    """

    shape: str
    event: Event | None
    verdict: str
    reason: str | None = None
    deferral: Deferral | None = None
    actions: tuple[Action, ...] = ()
    state: Mapping[str, Json] = field(default_factory=dict)
    global_state: Mapping[str, Json] = field(default_factory=dict)
    plan_changed: bool = False
    log: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class TrialBatch:
    """What it did with all events at once: how many got which verdict, and how many actions it requested."""

    verdicts: Mapping[str, int]
    actions: int
    faults: tuple[Fault, ...] = ()


class TrialCall(Record, frozen=True, kw_only=True):
    """The plugin to try, and its settings."""

    found: DiscoveredPlugin
    settings: Mapping[str, Json] = msgspec.field(default_factory=dict)


class BrokenPromise(Record, frozen=True, kw_only=True):
    """A promise that the plugin does not keep: its name, what it means, and what went wrong."""

    name: str
    promise: str
    problem: str


class _Answer(Record, frozen=True, kw_only=True):
    broken: tuple[BrokenPromise, ...] = ()


def each_event(runner: Runner, events: Mapping[str, Event], root: Path) -> Iterator[Trial]:
    """Show each event on a bus of its own, with empty stores; the plugin's process goes on from one to the next.

    Ends early for a plugin that hangs or dies again and again.
    """
    losses = 0
    for shape, event in events.items():
        trial = _trial(_harness(runner, root), shape, event)
        yield trial
        losses += any(isinstance(each.error, HookFailed) and each.error.kind != "raised" for each in trial.faults)
        if losses >= _MOST_LOSSES:
            return


def other_hooks(runner: Runner, root: Path) -> Iterator[Trial]:
    """Run the slash commands, and the hook points that no event of a plan leads to, each once."""
    for name in runner.start().commands:
        yield _trial(_harness(runner, root), f"/{name}", a_comment(f"/{name}", id=f"command-{name}"))
    for hook in runner.start().hooks:
        if hook == ON_GLOBAL_EVENT:
            event = an_event(type="release_published", source="my-ci", pr=None, author=None)
            yield _trial(_harness(runner, root), hook, event, REPOSITORY)
        elif hook not in {ON_EVENT, BEFORE_TRIAGE}:
            harness = _harness(runner, root)
            harness.write_plan(_PLAN)
            yield _result(harness, harness.fire(hook), hook)


def all_events(runner: Runner, events: Mapping[str, Event], root: Path) -> TrialBatch:
    """Show all events at once."""
    shown = _harness(runner, root).show(*events.values())
    counts: dict[str, int] = {}
    for fate in shown.fates.values():
        counts[fate.verdict] = counts.get(fate.verdict, 0) + 1
    return TrialBatch(counts, len(shown.actions), shown.faults)


def _harness(runner: Runner, root: Path) -> Harness:
    return Harness(runner, repo_root=root, strict=False, agent=lambda _: ANSWER)


def _trial(harness: Harness, shape: str, event: Event, plan: str = PLAN) -> Trial:
    harness.write_plan(_PLAN, plan)
    return _result(harness, harness.show(event, plan=plan), shape, event, plan)


def _result(harness: Harness, shown: Shown, shape: str, event: Event | None = None, plan: str = PLAN) -> Trial:
    if event is None:
        fate = Fate("ran", harness.key)
    else:
        fate = shown[event]
    return Trial(
        shape=shape,
        event=event,
        verdict="failed" if shown.faults else fate.verdict,
        reason=fate.reason,
        deferral=fate.deferral,
        actions=shown.actions,
        state=dict(harness.state(plan)),
        global_state=dict(harness.global_state),
        plan_changed=harness.plan_text(plan) != _PLAN,
        log=shown.log,
        faults=shown.faults,
    )


def broken_promises(
    found: DiscoveredPlugin, settings: Mapping[str, Json], environ: Mapping[str, str], limit: timedelta = PROMISES_LIMIT
) -> tuple[BrokenPromise, ...]:
    """Return the promises that a plugin does not keep; a trial that does not come to an end is one more."""
    allowed = inputs.environment(environ, found.manifest.requires_env if found.manifest else ())
    call = msgspec.json.encode(TrialCall(found=found, settings=settings))
    with subprocess.Popen(
        _ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=allowed
    ) as process:
        try:
            answer, _ = process.communicate(call, timeout=limit.total_seconds())
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # the reaper ends all that is below it
            why = "the plugin hangs, or defers events for very short times"
            return (_unfinished(f"the trial was stopped after {limit.total_seconds():g} s: {why}"),)
    try:
        return record.decode(_Answer, answer).broken
    except msgspec.MsgspecError:
        return (_unfinished(f"the process that ran the tests ended with status {process.returncode}"),)


def _unfinished(problem: str) -> BrokenPromise:
    return BrokenPromise(name="PluginContract", promise="All promises can be tested.", problem=problem)


def try_promises(call: TrialCall) -> tuple[BrokenPromise, ...]:
    """Try every promise in this process, and return those that are not kept."""

    class Contract(PluginContract):
        settings = call.settings

        def found(self) -> DiscoveredPlugin:
            return call.found

    promises = {name: method for name, method in inspect.getmembers(Contract()) if name.startswith("test_")}
    problems = {name: _problem(method) for name, method in promises.items()}
    return tuple(
        BrokenPromise(name=name, promise=inspect.getdoc(promises[name]) or "", problem=problem)
        for name, problem in problems.items()
        if problem is not None
    )


def _problem(promise: Callable[[], None]) -> str | None:
    try:
        promise()
    except (AssertionError, ExtensionError) as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001 - the plugin's code may raise anything
        return loading.describe_error(error)
    return None


def main() -> None:
    """Read a call from standard input, and write the answer to standard output, which the plugin does not get."""
    from prloom.extensions import reaper  # noqa: PLC0415 - only this process is split

    reaper.split()
    call = record.decode(TrialCall, sys.stdin.buffer.read())
    answer = os.dup(1)
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        os.write(answer, msgspec.json.encode(_Answer(broken=try_promises(call))))
    os._exit(0)  # a thread of the plugin's must not keep the process


if __name__ == "__main__":
    main()
