"""Decide what a plugin gets: its settings from the configuration, and its part of the environment, no forge's token."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from prloom.errors import ExtensionError
from prloom.extensions import keys
from prloom.model import secret_names
from prloom.model.record import Json

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


PRLOOMS_KEYS = frozenset({"on_error"})
"""Keys of a plugin's table that are prloom's, not the plugin's."""


def config(key: str, module: ModuleType, values: Mapping[str, Json]) -> tuple[Any, tuple[str, ...]]:
    """Return the plugin's `config`, and warnings; raises ExtensionError, whose text names each key and its problem."""
    own = {name: value for name, value in values.items() if name not in PRLOOMS_KEYS}
    model = getattr(module, "Config", None)
    if model is None:
        return MappingProxyType(own), ()
    if not _is_pydantic(model):
        return MappingProxyType(own), (
            f"plugin {key}: its Config is not a pydantic model, so its settings are not checked",
        )
    # Imported already, by the plugin: whoever has a pydantic model has paid for it.
    from pydantic import ValidationError  # noqa: PLC0415 - 70 ms that a plugin without a Config need not pay

    try:
        config = model.model_validate(own)
    except ValidationError as error:
        raise ExtensionError(f"plugin {key}: {_table(key)} {problems(error, model)}") from error
    return config, _unknown(key, model, own)


def is_of_settings(reason: str, key: str) -> bool:
    """Whether the reason for which a plugin was not loaded is that the operator's settings for it are wrong."""
    return reason.startswith(f"{_table(key)} ")


def _table(key: str) -> str:
    return f"[plugins.settings.{key}]"


def _is_pydantic(model: object) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and inspect.isclass(model) and issubclass(model, pydantic.BaseModel)


def problems(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with the settings of an extension, without their values: one may be a secret."""
    return "; ".join(
        _problem(each["loc"], each["type"], each["msg"], model)
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _problem(loc: tuple[int | str, ...], kind: str, said: str, model: type[BaseModel]) -> str:
    where = ".".join(map(str, loc))
    if kind == "extra_forbidden" and len(loc) == 1:
        return f"{where} is not known{_hint(where, model.model_fields)}"
    if where:
        return f"{where}: {said}"
    return said


def _hint(name: str, known: Collection[str]) -> str:
    close = keys.nearest(name, known)
    if close:
        return f"; did you mean {close!r}?"
    return ""


def _unknown(key: str, model: type[BaseModel], own: Mapping[str, Json]) -> tuple[str, ...]:
    """Return a warning for each key that the model ignores."""
    if model.model_config.get("extra", "ignore") != "ignore":
        return ()
    known = set(model.model_fields)
    known |= {field.alias for field in model.model_fields.values() if field.alias is not None}
    if any(field.validation_alias is not None for field in model.model_fields.values()):
        return ()  # its names are not known without trying
    return unknown_settings(key, own, known)


def unknown_settings(key: str, own: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return a warning for each name in the operator's table of a plugin that is none of its settings."""
    warnings = []
    for name in sorted(set(own) - set(known)):
        close = keys.nearest(name, known)
        hint = "correct its name in prloom.toml, or remove it there"
        if close:
            hint = f"did you mean {close!r}?"
        warnings.append(f"[plugins.settings.{key}] {name} is not known to the plugin and has no effect; {hint}")
    return tuple(warnings)


# An allow-list: an operator's shell holds many secrets, and a plugin names those that it needs in `requires_env`.
_ALLOWED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|TZ|TERM|NO_COLOR|LANG|LANGUAGE|LC_[A-Z]+|TMPDIR|TEMP|TMP|XDG_[A-Z_]+"
    r"|PYTHON[A-Z]+|VIRTUAL_ENV|LD_LIBRARY_PATH|DYLD_[A-Z_]+|PRLOOM_HOME"
    r"|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:(?:HTTP|HTTPS|ALL|NO)_PROXY)"
)


def environment(environ: Mapping[str, str], asked: Iterable[str]) -> dict[str, str]:
    """Return the environment for a plugin that asks for these variables."""
    wanted = set(asked)
    return {
        name: value
        for name, value in environ.items()
        if (name in wanted or _ALLOWED.fullmatch(name)) and not secret_names.is_forge_secret(name)
    }
