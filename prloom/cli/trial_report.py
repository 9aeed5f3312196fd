"""Tell what a plugin did with the events that it was tried on: a table for people, a document for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from prloom.api import Action, Json
from prloom.cli import layout, terminal
from prloom.cli.terminal import Role
from prloom.extensions.discovery import Found
from prloom.extensions.hosting import Registered
from prloom.model import record
from prloom.testing.shown import Fault
from prloom.testing.trial import Batch, Trial

_ROLES: Mapping[str, Role] = {"handled": "good", "deferred": "warn", "passed": "dim", "failed": "bad"}
_MOST_FAULTS = 10  # that are shown in full; a plugin that fails mostly fails at one place
_WIDEST = 46  # columns for a description
_REST = 14  # columns for the verdict and what is between


def lines(
    found: Found, registered: Registered, trials: Sequence[Trial], batch: Batch | None, *, skipped: int
) -> Iterator[str]:
    """Yield the lines for a person; `skipped` events were not shown any more."""
    yield f"Plugin {terminal.paint(terminal.clean(found.key), 'name')} ({found.source}, {terminal.clean(found.place)})"
    yield from _registered(found, registered)
    yield ""
    yield from layout.rows([_row(each) for each in trials])
    if batch is not None:
        yield from layout.paragraph(terminal.paint(f"all at once: {_counts(batch)}", "strong"))
    if skipped:
        yield terminal.paint(f"{skipped} more events were not tried, because the plugin hangs or dies too often", "bad")
    yield from _faults(trials, batch)


def _registered(found: Found, registered: Registered) -> Iterator[str]:
    offered = {
        "hooks": registered.hooks,
        "commands": tuple(f"/{name}" for name in registered.commands),
        "tools": tuple(registered.tools),
        "skills": tuple(registered.skills),
    }
    for what, names in offered.items():
        if names:
            yield from layout.item(what, ", ".join(map(terminal.clean, names)))
    if not any(offered.values()):
        yield from layout.item("offers", "nothing; it may need settings in [plugins.settings.…] first")
    missing = [name for name in (found.manifest.requires_env if found.manifest else ()) if not os.environ.get(name)]
    warned = [f"it needs {', '.join(missing)} in the environment; without, prloom does not run it"] if missing else []
    for warning in (*warned, *registered.warnings):
        yield from layout.item("warning", terminal.paint(terminal.clean(warning), "warn"))


def _row(trial: Trial) -> tuple[str, str, str]:
    """Return an event's line: its shape, the verdict, and all that came with it."""
    shape = terminal.fit(terminal.clean(trial.shape), _WIDEST)
    verdict = terminal.paint(trial.verdict, _ROLES.get(trial.verdict, "warn"))
    return shape, verdict, layout.cut("; ".join(_details(trial)), _WIDEST + _REST)


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


def _counts(batch: Batch) -> str:
    counts = [f"{count} {verdict}" for verdict, count in sorted(batch.verdicts.items())]
    return ", ".join([*counts, f"{batch.actions} {'action' if batch.actions == 1 else 'actions'}"])


def _faults(trials: Sequence[Trial], batch: Batch | None) -> Iterator[str]:
    """Yield each failure once, with where in the plugin it came from."""
    faults: dict[str, Fault] = {}
    for fault in (*(each for trial in trials for each in trial.faults), *(batch.faults if batch else ())):
        faults.setdefault(fault.message, fault)
    for message, fault in list(faults.items())[:_MOST_FAULTS]:
        yield ""
        yield terminal.paint(terminal.clean(message), "bad")
        yield from (f"  {terminal.clean(frame)}" for frame in fault.frames)
    if len(faults) > _MOST_FAULTS:
        yield f"and {len(faults) - _MOST_FAULTS} more"


def document(found: Found, registered: Registered, trials: Sequence[Trial], batch: Batch | None) -> Json:
    """Return the same for a program."""
    return {
        "plugin": {"name": found.key, "source": found.source, "place": found.place, **record.to_wire(registered)},
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
            for each in trials
        ],
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
