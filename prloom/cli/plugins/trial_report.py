"""Tell what a plugin did with the events that it was tried on: a table for people, a document for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from prloom.api import Action, Json
from prloom.api.manifest import DeclaredTool
from prloom.cli.output import layout, terminal
from prloom.cli.output.terminal import Role
from prloom.core.text import bounds
from prloom.extensions import filters
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.interface import Registered
from prloom.model import record
from prloom.testing.shown import Fault
from prloom.testing.trial import BrokenPromise, Trial, TrialBatch

_ROLES: Mapping[str, Role] = {"handled": "good", "deferred": "warn", "passed": "dim", "failed": "bad"}
_MOST_LINES = 40  # of the log
_MOST_FAULTS = 10  # that are shown in full; a plugin that fails mostly fails at one place
_WIDEST = 46  # columns for a description
_OTHER_COLUMNS = 14  # columns for the verdict and what is between


@dataclass(frozen=True)
class PluginTestResult:
    """What came of a trial. `log` is what the plugin printed and logged while it was loaded.

    `skipped` events were not shown any more. `broken` are the promises that it does not keep, None if none was tried.
    """

    found: DiscoveredPlugin
    registered: Registered
    log: tuple[str, ...]
    trials: tuple[Trial, ...]
    batch: TrialBatch | None
    skipped: int
    broken: tuple[BrokenPromise, ...] | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All failures, of the events alone and of all at once."""
        alone = tuple(fault for trial in self.trials for fault in trial.faults)
        return (*alone, *(self.batch.faults if self.batch else ()))

    @property
    def contract(self) -> str:
        """The names of the contract suites that the plugin was tested against."""
        if self.found.is_daemon_only:
            return "BackgroundPluginContract"
        if filters.runs_daemon(self.found):
            return "PluginContract and BackgroundPluginContract"
        return "PluginContract"

    def problem(self) -> str | None:
        """Return why the command fails, in one line, or None where the plugin is sound."""
        name = f"plugin {self.found.key}"
        failed = sum(bool(each.faults) for each in self.trials)
        if self.faults:
            what = "on all events at once"
            if failed:
                what = f"{failed} of {len(self.trials)} times"
            return f"{name} failed {what}; to debug it, use `prloom plugins test --inline`"
        warnings = self.registered.warnings
        if warnings:
            more = ""
            if len(warnings) > 1:
                more = f" (and {len(warnings) - 1} more)"
            return f"{warnings[0]}{more}; a plugin must load without a warning"
        if self.broken:
            count = f"{len(self.broken)} {'promise' if len(self.broken) == 1 else 'promises'}"
            return f"{name} does not keep {count} of {self.contract}; fix what is listed above"
        return None


def lines(result: PluginTestResult) -> Iterator[str]:
    """Yield the lines for a person."""
    found, batch = result.found, result.batch
    yield f"Plugin {terminal.paint(terminal.clean(found.key), 'name')} ({found.source}, {terminal.clean(found.place)})"
    yield from _registered(found, result.registered)
    yield ""
    if result.trials:
        yield from layout.rows([_row(each) for each in result.trials])
    if batch is not None:
        yield from layout.paragraph(terminal.paint(f"all at once: {_counts(batch)}", "strong"))
    if result.skipped:
        yield terminal.paint(
            f"{result.skipped} more events were not tried, because the plugin hangs or dies too often", "bad"
        )
    yield from _logged(result)
    yield from _faults(result.faults)
    yield from _promises(result)


def _logged(result: PluginTestResult) -> Iterator[str]:
    """Yield what the plugin printed and logged: each line once, with the first event at which it was said.

    Lines that differ in the event's id only are the same.
    """
    said: dict[str, tuple[str, list[str]]] = {}
    heard = [("at its start", "", result.log)]
    heard += [(each.shape, each.event.id if each.event else "", each.log) for each in result.trials]
    for shape, event_id, log in heard:
        for line in log:
            if event_id:
                alike = line.replace(event_id, "")
            else:
                alike = line
            said.setdefault(alike, (line, []))[1].append(shape)
    if said:
        yield ""
        yield terminal.paint("What it printed and logged:", "strong")
    for line, shapes in list(said.values())[:_MOST_LINES]:
        times = ""
        if len(shapes) > 1:
            times = f" ({len(shapes)} times)"
        yield from layout.paragraph(f"  {terminal.clean(shapes[0])}{times}: {terminal.clean(line)}")
    if len(said) > _MOST_LINES:
        yield f"  and {len(said) - _MOST_LINES} more lines; --json has all of them"


