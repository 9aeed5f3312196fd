"""What a plugin says of itself in its manifest: its name, what it needs and offers, and the daemon that it brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from prloom.model.record import Json, Record

ToolType = Literal["background_rpc", "executable"]
SettingType = Literal["string", "number", "integer", "boolean", "choice"]


class HealthCheck(Record, frozen=True, kw_only=True):
    """How a daemon's health is checked; times in milliseconds."""

    interval: int = 30_000
    timeout: int = 5_000
    retries: int = 3


class Background(Record, frozen=True, kw_only=True):
    """The daemon of a plugin; times in milliseconds.

    `command` is a name on PATH, or a path in the plugin's folder; `events` are the types of activity events that the
    daemon is sent; `path` is where it listens, in the plugin's own runtime folder.
    """

    command: str
    args: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    path: str | None = None
    healthcheck: HealthCheck = HealthCheck()
    startup_timeout: int = 30_000
    shutdown_grace_period: int = 5_000


class DeclaredTool(Record, frozen=True, kw_only=True):
    """A tool for agents that a manifest declares; `timeout` is in milliseconds.

    A `background_rpc` is a `method` of the daemon; an `executable` is a program that reads JSON on stdin and writes
    JSON on stdout, started for each call. An empty `visible_to` means all stages.
    """

    name: str
    description: str = ""
    type: ToolType = "background_rpc"
    method: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    timeout: int = 30_000
    requires_confirmation: bool = False
    visible_to: tuple[str, ...] = ()
    schema: Mapping[str, Json] = field(default_factory=dict)


class Setting(Record, frozen=True, kw_only=True):
    """A setting that a plugin takes; `choices` are the values of a choice."""

    type: SettingType
    description: str = ""
    required: bool = False
    default: Json = None
    secret: bool = False
    choices: tuple[str, ...] = ()


class Manifest(Record, frozen=True, kw_only=True):
    """What a plugin says of itself, in `plugin.yaml`, `.yml`, `.json` or `.toml`."""

    name: str
    version: str = "0"
    description: str = ""
    author: str = ""
    kind: str = "standalone"
    manifest_version: int = 1
    requires_env: tuple[str, ...] = ()
    provides_tools: tuple[str, ...] = ()
    provides_hooks: tuple[str, ...] = ()
    provides_commands: tuple[str, ...] = ()
    background: Background | None = None
    tools: tuple[DeclaredTool, ...] = ()
    config_schema: Mapping[str, Setting] = field(default_factory=dict)
