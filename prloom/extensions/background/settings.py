"""Decide which settings a daemon gets, by its manifest, from the operator's configuration and the kept secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prloom.api.manifest import Setting
from prloom.errors import ExtensionError
from prloom.extensions import inputs
from prloom.extensions.background import declaration
from prloom.model import secret_names
from prloom.model.record import Json

ENV = "env"
"""The key under which a secret's table names the environment variable that holds it."""


class SettingsMissingError(ExtensionError):
    """A plugin is not started before an operator has given the settings that are named here."""

    def __init__(self, plugin: str, missing: Sequence[str]) -> None:
        names = ", ".join(missing)
        super().__init__(f"its required settings are missing: {names}; run `prloom plugins config {plugin}`")
        self.missing = tuple(missing)


@dataclass(frozen=True)
class Given:
    """Where settings come from: the plugin's table, its secrets that are kept in a file, and the environment."""

    table: Mapping[str, Json]
    secrets: Mapping[str, str]
    environ: Mapping[str, str]


def resolve(plugin: str, schema: Mapping[str, Setting], given: Given) -> Mapping[str, Json]:
    """Return the values of all settings that have one.

    Raises SettingsMissingError, and ExtensionError that names each setting with a wrong value, but not the value.
    """
    values: dict[str, Json] = {}
    problems, missing = [], []
    for name, setting in schema.items():
        value, problem = _value(name, setting, given)
        if problem is not None:
            problems.append(f"[plugins.settings.{plugin}] {name}: {problem}")
        elif value is not None:
            values[name] = value
        elif setting.required:
            missing.append(name)
    if problems:
        raise ExtensionError("; ".join(problems))
    if missing:
        raise SettingsMissingError(plugin, missing)
    return values


def unknown(plugin: str, schema: Mapping[str, Setting], table: Mapping[str, Json]) -> tuple[str, ...]:
    """Return a warning for each setting in a plugin's table that its manifest does not have."""
    return inputs.unknown_settings(plugin, table, schema)


def _value(name: str, setting: Setting, given: Given) -> tuple[Json, str | None]:
    """Return a setting's value, None where it has none, and what is wrong with it, if anything is."""
    value = given.table.get(name)
    if setting.secret:
        value, problem = _secret(name, value, given)
        if problem is not None:
            return None, problem
        value = _converted(setting, value)
    if value is None:
        return setting.default, None
    return value, declaration.value_problem(setting, value)


def _secret(name: str, value: Json, given: Given) -> tuple[str | None, str | None]:
    if value is None:
        return given.secrets.get(name), None
    if not isinstance(value, Mapping) or set(value) != {ENV} or not isinstance(value[ENV], str):
        return None, f'it is a secret; write {{{ENV} = "VARIABLE"}} here, or set it with `prloom plugins config`'
    if secret_names.is_forge_secret(value[ENV]):
        return None, f"{value[ENV]} is a forge's token, which plugins must not get"
    return given.environ.get(value[ENV]) or None, None


def _converted(setting: Setting, value: Json) -> Json:
    """Return the value that a secret's text is; one that is none is left for the check."""
    if isinstance(value, str) and setting.type != "string":
        try:
            return parsed(setting, value)
        except ValueError:
            return value
    return value


def parsed(setting: Setting, text: str) -> Json:
    """Return the value that a text means for a setting; raises ValueError, whose text says what to write."""
    value: Json = text
    try:
        if setting.type == "integer":
            value = int(text)
        elif setting.type == "number":
            value = float(text)
    except ValueError:
        value = text
    if setting.type == "boolean":
        value = {"true": True, "false": False}.get(text.strip().lower(), text)
    problem = declaration.value_problem(setting, value)
    if problem is not None:
        raise ValueError(problem)
    return value