def _promises(result: PluginTestResult) -> Iterator[str]:
    """Yield the promises that are not kept; what several of them fail on is told once."""
    broken = result.broken
    by_problem: dict[str, BrokenPromise] = {}
    for each in broken or ():
        by_problem.setdefault(each.problem, each)
    for each in by_problem.values():
        yield ""
        yield from layout.paragraph(
            f"{terminal.paint('Not kept', 'bad')}: {terminal.clean(each.promise)} ({each.name})"
        )
        for line in bounds.cut(each.problem).splitlines():
            yield from layout.paragraph(f"  {terminal.clean(line)}")
    if broken is not None and not broken:
        yield terminal.paint(f"It keeps the promises of {result.contract}.", "good")


def _registered(found: DiscoveredPlugin, registered: Registered) -> Iterator[str]:
    offered = {
        "hooks": registered.hooks,
        "commands": tuple(f"/{name}" for name in registered.commands),
        "tools": tuple(registered.tools),
        "skills": tuple(registered.skills),
    }
    for what, names in offered.items():
        if names:
            yield from layout.item(what, ", ".join(map(terminal.clean, names)))
    declared: Sequence[DeclaredTool] = ()
    if found.manifest is not None:
        declared = found.manifest.tools
    if declared:
        yield from layout.item("tools", ", ".join(terminal.clean(tool.name) for tool in declared))
    if not declared and not any(offered.values()) and not filters.runs_daemon(found):
        yield from layout.item("offers", "nothing; it may need settings in [plugins.settings.…] first")
    missing = [name for name in (found.manifest.requires_env if found.manifest else ()) if not os.environ.get(name)]
    warned = []
    if missing:
        warned.append(f"it needs {', '.join(missing)} in the environment; without, prloom does not run it")
    for warning in (*warned, *registered.warnings):
        yield from layout.item("warning", terminal.paint(terminal.clean(warning), "warn"))


def _row(trial: Trial) -> tuple[str, str, str]:
    """Return an event's line: its shape, the verdict, and all that came with it."""
    shape = terminal.fit(terminal.clean(trial.shape), _WIDEST)
    verdict = terminal.paint(trial.verdict, _ROLES.get(trial.verdict, "warn"))
    return shape, verdict, layout.cut("; ".join(_details(trial)), _WIDEST + _OTHER_COLUMNS)


def _details(trial: Trial) -> Iterator[str]:
    if trial.verdict != "failed" and trial.reason:
        yield terminal.clean(trial.reason)
    if trial.deferral is not None and trial.verdict == "deferred":
        yield f"again at {terminal.clean(trial.deferral.deferred_until)}"
    yield from (_action(each) for each in trial.actions)
    for what, stored in (("state", trial.state), ("global state", trial.global_state)):
        if stored:
            yield f"{what}: {', '.join(map(terminal.clean, stored))}"
    if trial.plan_changed:
        yield "rewrites the plan"
    yield from dict.fromkeys(terminal.clean(each.message) for each in trial.faults)


def _action(action: Action) -> str:
    """Return an action in a few words."""
    fields = msgspec.to_builtins(action.payload)
    kind = fields.pop("type")
    said = next((value for value in fields.values() if isinstance(value, str)), "")
    return terminal.clean(f"{kind} {said!r}" if said else str(kind))


def _counts(batch: TrialBatch) -> str:
    counts = [f"{count} {verdict}" for verdict, count in sorted(batch.verdicts.items())]
    return ", ".join([*counts, f"{batch.actions} {'action' if batch.actions == 1 else 'actions'}"])


def _faults(found: Sequence[Fault]) -> Iterator[str]:
    """Yield each failure once, with where in the plugin it came from."""
    faults: dict[str, Fault] = {}
    for fault in found:
        faults.setdefault(fault.message, fault)
    for message, fault in list(faults.items())[:_MOST_FAULTS]:
        yield ""
        yield terminal.paint(terminal.clean(message), "bad")
        yield from (f"  {terminal.clean(frame)}" for frame in fault.frames)
    if len(faults) > _MOST_FAULTS:
        yield f"and {len(faults) - _MOST_FAULTS} more"


def document(result: PluginTestResult) -> Json:
    """Return the same for a program."""
    found, batch = result.found, result.batch
    about = {"name": found.key, "source": found.source, "place": found.place}
    return {
        "plugin": {**about, **record.to_wire(result.registered), "log": result.log},
        "events": [
            {
                "shape": each.shape,
                "id": each.event.id if each.event else None,
                "type": each.event.type if each.event else None,
                "verdict": each.verdict,
                "reason": each.reason,
                "deferral": each.deferral,
                "actions": each.actions,
                "state": each.state,
                "globalState": each.global_state,
                "log": each.log,
                "errors": [_error(fault) for fault in each.faults],
            }
            for each in result.trials
        ],
        "promises": None if result.broken is None else {"broken": result.broken},
        "batch": None
        if batch is None
        else {
            "verdicts": batch.verdicts,
            "actions": batch.actions,
            "errors": [_error(fault) for fault in batch.faults],
        },
    }


def _error(fault: Fault) -> Json:
    return {"hook": fault.hook, "message": fault.message, "frames": fault.frames}
