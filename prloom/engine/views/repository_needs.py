"""List what waits for a person in the repository as a whole: lost plans, requests of runs, bridges and plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from prloom.core.text.shown_text import command
from prloom.engine.views import dashboard_words
from prloom.engine.views.daemons import DaemonStatus
from prloom.engine.views.dashboard_schema import Need
from prloom.engine.views.status_schema import BridgeStatus, LostPlan, PluginStatus, StatusDocument
from prloom.model import record
from prloom.model.permission import PermissionRequest
from prloom.model.record import Timestamp

FAILING = timedelta(minutes=5)
"""How long a bridge that has worked before may fail until a person is needed: most failures of a source pass."""

SETTINGS_MISSING = "its required settings are missing"
"""How the reason begins for which a background plugin is not started before an operator gives settings."""


def of_repository(
    status: StatusDocument, daemons: Iterable[DaemonStatus], config_changed_at: Timestamp | None
) -> Iterator[Need]:
    """Yield what waits for a person and belongs to no plan, or to one that is lost."""
    yield from _failures(status, config_changed_at)
    yield from map(_lost, status.lost_plans or ())
    held_back = {each.id: each.reason for plan in status.plans for each in plan.actions.waiting or ()}
    local = {plan.id for plan in status.plans if plan.pr is None}
    for request in status.requests or ():
        yield _request(request, held_back.get(request.post or ""), in_file=request.plan in local)
    for bridge in status.bridges:
        yield from _bridge(bridge)
    reported = set()
    for daemon in daemons:
        if daemon.state == "error" and daemon.next_attempt_at is None:
            reported.add(daemon.name)
            yield _daemon(daemon)
        elif daemon.problem is not None and daemon.state == "running":
            yield _problem(daemon, daemon.problem)
    yield from (_plugin(each) for each in status.plugins if each.error is not None and each.name not in reported)


def _failures(status: StatusDocument, config_changed_at: Timestamp | None) -> Iterator[Need]:
    if status.dispatcher.silent_since:
        remedy = dashboard_words.after_silence(status.dispatcher)
        yield Need(
            key="dispatcher//silent",
            kind="dispatcher",
            plan=None,
            text=dashboard_words.silence(status.dispatcher),
            commands=tuple(remedy.split("`")[1::2]),
            remedy=remedy,
            since=status.dispatcher.silent_since,
        )
    if status.dispatcher.trouble:
        yield Need(
            key="dispatcher//",
            kind="dispatcher",
            plan=None,
            text=status.dispatcher.trouble,
            commands=(command("doctor"),),
            since=status.dispatcher.trouble_since or None,
        )
    if status.config_error:
        first, *more = status.config_error.splitlines()
        text = f"configuration error: {first}"
        if more:
            text = f"{text} ({len(more)} more)"
        yield Need(
            key="config//",
            kind="config",
            plan=None,
            text=text,
            commands=(command("doctor"),),
            since=config_changed_at,
        )


def _lost(plan: LostPlan) -> Need:
    text, forget = plan.reason, command("forget", plan.id)
    waited = plan.counts.words() if plan.counts is not None else ""
    if waited:
        text = f"{text}; last known there: {waited}"
    commands = [forget]
    remedy = f"give it up: `{forget}`"
    if plan.recover is not None:
        commands = [plan.recover, forget]
        remedy = f"adopt it again: `{plan.recover}`, or {remedy}"
    return Need(
        key=f"lost/{plan.id}/",
        kind="lost",
        plan=plan.id,
        text=text,
        commands=tuple(commands),
        remedy=remedy,
        since=plan.since or None,
    )


def _request(request: PermissionRequest, held_back: str | None, *, in_file: bool) -> Need:
    """Return what waits for a person; `held_back` says what keeps the question from being posted, if anything does.

    An answer in the file of a plan without a pull request would have to be approved; so `prloom top` is named there.
    """
    deny = command("deny", request.id)
    if request.question is not None:
        commands = [deny]
        text = f'the {request.stage} asks "{request.question}"'
        where = "where it was posted"
        if in_file:
            where = f"with `w` in `{command('top')}`"
        remedy = f"answer {where}, or leave it: `{deny}`"
        if held_back is not None:
            resume = command("resume", request.plan)
            commands = [resume, deny]
            text = f"{text}; it is not posted yet: {held_back.partition('; ')[0]}"
            remedy = f"have it posted: `{resume}`, or leave it: `{deny}`"
        return Need(
            key=f"question/{request.plan}/{request.id}",
            kind="question",
            plan=request.plan,
            text=text,
            commands=tuple(commands),
            ids=(request.id,),
            remedy=remedy,
            since=request.since,
        )
    from prloom.core.commands import permission  # noqa: PLC0415 - a status without such a request need not pay for it

    allow = command("allow", request.id)
    return Need(
        key=f"confirm/{request.plan}/{request.id}",
        kind="confirm",
        plan=request.plan,
        text=f"the {request.stage} wants to call {request.tool}({permission.arguments_line(request)})",
        commands=(allow, deny),
        ids=(request.id,),
        remedy=f"`{allow}` or `{deny}`",
        since=request.since,
    )


def _bridge_error(name: str, error: str) -> str:
    """Return a bridge's error with its name; that of one that could not be loaded names it already."""
    if error.startswith(f"bridge {name} "):
        return error
    return f"{name}: {error}"


