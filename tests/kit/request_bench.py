"""A plan, and what answers the requests of plugins about it, with times that the test decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from stage import Stage

from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.publisher import Publisher
from prloom.engine.assembly import plugin_requests
from prloom.engine.assembly.plugin_requests import RequestParts
from prloom.engine.host_socket.server import HostSocket
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.rules import rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.plugin_requests.action_names import ActionNames
from prloom.engine.plugin_requests.authority import PluginAuthority
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.grants import TOKEN_VARIABLE, Grants
from prloom.engine.plugin_requests.messages import Rates
from prloom.engine.plugin_requests.methods import Methods
from prloom.engine.plugin_requests.registered_actions import RegisteredActions
from prloom.engine.plugin_requests.request_log import RequestLog
from prloom.extensions.jsonrpc import RpcError
from prloom.model.activity import ActivityEvent
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document

ALL = """
[plugins.permissions.ci]
add_messages = true
emit_events = true
access_context = true
trigger_agent = true
[plugins.permissions.other]
add_messages = true
"""


class RequestBench:
    """Requests of the plugins `ci` and `other` about the plan `pr-7`; only the test moves the seconds in `ticks`."""

    def __init__(self, root: Path, toml: str = ALL) -> None:
        self.stage = Stage(root)
        self.stage.configure(toml)
        self.stage.adopt()
        self.ticks = 1000.0
        self.calls: list[tuple[str, str, Json]] = []
        self.result: Any = None
        self.runs: list[tuple[str, str, str]] = []
        self.slot = asyncio.Semaphore(1)
        self.activity: list[ActivityEvent] = []
        for key in ("ci", "other"):
            self.stage.plugin(key, lambda ctx: None)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open the repository, as a dispatcher does."""
        general = rules(self.stage.config)
        registry = self.registry = PlanRegistry(self.stage.paths, general, self.stage.clock)
        try:
            registry.update(general)
            self._assemble(registry)
            yield
        finally:
            registry.close()

    def _assemble(self, registry: PlanRegistry) -> None:
        log = ActivityLog(self.stage.paths, self.stage.clock, {})
        self.publisher: Publisher = log.publisher
        plugin_types = ("PLUGIN_MESSAGE_RECEIVED", "PLUGIN_EVENT_EMITTED", "PLUGIN_ACTION_REQUESTED")
        log.publisher.subscribe(plugin_types, self.activity.append)
        self.chains = Chains(registry.runtimes, lambda: self.ticks)
        grants = self.grants = Grants(lambda: self.stage.root / "host.sock", log.hide)
        known = RequestParts(registry, log, grants, RequestLog(lambda: None), self.chains, Rates(lambda: self.ticks))
        names = ActionNames(Document(registry.local.make_sub(paths.BUS, paths.BUS_STATE), paths.ACTION_NAMES))
        self.actions = RegisteredActions(self._call, self.chains, known.record, names)
        self.plugins = PluginSet([RunningPlugin(host.key, "test", host, "defer") for host in self.stage.hosts])
        self.actions.plugins = self.plugins
        registry.plugins = self.plugins.keys
        self.methods = Methods(registry, self.stage.config, plugin_requests.methods(known, self.actions, self._run))
        self.authority = PluginAuthority(grants, lambda plugin, pid: True, self.methods, known.log)
        self.log = known.log
        self.tokens = {key: grants.begin(key)[TOKEN_VARIABLE] for key in ("ci", "other")}

    @property
    def plan(self) -> PlanRuntime:
        return self.registry.runtimes["pr-7"]

    async def ask(self, method: str, params: Json = None, plugin: str = "ci") -> Any:
        """Return the result of a request of a plugin."""
        grant = self.grants.current(plugin)
        assert grant is not None
        return await self.methods.answer(grant, method, params)

    async def error(self, method: str, params: Json = None, plugin: str = "ci") -> RpcError:
        """Return the error with which a request is answered."""
        try:
            answer = await self.ask(method, params, plugin)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} was answered: {answer}")

    async def add(self, message_id: str, plugin: str = "ci", **fields: Any) -> Any:
        return await self.ask("add_message", a_message(message_id, **fields), plugin)

    async def _call(self, plugin: str, method: str, params: Json, limit: timedelta) -> Json:
        self.calls.append((plugin, method, params))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    async def _run(
        self, runtime: PlanRuntime, stage: str, text: str, *, plugin: str, begun: Callable[[str], None]
    ) -> tuple[str, str]:
        async with self.slot:
            run_id = f"run-{len(self.runs) + 1}"
            begun(run_id)
            self.runs.append((stage, text, plugin))
            return run_id, "done"


def a_message(message_id: str = "m-1", **fields: Any) -> dict[str, Any]:
    return {"message_id": message_id, "plan_id": "pr-7", "role": "user", "content": "Look at this", **fields}


class Client:
    """A daemon's connection to the dispatcher's socket, as raw as a test wants it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, line: bytes) -> None:
        self.writer.write(line)
        await self.writer.drain()

    async def read(self) -> Any:
        """Return the next answer; None at the end of the connection."""
        async with asyncio.timeout(60):
            line = await self.reader.readline()
        return json.loads(line) if line else None

    async def ask(self, method: str, params: Json = None, number: int = 1) -> Any:
        request: Mapping[str, Json] = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        await self.send(json.dumps(request).encode() + b"\n")
        return await self.read()


@asynccontextmanager
async def client(socket: HostSocket) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_unix_connection(socket.path, limit=1 << 25)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
