"""Count what agents do: a background plugin that uses Python's standard library only, and nothing of prloom."""

from __future__ import annotations

import json
import os
import socketserver
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

_MOST = 100_000
"""Events that are kept at most, however long the window is."""

_METHOD_NOT_FOUND = -32601
_PARSE_ERROR = -32700


class Monitor:
    """What happened within the window, the newest last."""

    def __init__(self, window_seconds: float, clock: Callable[[], float] = time.time) -> None:
        self._window = window_seconds
        self._clock = clock
        self._events: deque[tuple[float, str, str, bool]] = deque(maxlen=_MOST)
        self._lost = 0
        self._lock = threading.Lock()

    def take(self, params: Mapping[str, Any]) -> None:
        """Take note of an event."""
        data = params.get("event_data") or {}
        tool, failed = str(data.get("toolName") or "?"), data.get("success") is False
        with self._lock:
            self._events.append((self._clock(), str(params.get("event_type")), tool, failed))

    def lose(self, params: Mapping[str, Any]) -> None:
        """Take note of events that prloom could not deliver."""
        with self._lock:
            self._lost += int(params.get("count") or 0)

    def stats(self) -> dict[str, Any]:
        """Return the counts, with a sentence for an agent."""
        with self._lock:
            while self._events and self._events[0][0] < self._clock() - self._window:
                self._events.popleft()
            events, lost = tuple(self._events), self._lost
        calls = Counter(tool for _, kind, tool, _ in events if kind == "TOOL_CALL_START")
        failures = Counter(tool for _, kind, tool, failed in events if kind == "TOOL_CALL_END" and failed)
        kinds = Counter(kind for _, kind, _, _ in events)
        data = {
            "toolCalls": calls.total(),
            "failures": failures.total(),
            "turns": kinds["THOUGHT_COMPLETE"],
            "runsStarted": kinds["AGENT_START"],
            "runsEnded": kinds["AGENT_END"],
            "byTool": {tool: {"calls": count, "failures": failures[tool]} for tool, count in calls.most_common()},
            "eventsMissed": lost,
            "windowMinutes": self._window / 60,
        }
        text = f"{data['toolCalls']} tool calls, {data['failures']} of them failed, in {data['turns']} turns"
        return {"message": f"{text} of the last {self._window / 60:g} minutes", "data": data}


def answer(monitor: Monitor, line: bytes) -> dict[str, Any] | None:
    """Return the answer to one message, or None for a notification."""
    try:
        message = json.loads(line)
    except ValueError as error:
        return {"id": None, "error": {"code": _PARSE_ERROR, "message": str(error)}}
    method, params = message.get("method"), message.get("params") or {}
    number = message.get("id")
    match method:
        case "on_event":
            monitor.take(params)
        case "events_dropped":
            monitor.lose(params)
        case "health_check":
            return {"id": number, "result": {"status": "ok"}}
        case "get_stats":
            return {"id": number, "result": monitor.stats()}
        case _ if number is not None:
            return {"id": number, "error": {"code": _METHOD_NOT_FOUND, "message": f"there is no method {method}"}}
    return None


class Server(socketserver.ThreadingUnixStreamServer):
    """Listens where prloom says, with a thread for each connection."""

    daemon_threads = True

    def __init__(self, path: str, monitor: Monitor) -> None:
        self.monitor = monitor
        super().__init__(path, Connection)


class Connection(socketserver.StreamRequestHandler):
    """A connection stays open: one message a line, in both directions."""

    server: Server

    def handle(self) -> None:
        """Answer until prloom closes the connection."""
        for line in self.rfile:
            said = answer(self.server.monitor, line)
            if said is not None:
                self.wfile.write(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n")


def main() -> None:
    """Listen until prloom ends this process."""
    minutes = int(os.environ.get("PLUGIN_CONFIG_WINDOW", "60"))
    with Server(os.environ["PRLOOM_SOCKET_PATH"], Monitor(minutes * 60)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
