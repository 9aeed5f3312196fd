"""Know what of each plan was shown to which plugin, and how deep in a chain of plugins' messages that was."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prloom.core.plugins import message_chain, plugin_message
from prloom.core.plugins.message_chain import ChainLink
from prloom.engine.bus import entries
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.activity import ActivityEvent
from prloom.model.event import Event
from prloom.model.hook import HookCall

_REMEMBERED: Final = 1000
"""Runs whose depth is remembered, and messages that a plugin has read."""

_MOST_LINKS: Final = 16

_OF_PLUGINS: Final = frozenset({plugin_message.RECEIVED, "PLUGIN_EVENT_EMITTED"})
"""The activity that says how deep in a chain it is."""


class Chains:
    """The latest messages of each plan, and what each plugin was shown; `plans` are the open ones.

    What a plugin was shown of one plan may be why it adds a message to another, so its depth counts in all of them.
    A run has the depth of the events that it is about. Of a run for a hook, that is not known; it has the depth of the
    events that hooks of its plan are about.
    """

    def __init__(self, plans: Mapping[str, PlanRuntime], clock: Callable[[], float] = time.monotonic) -> None:
        self._plans = plans
        self._clock = clock
        self._messages: dict[str, tuple[ChainLink, ...]] = {}
        self._shown: dict[str, tuple[ChainLink, ...]] = {}
        self._read: dict[tuple[str, str], dict[str, None]] = {}
        self._runs: OrderedDict[str, int] = OrderedDict()

    def next_depth(self, plugin: str, plan_id: str) -> int:
        """Return which link of a chain a message would be that the plugin adds now."""
        return message_chain.depth(self._shown.get(plugin, ()), self._messages.get(plan_id, ()), self._clock())

    def retry_after_ms(self, plugin: str) -> int | None:
        """Return in how many milliseconds the plugin may add a message, or None where it may now."""
        return message_chain.retry_after_ms(self._shown.get(plugin, ()), self._clock())

    def shown_depth(self, plugin: str) -> int:
        """Return how deep in a chain of messages that is what the plugin was shown within the last minute."""
        return message_chain.shown_depth(self._shown.get(plugin, ()), self._clock())

    def added(self, plan_id: str, depth: int) -> None:
        """Note that a message was added to a plan."""
        links = (*self._messages.get(plan_id, ()), ChainLink(depth, self._clock()))
        self._messages[plan_id] = links[-_MOST_LINKS:]

    def run_begun(self, run_id: str, depth: int) -> None:
        """Note that a run begins which a plugin requested."""
        self._remember(run_id, depth)

    def showed(self, plugin: str, depth: int) -> None:
        """Note that the plugin was shown something of any plan."""
        if depth > 0:
            links = [each for each in self._shown.get(plugin, ()) if each.depth > depth]
            self._shown[plugin] = (*links[-_MOST_LINKS:], ChainLink(depth, self._clock()))

    def read(self, plugin: str, plan_id: str, events: Iterable[Event]) -> None:
        """Note that the plugin has read these events of a plan; what it reads again is nothing new to it."""
        known = self._read.setdefault((plugin, plan_id), {})
        new = [event for event in events if plugin_message.is_message(event) and event.id not in known]
        self.showed(plugin, max(map(plugin_message.depth, new), default=0))
        known.update(dict.fromkeys(event.id for event in new))
        for event_id in tuple(known)[:-_REMEMBERED]:
            del known[event_id]

    def showed_call(self, plugin: str, call: HookCall) -> None:
        """Note that the plugin's daemon is called, or was, for a hook."""
        self.showed(plugin, max(map(plugin_message.depth, call.events), default=0))

    def showed_activity(self, plugin: str, event: ActivityEvent) -> None:
        """Note that the plugin is sent an event of the activity; what it did itself is no cause of what it does."""
        if event.type in _OF_PLUGINS and event.data.get("pluginName") == plugin:
            return
        depths = [0]
        if event.plan_id is not None and event.run_id is not None:
            depths.append(self.depth_of_run(event.plan_id, event.run_id))
        own = event.data.get(
            "depth"
        )  # what a plugin emits because of a message has the message's, whatever run it names
        if event.type in _OF_PLUGINS and isinstance(own, int):
            depths.append(min(own, message_chain.MOST))
        self.showed(plugin, max(depths))

    def depth_of_run(self, plan_id: str, run_id: str) -> int:
        """Return how deep in a chain of messages a run is; 0 where none is behind it."""
        if run_id not in self._runs:
            self._remember(run_id, self._found_depth(plan_id, run_id))
        return self._runs[run_id]

    def _remember(self, run_id: str, depth: int) -> None:
        self._runs[run_id] = depth
        if len(self._runs) > _REMEMBERED:
            self._runs.popitem(last=False)

    def _found_depth(self, plan_id: str, run_id: str) -> int:
        runtime = self._plans.get(plan_id)
        if runtime is None:
            return 0
        state = runtime.event_store.state
        causes = [each.id for each in state.open.values() if each.run == run_id]
        if state.work is not None and state.work.run == run_id:
            causes += state.work.event_ids
        if not causes:
            causes = [each for hook in runtime.in_flight.hooks for each in hook.events]
        return max((_depth(runtime, each) for each in causes), default=0)


def _depth(runtime: PlanRuntime, event_id: str) -> int:
    """Return the depth of an event of a plan, also of one that is done."""
    if not event_id.startswith(plugin_message.ID_PREFIX):
        return 0
    event = runtime.event_store.texts.peek(event_id)
    if event is None:
        position = runtime.seen_ids.position(event_id)
        if position is not None:
            event = entries.event(runtime.event_store.events.read_at(position))
    if event is None:
        return 0
    return plugin_message.depth(event)
