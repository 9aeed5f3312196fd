"""The files of a new background plugin, in each language; NAME is the plugin's name, and SLUG the same for Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Language = Literal["python", "node", "shell"]
LANGUAGES: tuple[str, ...] = get_args(Language)

_MANIFEST = """\
name: NAME
version: "0.1"
description: Counts the tool calls of agents
background:
  command: COMMAND
  args: [ARGUMENTS]
  events: [TOOL_CALL_START]
tools:
  - name: NAME-stats
    description: How often each tool was called
    type: background_rpc
    method: get_stats
# Settings, which it gets as PLUGIN_CONFIG_<KEY>; `prloom plugins config NAME` asks for them:
# config_schema:
#   window: {type: integer, default: 60}
"""

_PYTHON = '''\
"""A background plugin of prloom: count the tool calls of agents, and answer how many there were."""

import json
import os
import socketserver
from collections import Counter

COUNTS: Counter[str] = Counter()


def on_event(params):
    """Take note of what an agent did; an event has no answer."""
    COUNTS[params["event_data"].get("toolName", "?")] += 1


def get_stats(params):
    """Answer the tool NAME-stats: the message is for the agent."""
    return {"message": f"{COUNTS.total()} tool calls", "data": dict(COUNTS)}


METHODS = {"health_check": lambda params: {"status": "ok"}, "on_event": on_event, "get_stats": get_stats}


def answer(line):
    """Return the answer to one message, or None for a notification."""
    try:
        message = json.loads(line)
    except ValueError as error:
        return {"id": None, "error": {"code": -32700, "message": str(error)}}
    method = METHODS.get(message.get("method"))
    if method is None:
        outcome = {"error": {"code": -32601, "message": f"there is no method {message.get('method')}"}}
    else:
        outcome = {"result": method(message.get("params") or {})}
    return {"id": message["id"], **outcome} if "id" in message else None
'''

_NODE = """\
// A background plugin of prloom: count the tool calls of agents, and answer how many there were.
'use strict';
const net = require('node:net');
const readline = require('node:readline');

const counts = {};

const methods = {
  health_check: () => ({ status: 'ok' }),
  // An event has no answer.
  on_event: (params) => {
    const tool = params.event_data.toolName ?? '?';
    counts[tool] = (counts[tool] ?? 0) + 1;
  },
  // Answers the tool NAME-stats: the message is for the agent.
  get_stats: () => {
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { message: `${total} tool calls`, data: counts };
  },
};

function answer(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch (error) {
    return { id: null, error: { code: -32700, message: String(error) } };
  }
  const method = Object.hasOwn(methods, message.method) ? methods[message.method] : null;
  if (method === null) {
    const error = { code: -32601, message: `there is no method ${message.method}` };
    return message.id === undefined ? null : { id: message.id, error };
  }
  const result = method(message.params ?? {});
  return message.id === undefined ? null : { id: message.id, result: result ?? null };
}

