"""The process of one plugin: `python -m prloom.extensions.host.main` loads it, and runs its hooks on request."""

from __future__ import annotations

import faulthandler
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import BinaryIO, NoReturn

from prloom.api import context
from prloom.errors import ExtensionError
from prloom.extensions import calling, jsonrpc, loading, reaper
from prloom.extensions.host import interface
from prloom.extensions.jsonrpc import ConnectionLostError, RpcError
from prloom.extensions.jsonrpc.thread_peer import ThreadPeer
from prloom.extensions.loading import LoadedPlugin
from prloom.model import record
from prloom.model.event import Event
from prloom.model.hook import Outcome
from prloom.model.record import Json

_LONGEST_RECORD = 100_000  # characters of a logged text that are sent on


class PluginProcess:
    """One plugin, loaded when it is asked for, and its end of the connection to the dispatcher."""

    def __init__(self, source: BinaryIO, sink: io.FileIO) -> None:
        self._peer = ThreadPeer(source, sink, self._answer)
        self._loaded: LoadedPlugin | None = None

    def serve(self) -> None:
        """Answer requests until the dispatcher has ended."""
        self._peer.serve()

    def _answer(self, method: str, params: Json) -> Json:
        match method:
            case interface.INITIALIZE:
                return self._load(record.from_wire(interface.InitializeRequest, params))
            case interface.HOOK:
                return self._run(record.from_wire(interface.HookRequest, params))
            case _:
                raise RpcError(f"there is no method {method!r}", jsonrpc.METHOD_NOT_FOUND)

    def _load(self, asked: interface.InitializeRequest) -> interface.Registered:
        logging.basicConfig(handlers=[_Forward(asked.found.key, self._peer)], level=asked.log_level, force=True)
        # What asyncio says of each loop is not the plugin's.
        logging.getLogger("asyncio").setLevel(max(asked.log_level, logging.INFO))
        _limit_memory(asked.memory)
        loaded = loading.load(asked.found, asked.settings)
        if loaded.registrations is None:
            raise RpcError(loaded.error or "", jsonrpc.PLUGIN_FAILED)
        self._loaded = loaded
        return interface.registered(loaded.registrations, loaded.warnings)

    def _run(self, asked: interface.HookRequest) -> Outcome:
        if self._loaded is None or self._loaded.registrations is None:
            raise RpcError("the plugin is not loaded", jsonrpc.INVALID_REQUEST)
        services = _Remote(self._loaded.key, self._peer, asked.number)
        try:
            return calling.run_hook(self._loaded.key, self._loaded.registrations, asked.call, services)
        except ExtensionError as error:
            raise RpcError(
                str(error), jsonrpc.PLUGIN_FAILED, loading.plugin_frames(error.__cause__ or error)
            ) from error


class _Remote:
    """The services of one hook's call, which the dispatcher provides."""

    def __init__(self, key: str, peer: ThreadPeer, number: int) -> None:
        self._key = key
        self._peer = peer
        self._number = number

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        from asyncio import wrap_future  # noqa: PLC0415 - imported by whoever awaits this

        asked = interface.AgentRequest(number=self._number, prompt=prompt, files=tuple(files), stage=stage, model=model)
        future = self._peer.request(interface.RUN_AGENT, asked)
        try:
            return str(await wrap_future(future))
        except (RpcError, ConnectionLostError) as error:
            raise self._failed("run_agent", error) from error

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        if types is None:
            wanted = None
        else:
            wanted = tuple(types)
        asked = interface.EventsRequest(number=self._number, types=wanted, since_id=since_id, limit=limit)
        result = self._request("read_events", interface.READ_EVENTS, asked)
        read = record.from_wire(interface.EventsRead, result)
        return read.events, read.last_id

    def read_plan(self, plan_id: str) -> str:
        asked = interface.PlanRequest(number=self._number, plan_id=plan_id)
        return str(self._request("read_plan", interface.READ_PLAN, asked))

    def _request(self, name: str, method: str, params: Json) -> Json:
        try:
            return self._peer.request(method, params).result()
        except (RpcError, ConnectionLostError) as error:
            raise self._failed(name, error) from error

    def _failed(self, name: str, error: Exception) -> ExtensionError:
        return ExtensionError(f"plugin {self._key}: {name}: {error}")


class _Forward(logging.Handler):
    """Send what is logged in this process to the dispatcher."""

    def __init__(self, key: str, peer: ThreadPeer) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s"))
        self._own = context.plugin_logger(key).name
        self._peer = peer

    def emit(self, entry: logging.LogRecord) -> None:
        try:
            text = self.format(entry)
            if entry.name == self._own:
                named = text
            else:
                named = f"{entry.name}: {text}"
            said = named[:_LONGEST_RECORD].encode("utf-8", "replace").decode()
            self._peer.notify(interface.LOG, interface.LogRecord(level=entry.levelno, message=said))
        except Exception:  # noqa: BLE001 - as every handler does: logging must not break what logs
            self.handleError(entry)


def main() -> NoReturn:
    """Serve one plugin until standard input ends; then end this process with its threads, and all that it started."""
    reaper.split()
    source, sink = _take_streams()
    faulthandler.enable()  # a crash in C says on stderr where it was
    sys.dont_write_bytecode = True  # plugins lie in the operator's repository, which is to stay as it is
    PluginProcess(source, sink).serve()
    os._exit(0)  # not sys.exit: a hook that hangs in a thread must not keep the process


def _take_streams() -> tuple[BinaryIO, io.FileIO]:
    """Keep standard input and output for the protocol, and give the plugin an empty one and stderr in their place.

    Whatever prints, be it print(), a C library or a child process, cannot break the protocol then.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), io.FileIO(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    return source, sink


def _limit_memory(size: int) -> None:
    """Have the kernel refuse this process, and those that it starts, more memory than so many bytes.

    RLIMIT_DATA counts what is written to (setrlimit(2), since Linux 4.7), and not what runtimes only set aside.
    """
    if size and sys.platform == "linux":
        import resource  # noqa: PLC0415 - where it is not needed, it need not be there

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY:
            least = size
        else:
            least = min(size, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (least, least))


if __name__ == "__main__":
    main()
