"""Read what a manifest declares of a daemon: how it is run, its tools, and its settings."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from prloom.api.manifest import Background, DeclaredTool, HealthCheck, Setting
from prloom.core.plugins import tool_rules
from prloom.errors import ExtensionError
from prloom.extensions import keys, manifest_fields
from prloom.model import kinds
from prloom.model.record import Json

FIELDS = ("background", "tools", "config_schema")
"""The keys of a manifest that this module reads."""

_SETTING_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_EVENTS = frozenset[str](kinds.ACTIVITY_TYPES)
_LONGEST = 24 * 3600 * 1000
_TRANSPORT = "socket"


class Declared(NamedTuple):
    """What a manifest declares, and the warnings about it."""

    background: Background | None
    tools: tuple[DeclaredTool, ...]
    config_schema: Mapping[str, Setting]
    warnings: tuple[str, ...]


def read(found: Mapping[str, Json], path: Path) -> Declared:
    """Return what the values of `FIELDS` declare; `path` is the manifest. Raises ExtensionError."""
    warnings: list[str] = []
    background = None
    if found.get("background") is not None:
        background = _background(found["background"], path, warnings)
    tools = _tools(found.get("tools") or (), path, warnings)
    for tool in tools:
        if tool.type == "background_rpc" and background is None:
            raise ExtensionError(f"{path}: tools: {tool.name}: type background_rpc needs a background; declare one")
    return Declared(background, tools, _settings(found.get("config_schema") or {}, path, warnings), tuple(warnings))


def program_problem(command: str, folder: Path) -> str | None:
    """Return why a command with a slash must not be run: with links resolved, it has to be in the plugin's folder."""
    if "/" not in command:
        return None
    if Path(command).is_absolute():
        return f"{command} is an absolute path; write a path inside the plugin's folder, or a name on PATH"
    real, root = Path(os.path.realpath(folder / command)), Path(os.path.realpath(folder))
    if not real.is_relative_to(root):
        return f"{command} leads out of the plugin's folder; move the program into it"
    return None


def _background(value: Json, path: Path, warnings: list[str]) -> Background:
    where = f"{path}: background"
    table = manifest_fields.table(value, where)
    socket = next((table[key] for key in table if key == "communication"), None)
    rest = {key: each for key, each in table.items() if key != "communication"}
    values, unknown = manifest_fields.checked(Background, rest, where, without=("healthcheck", "path"))
    warnings += unknown
    health = next((each for key, each in rest.items() if manifest_fields.snake(key) == "healthcheck"), None)
    if health is not None:
        values["healthcheck"] = _healthcheck(health, f"{where}: healthcheck", warnings)
    if socket is not None:
        values["path"] = _socket_path(socket, f"{where}: communication", warnings)
    background = Background(**values)
    warnings += [f"{where}: events: {_unknown_type(each)}" for each in background.events if each not in _EVENTS]
    problem = program_problem(background.command, path.parent)
    if problem is not None or not background.command.strip():
        raise ExtensionError(f"{where}: command: {problem or 'it is empty; name a program'}")
    for name in ("startup_timeout", "shutdown_grace_period"):
        _check_milliseconds(getattr(background, name), f"{where}: {name}")
    return background


def _unknown_type(name: str) -> str:
    """Return what is to be said of a subscription that never brings anything."""
    if name == kinds.UNKNOWN_ACTIVITY:
        return f"nobody can subscribe to {name}; remove it"
    close = keys.nearest(name.upper(), _EVENTS)
    hint = "docs/activity.md lists them"
    if close:
        hint = f"did you mean {close!r}?"
    return f"there is no type of event {name!r}; {hint}"


def _healthcheck(value: Json, where: str, warnings: list[str]) -> HealthCheck:
    values, unknown = manifest_fields.checked(HealthCheck, manifest_fields.table(value, where), where)
    warnings += unknown
    health = HealthCheck(**values)
    for name in ("interval", "timeout", "retries"):
        _check_milliseconds(getattr(health, name), f"{where}: {name}")
    return health


def _check_milliseconds(value: int, where: str) -> None:
    if not 0 < value <= _LONGEST:
        raise ExtensionError(f"{where}: {manifest_fields.shown(value)} is out of range; use 1 to {_LONGEST}")