// A connection stays open: one message a line, in both directions.
const server = net.createServer((socket) => {
  const lines = readline.createInterface({ input: socket, crlfDelay: Infinity });
  socket.on('error', () => socket.destroy());
  lines.on('error', () => {}); // it passes on the errors of its socket
  lines.on('line', (line) => {
    const said = answer(line);
    if (said !== null) socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...said })}\\n`);
  });
});
server.listen(process.env.PRLOOM_SOCKET_PATH);
process.on('SIGTERM', () => process.exit(0));
"""

_SHELL = """\
#!/bin/sh
# A background plugin of prloom: count the tool calls of agents, and answer how many there were.
# serve.py runs this for each message: `plugin.sh METHOD`, with the params as JSON on stdin. What it prints is the
# result, as JSON; the exit status 64 says that there is no such method.
counts="${PRLOOM_SOCKET_PATH%/*}/counts"

case "$1" in
  health_check)
    echo '{"status": "ok"}' ;;
  on_event) # an event has no answer
    sed -n 's/.*"toolName": "\\([A-Za-z0-9_.-]*\\)".*/\\1/p' >> "$counts" ;;
  get_stats) # answers the tool NAME-stats: the message is for the agent
    touch "$counts"
    total=$(wc -l < "$counts")
    data=$(sort "$counts" | uniq -c | sed 's/ *\\([0-9]*\\) \\(.*\\)/"\\2": \\1/' | paste -sd, -)
    printf '{"message": "%d tool calls", "data": {%s}}\\n' "$total" "$data" ;;
  *)
    exit 64 ;;
esac
"""

_SERVE = '''\
"""Answer prloom over the daemon's socket by running plugin.sh for each message; nothing here needs to be changed."""

import json
import os
import socketserver
import subprocess

UNKNOWN = 64


def run(method, params):
    """Return what plugin.sh makes of a message."""
    command, given = ["sh", "plugin.sh", str(method)], json.dumps(params) + "\\n"
    ended = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode == UNKNOWN:
        return {"error": {"code": -32601, "message": f"there is no method {method}"}}
    try:
        if ended.returncode:
            raise ValueError(f"plugin.sh ended with the status {ended.returncode}")
        return {"result": json.loads(ended.stdout or "null")}
    except ValueError as error:
        return {"error": {"code": -32000, "message": str(error)}}


def answer(line):
    """Return the answer to one message, or None for a notification."""
    try:
        message = json.loads(line)
    except ValueError as error:
        return {"id": None, "error": {"code": -32700, "message": str(error)}}
    method = message.get("method", "")
    if method.startswith("$"):  # a call that nobody waits for any more
        return None
    outcome = run(method, message.get("params") or {})
    return {"id": message["id"], **outcome} if "id" in message else None
'''

_CONNECTIONS = '''

class Connection(socketserver.StreamRequestHandler):
    """A connection stays open: one message a line, in both directions."""

    def handle(self):
        for line in self.rfile:
            said = answer(line)
            if said is not None:
                self.wfile.write(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\\n")


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


if __name__ == "__main__":
    with Server(os.environ["PRLOOM_SOCKET_PATH"], Connection) as server:
        server.serve_forever()
'''
"""How both programs in Python serve the socket: the end of each."""

_TEST = '''\
"""Tests of the plugin, which need no dispatcher; run them with pytest."""

from pathlib import Path

from prloom.testing import BackgroundPluginContract
from prloom.testing.running_daemon import RunningDaemon


class TestPromises(BackgroundPluginContract):
    """What every background plugin promises, tried on its daemon."""

    plugin = Path(__file__).parent.parent
    methods = {"get_stats": {}}

    async def after_events(self, daemon: RunningDaemon, count: int) -> None:
        """Each call of a tool was counted."""
        assert (await daemon.call("get_stats"))["data"] == {"read_file": count}
'''

_PROGRAMS: Mapping[Language, tuple[str, Mapping[str, str]]] = {
    "python": ("python3", {"daemon.py": _PYTHON + _CONNECTIONS}),
    "node": ("node", {"daemon.js": _NODE}),
    "shell": ("python3", {"serve.py": _SERVE + _CONNECTIONS, "plugin.sh": _SHELL}),
}


_LONGEST = 45
"""Characters of the plugin's name in that of its tool, which has at most 51."""


def files(name: str, language: Language) -> Mapping[str, str]:
    """Return the texts of a plugin's files, by their paths in its folder."""
    command, programs = _PROGRAMS[language]
    manifest = _MANIFEST.replace("COMMAND", command).replace("ARGUMENTS", next(iter(programs)))
    slug = name.replace("-", "_")
    texts = {"plugin.yaml": manifest, **programs, f"tests/test_{slug}.py": _TEST}
    tool = f"{name[:_LONGEST]}-stats"
    return {path: text.replace("NAME-stats", tool).replace("NAME", name) for path, text in texts.items()}
