"""Put together what answers the requests of plugins' daemons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from prloom.config.models import Config
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.publisher import Publisher
from prloom.engine.background.daemons import Daemons
from prloom.engine.host_socket import server
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.plugin_requests import (
    agent_runs,
    contexts,
    emitted_actions,
    events,
    messages,
    registered_actions,
    stores,
)
from prloom.engine.plugin_requests.agent_runs import PluginRuns, RunNamed
from prloom.engine.plugin_requests.authority import PluginAuthority
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.contexts import Contexts
from prloom.engine.plugin_requests.emitted_actions import PluginActions
from prloom.engine.plugin_requests.events import PluginEvents
from prloom.engine.plugin_requests.grants import Grants
from prloom.engine.plugin_requests.messages import Messages, Rates, RecordActivity
from prloom.engine.plugin_requests.methods import Methods, RequestMethod
from prloom.engine.plugin_requests.registered_actions import RegisteredActions
from prloom.engine.plugin_requests.request_log import RequestLog
from prloom.engine.plugin_requests.stores import StateRequests
from prloom.model.activity import ActivityEvent
from prloom.model.kinds import TOOL_CALL
from prloom.model.record import Json


@dataclass(frozen=True)
class RequestParts:
    """What the methods for the requests of plugins share: tokens, counts, and what daemons were shown."""

    registry: PlanRegistry
    activity: ActivityLog
    grants: Grants
    log: RequestLog
    chains: Chains
    rates: Rates

    def record(self, kind: str, data: Mapping[str, Json], *, plan_id: str | None, run_id: str | None = None) -> str:
        """Write an event of the activity, and return its id; implements `messages.RecordActivity`."""
        return self.activity.record(kind, data, plan_id=plan_id, run_id=run_id).id


def parts(registry: PlanRegistry, activity: ActivityLog, changed: Callable[[], None]) -> RequestParts:
    """Return the parts, before there are any daemons; `changed` is called when there is one more request."""
    grants = Grants(lambda: server.folder(registry.paths.root) / server.NAME, activity.hide)
    return RequestParts(registry, activity, grants, RequestLog(changed), Chains(registry.runtimes), Rates())


def authority(
    shared: RequestParts, config: Config, daemons: Daemons, actions: RegisteredActions, run: RunNamed
) -> PluginAuthority:
    """Return what admits the daemons at the dispatcher's socket, and answers them."""
    found = methods(shared, actions, run)
    return PluginAuthority(shared.grants, daemons.owns, Methods(shared.registry, config, found), shared.log)


def methods(shared: RequestParts, actions: RegisteredActions, run: RunNamed) -> Mapping[str, RequestMethod]:
    """Return all methods by name."""
    registry, chains, rates = shared.registry, shared.chains, shared.rates
    record: RecordActivity = shared.record
    adding = Messages(chains, rates, record)
    reading = Contexts(chains, registry.paths, registry.read_plan, registry.clock)
    state = StateRequests(registry.repository, rates)
    emitting = PluginEvents(chains, rates, record, shared.activity.follows)
    return {
        messages.ADD_MESSAGE: RequestMethod(messages.AddMessage, adding.add),
        events.EMIT_EVENT: RequestMethod(events.EmitEvent, emitting.emit),
        contexts.GET_CONTEXT: RequestMethod(contexts.GetContext, reading.get),
        contexts.READ_EVENTS: RequestMethod(contexts.ReadEvents, reading.read_events),
        agent_runs.RUN_AGENT: RequestMethod(agent_runs.RunAgent, PluginRuns(chains, run).run),
        emitted_actions.EMIT_ACTION: RequestMethod(emitted_actions.EmitAction, PluginActions(adding).emit),
        registered_actions.REGISTER: RequestMethod(registered_actions.RegisterAction, actions.register),
        registered_actions.UNREGISTER: RequestMethod(registered_actions.UnregisterAction, actions.unregister),
        "get_state": RequestMethod(stores.GetState, state.get),
        "set_state": RequestMethod(stores.SetState, state.set),
        "get_global_state": RequestMethod(stores.GetGlobalState, state.get_global),
        "set_global_state": RequestMethod(stores.SetGlobalState, state.set_global),
    }


def watch(publisher: Publisher, chains: Chains, daemons: Daemons, plugins: PluginSet) -> None:
    """Know what daemons are shown: the events that they subscribed to, and the calls of their tools."""
    for key in daemons.keys:
        daemon = daemons[key]
        if daemon is not None and daemon.events:
            publisher.subscribe(daemon.events, partial(chains.showed_activity, key))
        names = frozenset(tool.name for tool in plugins[key].tools if tool.kind == "background_rpc")
        if names:
            publisher.subscribe(TOOL_CALL, partial(_showed_call, chains, key, names))


def _showed_call(chains: Chains, plugin: str, names: frozenset[str], event: ActivityEvent) -> None:
    if event.data.get("toolName") in names:
        chains.showed_activity(plugin, event)