def _socket_path(value: Json, where: str, warnings: list[str]) -> str | None:
    table = manifest_fields.table(value, where)
    kind = table.get("type", _TRANSPORT)
    if kind != _TRANSPORT:
        raise ExtensionError(f"{where}: type: {manifest_fields.shown(kind)} is not supported; use {_TRANSPORT}")
    warnings += [
        f"{where}: the key {manifest_fields.shown(key)} is not known and has no effect"
        for key in table.keys() - {"type", "path"}
    ]
    path = table.get("path")
    if path is None:
        return None
    return str(manifest_fields.converted(path, str, f"{where}: path"))


def _tools(value: Json, path: Path, warnings: list[str]) -> tuple[DeclaredTool, ...]:
    if not isinstance(value, list | tuple):
        raise ExtensionError(f"{path}: tools: expected a list of tools, got {manifest_fields.shown(value)}")
    tools = []
    for number, each in enumerate(value, 1):
        where = f"{path}: tools: number {number}"
        values, unknown = manifest_fields.checked(DeclaredTool, manifest_fields.table(each, where), where)
        warnings += unknown
        tool = DeclaredTool(**values)
        _check_tool(tool, f"{path}: tools: {tool.name}", path.parent)
        wrong = filter(None, map(tool_rules.stage_problem, tool.visible_to))
        warnings += [f"{path}: tools: {tool.name}: visible_to: {problem}" for problem in wrong]
        tools.append(tool)
    twice = {tool.name for tool in tools if [each.name for each in tools].count(tool.name) > 1}
    if twice:
        raise ExtensionError(f"{path}: tools: {', '.join(sorted(twice))} is declared twice; rename one")
    return tuple(tools)


def _check_tool(tool: DeclaredTool, where: str, folder: Path) -> None:
    named = tool_rules.name_problem(tool.name)
    if named is not None:
        raise ExtensionError(f"{where}: {named}")
    _check_milliseconds(tool.timeout, f"{where}: timeout")
    if tool.type == "background_rpc" and not tool.method:
        raise ExtensionError(f"{where}: method is missing; name the method of the daemon")
    if tool.type == "executable":
        problem = program_problem(tool.command, folder)
        if problem is not None or not tool.command:
            raise ExtensionError(f"{where}: command: {problem or 'it is missing; name a program'}")


def _settings(value: Json, path: Path, warnings: list[str]) -> Mapping[str, Setting]:
    settings = {}
    for name, each in manifest_fields.table(value, f"{path}: config_schema").items():
        where = f"{path}: config_schema: {name}"
        if not isinstance(name, str) or _SETTING_NAME.fullmatch(name) is None:
            raise ExtensionError(f"{where}: use letters, digits, '-' and '_', and a letter first")
        own = dict(manifest_fields.table(each, where))
        default = own.pop("default", None)
        manifest_fields.check_characters(default, f"{where}: default")
        values, unknown = manifest_fields.checked(Setting, own, where, without=("default",))
        warnings += unknown
        settings[name] = Setting(**values, default=default)
        _check_setting(settings[name], where)
    if len({variable(name) for name in settings}) < len(settings):
        raise ExtensionError(f"{path}: config_schema: two settings would have the same variable; rename one")
    return settings


def _check_setting(setting: Setting, where: str) -> None:
    if setting.type == "choice" and not setting.choices:
        raise ExtensionError(f"{where}: choices is missing; list the values of the choice")
    if setting.secret and setting.default is not None:
        raise ExtensionError(f"{where}: a secret cannot have a default, because manifests are not secret; remove it")
    if setting.default is not None and (problem := value_problem(setting, setting.default)) is not None:
        raise ExtensionError(f"{where}: default: {problem}")


def value_problem(setting: Setting, value: Json) -> str | None:
    """Return why a setting cannot have a value, or None. The value itself is not shown: it may be a secret."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match setting.type:
        case "string" if not isinstance(value, str) or "\0" in value:
            return "expected a text"
        case "number" if not number or not math.isfinite(value):
            return "expected a number"
        case "integer" if not number or not isinstance(value, int):
            return "expected a whole number"
        case "boolean" if not isinstance(value, bool):
            return "expected true or false"
        case "choice" if value not in setting.choices:
            return f"expected one of {', '.join(setting.choices)}"
        case _:
            return None


def variable(name: str) -> str:
    """Return the environment variable in which a daemon gets a setting."""
    return "PLUGIN_CONFIG_" + keys.slug(name).upper()
