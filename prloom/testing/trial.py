"""Try a plugin on events of every shape, each alone and all at once, and tell what it did with each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prloom.api import Action, Deferral, Event, Json
from prloom.extensions.host.interface import HookFailed
from prloom.testing.events import PLAN, a_comment, an_event
from prloom.testing.harness import REPOSITORY, Harness
from prloom.testing.runners import Runner
from prloom.testing.shown import Fate, Fault, Shown

_PLAN = "# Plan\n\n- [ ] Rename it\n"
ANSWER = "All is well."
"""What the agent says, where the plugin runs one."""

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
    """What it did with all events at once: how many came to which verdict, how many actions it asked for."""

    verdicts: Mapping[str, int]
    actions: int
    faults: tuple[Fault, ...] = ()


def alone(runner: Runner, events: Mapping[str, Event], root: Path) -> Iterator[Trial]:
    """Show each event on a bus of its own, with empty stores; the plugin's process goes on from one to the next.

    Ends early for a plugin that hangs or dies again and again.
    """
    losses = 0
    for shape, event in events.items():
        trial = _trial(_bench(runner, root), shape, event)
        yield trial
        losses += any(isinstance(each.error, HookFailed) and each.error.kind != "raised" for each in trial.faults)
        if losses >= _MOST_LOSSES:
            return


def elsewhere(runner: Runner, root: Path) -> Iterator[Trial]:
    """Run the slash commands, and the hook points that no event of a plan leads to, each once."""
    for name in runner.start().commands:
        yield _trial(_bench(runner, root), f"/{name}", a_comment(f"/{name}", id=f"command-{name}"))
    for hook in runner.start().hooks:
        if hook == "onGlobalEvent":
            event = an_event(type="release_published", source="my-ci", pr=None, author=None)
            yield _trial(_bench(runner, root), hook, event, REPOSITORY)
        elif hook not in {"onEvent", "beforeTriage"}:
            bench = _bench(runner, root)
            bench.write_plan(_PLAN)
            yield _told(bench, bench.fire(hook), hook)


def together(runner: Runner, events: Mapping[str, Event], root: Path) -> TrialBatch:
    """Show all events at once."""
    seen = _bench(runner, root).show(*events.values())
    counts: dict[str, int] = {}
    for fate in seen.fates.values():
        counts[fate.verdict] = counts.get(fate.verdict, 0) + 1
    return TrialBatch(counts, len(seen.actions), seen.faults)


def _bench(runner: Runner, root: Path) -> Harness:
    return Harness(runner, repo_root=root, strict=False, agent=lambda _: ANSWER)


def _trial(bench: Harness, shape: str, event: Event, plan: str = PLAN) -> Trial:
    bench.write_plan(_PLAN, plan)
    return _told(bench, bench.show(event, plan=plan), shape, event, plan)


def _told(bench: Harness, seen: Shown, shape: str, event: Event | None = None, plan: str = PLAN) -> Trial:
    if event is None:
        fate = Fate("ran", bench.key)
    else:
        fate = seen[event]
    return Trial(
        shape=shape,
        event=event,
        verdict="failed" if seen.faults else fate.verdict,
        reason=fate.reason,
        deferral=fate.deferral,
        actions=seen.actions,
        state=dict(bench.state(plan)),
        global_state=dict(bench.global_state),
        plan_changed=bench.plan_text(plan) != _PLAN,
        log=seen.log,
        faults=seen.faults,
    )
