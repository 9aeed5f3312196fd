"""Decide what is to be done next with the pending events of one plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from prloom.core.commands import comment_commands
from prloom.core.commands.comment_commands import SlashCommand
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.hook_points import BEFORE_TRIAGE, ON_EVENT, ON_GLOBAL_EVENT, HookName, HookPoint, NamedHook
from prloom.model.state import OpenEvent


class Registration(Protocol):
    """What a plugin registered, as far as it decides which events the plugin gets."""

    @property
    def hooks(self) -> Collection[str]:
        """The hook points."""

    @property
    def commands(self) -> Collection[str]:
        """The slash commands, without the slash."""

    @property
    def approved_commands(self) -> Collection[str]:
        """The slash commands that also run in an approved text of an author who is not trusted."""


@dataclass(frozen=True)
class Subscribers:
    """The plugins that take part, in their order, by what they registered.

    `commands` maps a slash command, in lower case, to one. `observer_hook` is what the observers are called by:
    `onGlobalEvent` where events concern the whole repository.

    `approved_commands` are those that also run in an approved text of an author who is not trusted.
    """

    observers: tuple[str, ...] = ()
    triagers: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    observer_hook: HookName = ON_EVENT
    approved_commands: Collection[str] = ()


def plan_subscribers(registered: Mapping[str, Registration]) -> Subscribers:
    """Return which plugins get the events of a plan, in order; among commands of one name the first plugin's wins."""
    owners: dict[str, str] = {}
    approved: set[str] = set()
    for plugin, offered in registered.items():
        for name in offered.commands:
            owners.setdefault(name.casefold(), plugin)
        those = (name.casefold() for name in offered.approved_commands)
        approved.update(name for name in those if owners[name] == plugin)
    return Subscribers(
        observers=_with(ON_EVENT, registered),
        triagers=_with(BEFORE_TRIAGE, registered),
        commands=owners,
        approved_commands=approved,
    )


def repository_subscribers(registered: Mapping[str, Registration]) -> Subscribers:
    """Return which plugins get the events that concern the repository as a whole."""
    return Subscribers(observers=_with(ON_GLOBAL_EVENT, registered), observer_hook=ON_GLOBAL_EVENT)


def _with(hook: HookName, registered: Mapping[str, Registration]) -> tuple[str, ...]:
    return tuple(plugin for plugin, offered in registered.items() if hook in offered.hooks)


@dataclass(frozen=True)
class RunCommand:
    """Carry out a built-in command."""

    event_id: str


@dataclass(frozen=True)
class RunHook:
    """Run one plugin's hook on these events: `onEvent`, `beforeTriage`, or `command:/name`."""

    plugin: str
    hook: HookPoint
    event_ids: tuple[str, ...]


@dataclass(frozen=True)
class RunTriage:
    """Let an agent deal with these events, in one run."""

    event_ids: tuple[str, ...]


@dataclass(frozen=True)
class CompleteNotices:
    """End these notices, which every plugin has seen: they need no agent."""

    event_ids: tuple[str, ...]


EventStep = RunCommand | RunHook | RunTriage | CompleteNotices


def steps(
    pending: Iterable[tuple[OpenEvent, SlashCommand | None]],
    subscribers: Subscribers,
    *,
    busy: Collection[str],
    alone: Collection[str],
    paused: bool,
    triaging: bool,
) -> tuple[EventStep, ...]:
    """Return all that can be done now, to be done side by side; each event is in one step, the oldest first.

    `busy` events are being worked on. Events `alone` have failed in a batch, and are shown one by one so that they
    harm no other event. While `paused`, only commands are obeyed; while `triaging`, the plan's agent is at work. One
    that another event woke waits until every observer has seen that.
    """
    pending = sorted(pending, key=lambda pair: pair[0].position)
    observed_next = {*busy, *(event.id for event, _ in pending if _is_unseen(event, subscribers))}
    found: list[EventStep] = []
    by_hook: dict[tuple[HookName, str, str], list[str]] = {}
    ready: list[OpenEvent] = []
    finished: list[str] = []
    for event, command in pending:
        if event.id in busy or event.state != "pending" or event.run is not None or event.woken_by in observed_next:
            continue
        if command is None:
            step = None
        else:
            step = _by_command(event, command, subscribers)
        if step is not None:
            found.append(step)
        elif not paused:
            hook = next_hook(event, subscribers)
            if hook is None and event.notice:
                finished.append(event.id)
            elif hook is None:
                ready.append(event)
            else:
                by_hook.setdefault((*hook, event.id if event.id in alone else ""), []).append(event.id)
    found += [RunHook(plugin, hook, tuple(ids)) for (hook, plugin, _), ids in by_hook.items()]
    if finished:
        found.append(CompleteNotices(tuple(finished)))
    if ready and not triaging:
        found.append(next_batch(ready))
    return tuple(found)


def _is_unseen(event: OpenEvent, subscribers: Subscribers) -> bool:
    """Whether an observer has yet to see a pending event."""
    return event.state == "pending" and not set(subscribers.observers).issubset(event.seen)


def has_no_receiver(event: Event, subscribers: Subscribers, *, agents: bool) -> bool:
    """Whether there is no receiver for an event that is approved: no plugin, no agent, and no command that it is."""
    if subscribers.observers or subscribers.triagers or (agents and not event.notice):
        return False
    return comment_commands.parse(event) is None


def next_hook(event: OpenEvent, subscribers: Subscribers) -> tuple[HookName, str] | None:
    """Return the hook and the plugin that see a pending event next, or None when the next is the agent's."""
    for plugin in subscribers.observers:
        if plugin not in event.seen:
            return subscribers.observer_hook, plugin
    for plugin in subscribers.triagers:
        if plugin not in event.passed:
            return BEFORE_TRIAGE, plugin
    return None


def next_batch(ready: list[OpenEvent]) -> RunTriage:
    """Return the next triage run: all that is ready at once, but an event that spoilt a run has one of its own."""
    batchable = [event.id for event in ready if not event.alone]
    return RunTriage(tuple(batchable) if batchable else (ready[0].id,))


def _by_command(event: OpenEvent, command: SlashCommand, subscribers: Subscribers) -> RunCommand | RunHook | None:
    """Return how a command is carried out; None where it is only a text.

    To approve a stranger's text is to let it be read, not to let the stranger give commands.
    """
    name = command.name.casefold()
    if event.vouched and (command.built_in is not None or name not in subscribers.approved_commands):
        return None
    if command.built_in is not None:
        return RunCommand(event.id)
    plugin = subscribers.commands.get(name)
    if plugin is None or plugin in event.passed:  # a plugin that let it pass would be shown it again at once
        return None
    return RunHook(plugin, NamedHook(f"command:/{name}"), (event.id,))


def complete_notices(event_ids: Iterable[str]) -> tuple[Change, ...]:
    """Return the end of notices that every plugin has seen: they go to no agent, because nobody waits for an answer."""
    reason = "a notice, shown to every plugin; it needs no answer"
    return tuple(Change(event_id=each, verdict="handled", state="handled", reason=reason) for each in event_ids)