def _fails_long(bridge: BridgeStatus) -> bool:
    """Whether a bridge has failed for long, never worked, or cannot be loaded."""
    polled, worked = bridge.last_poll_at, bridge.last_ok_at
    if bridge.loaded is False or worked is None or polled is None:
        return True
    return polled - min(worked, bridge.error_since or worked) >= FAILING


def _bridge(bridge: BridgeStatus) -> Iterator[Need]:
    """Yield that a bridge fails for long, or has never worked, and what is wrong with its source."""
    if bridge.error is not None and _fails_long(bridge):
        yield Need(
            key=f"bridge//{bridge.name}",
            kind="bridge",
            plan=None,
            text=_bridge_error(bridge.name, bridge.error),
            commands=(command("doctor"),),
            ids=(bridge.name,),
            since=bridge.last_ok_at or bridge.error_since or None,
        )
    warnings = bridge.warnings or ()
    if warnings:
        text = f"{bridge.name}: {warnings[0]}"
        if len(warnings) > 1:
            text = f"{text} ({len(warnings) - 1} more)"
        yield Need(
            key=f"source//{bridge.name}",
            kind="source",
            plan=None,
            text=text,
            commands=(command("status", ("--all",)),),
            ids=(bridge.name,),
            remedy="correct it at the source; `prloom status --all` shows all of it",
            since=bridge.warnings_since or None,
        )


def _plugin(plugin: PluginStatus) -> Need:
    return Need(
        key=f"plugin//{plugin.name}",
        kind="plugin",
        plan=None,
        text=f"{plugin.name}: {plugin.error}",
        commands=(command("doctor"),),
        ids=(plugin.name,),
        since=plugin.error_since or None,
    )


def _daemon(daemon: DaemonStatus) -> Need:
    reason, since = daemon.reason or "its daemon does not run", _time(daemon.since)
    if reason.startswith(SETTINGS_MISSING):
        return Need(
            key=f"settings//{daemon.name}",
            kind="settings",
            plan=None,
            text=f"{daemon.name}: {reason.partition(';')[0]}",
            commands=(command("plugins", "config", daemon.name),),
            ids=(daemon.name,),
            since=since,
        )
    restart = command("plugins", "restart", daemon.name)
    return Need(
        key=f"plugin//{daemon.name}",
        kind="plugin",
        plan=None,
        text=f"{daemon.name}: {reason}",
        commands=(restart, command("plugins", "logs", daemon.name)),
        ids=(daemon.name,),
        since=since,
    )


def _problem(daemon: DaemonStatus, problem: str) -> Need:
    """Return what a daemon that runs says does not work."""
    return Need(
        key=f"plugin//{daemon.name}",
        kind="plugin",
        plan=None,
        text=f"{daemon.name}: {problem}",
        commands=(command("plugins", "logs", daemon.name), command("plugins", "config", daemon.name)),
        ids=(daemon.name,),
        since=_time(daemon.problem_since),
    )


def _time(text: str | None) -> Timestamp | None:
    if text is None or (read := record.read_time(text)) is None:
        return None
    return Timestamp.of(read)
