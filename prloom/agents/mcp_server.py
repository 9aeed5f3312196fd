"""Describe prloom's MCP server for one run: how an agent program starts it, and the file that holds its token."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "prloom"
"""What the server is called in every agent program."""

START_LIMIT_MS: Final = 60_000
"""How long the server may take to start; imports on a machine that is busy."""

CONFIG: Final = "mcp.json"
"""The file in a run's folder, mode 0600, that holds the server's command and its environment with the token."""

SOCKET_VARIABLE: Final = "PRLOOM_MCP_SOCKET"
TOKEN_VARIABLE: Final = "PRLOOM_MCP_TOKEN"  # noqa: S105 - the name of a variable
CONFIG_VARIABLE: Final = "PRLOOM_MCP_CONFIG"
"""Where the server finds the two others, for programs that take no environment from a file."""


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """The server of one run. `config` is the path of its file; `call_limit` is longer than any call may take."""

    command: tuple[str, ...]
    config: Path
    call_limit: timedelta

    @property
    def call_limit_ms(self) -> int:
        """The limit in milliseconds, as most programs want it."""
        return round(self.call_limit / timedelta(milliseconds=1))


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the file has for one agent program: further keys of the server's entry, and what stands `beside` it."""

    entry: Mapping[str, object] = msgspec.field(default_factory=dict)
    beside: Mapping[str, object] = msgspec.field(default_factory=dict)


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The dispatcher's socket, and the token by which it knows a run."""

    socket: str
    token: str


def of_run(folder: Path, root: Path, call_limit: timedelta) -> McpServer:
    """Return the server of the run of a folder; its command line is the same whatever folder it is started in."""
    return McpServer(command=_command(root, folder.name), config=folder / CONFIG, call_limit=call_limit)


def _command(root: Path, run: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", "prloom", "-C", str(root), "mcp", "--run", run)


def config(server: McpServer, access: Access, settings: ServerSettings | None = None) -> bytes:
    """Return the content of the file, in the form that claude and gemini read."""
    settings = settings or ServerSettings()
    program, *args = server.command
    environment = {SOCKET_VARIABLE: access.socket, TOKEN_VARIABLE: access.token}
    entry = {"command": program, "args": args, "env": environment, **settings.entry}
    return json.dumps({"mcpServers": {NAME: entry}, **settings.beside}, indent=2).encode() + b"\n"


def access(content: bytes | None) -> Access | None:
    """Return the access that a file gives, or None where it is not of that form."""
    try:
        found = json.loads(content or b"")
        return of_environment(found["mcpServers"][NAME]["env"])
    except (ValueError, KeyError, TypeError):
        return None


def of_environment(environ: Mapping[str, object]) -> Access | None:
    """Return the access that an environment gives, or None."""
    socket, token = environ.get(SOCKET_VARIABLE), environ.get(TOKEN_VARIABLE)
    if isinstance(socket, str) and isinstance(token, str) and socket and token:
        return Access(socket=socket, token=token)
    return None
