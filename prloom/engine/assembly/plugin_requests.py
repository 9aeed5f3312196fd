"""Put together what answers the requests of plugins' daemons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prloom.config.models import Config
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.background.daemons import Daemons
from prloom.engine.host_socket import server
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.plugin_requests.authority import PluginAuthority
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.grants import Grants
from prloom.engine.plugin_requests.messages import ADD_MESSAGE, AddMessage, Messages, Rates
from prloom.engine.plugin_requests.methods import Method, Methods
from prloom.engine.plugin_requests.request_log import RequestLog
from prloom.model.record import Json


@dataclass(frozen=True)
class RequestParts:
    """What is known of the plugins that request something: their tokens, their counts, and what they were shown."""

    board: PlanRegistry
    activity: ActivityLog
    grants: Grants
    log: RequestLog
    chains: Chains


def parts(board: PlanRegistry, activity: ActivityLog, changed: Callable[[], None]) -> RequestParts:
    """Return the parts, before there are any daemons; `changed` is called when there is one more request."""
    grants = Grants(lambda: server.folder(board.paths.root) / server.NAME, activity.hide)
    return RequestParts(board, activity, grants, RequestLog(changed), Chains(board.runtimes))


def authority(known: RequestParts, config: Config, daemons: Daemons) -> PluginAuthority:
    """Return what admits the daemons at the dispatcher's socket, and answers them."""

    def record(kind: str, data: Mapping[str, Json], *, plan_id: str | None, run_id: str | None = None) -> str:
        return known.activity.record(kind, data, plan_id=plan_id, run_id=run_id).id

    messages = Messages(known.chains, Rates(), record)
    methods = {ADD_MESSAGE: Method(AddMessage, messages.add)}
    return PluginAuthority(known.grants, daemons.owns, Methods(known.board, config, methods), known.log)
