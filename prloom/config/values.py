"""The kinds of value that configuration keys hold, each with an error that says what to write instead."""

import math
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, StrictBool, StrictInt

from prloom.config import durations
from prloom.config.problems import InvalidValue, quoted
from prloom.model import secret_names

AUTO = "auto"
"""Stands for the first agent that is installed."""

_SIZE = re.compile(r"([0-9]{1,12})(B|kB|KB|MB|GB|KiB|MiB|GiB)")
_SIZE_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _text(value: object) -> object:
    if isinstance(value, str) and not value.isprintable():
        raise InvalidValue(f"is {quoted(value)}, which contains control characters", "remove them")
    if value == "":
        raise InvalidValue("is empty", "give it a value, or remove the key")
    return value


def _branch(value: object) -> object:
    # A ref may be named `--output=file`, which git would take for an option.
    if isinstance(value, str) and (value.startswith("-") or " " in value):
        raise InvalidValue(
            f"is {quoted(value)}, which is not a valid name for a branch", 'write the branch\'s name, such as "main"'
        )
    return _text(value)


def _folder(value: object) -> object:
    if isinstance(value, str | Path):
        parts = Path(value).parts
    else:
        parts = ("?",)
    if not set(parts) - {".", "..", "/"}:
        raise InvalidValue(f"is {quoted(value)}, which would mix worktrees with other files", "name a separate folder")
    return value


def _login(value: object) -> object:
    # People write `@alice`, and a login with an @ would match nobody, silently.
    return _text(value.removeprefix("@").strip() if isinstance(value, str) else value)


def _size(value: object) -> object:
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        value = None
        if match:
            value = int(match[1]) * _SIZE_UNITS[match[2]]
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise InvalidValue("is not a size", 'write a number and a unit, such as "16MB" or "512KiB"')
    return value


def _variable(value: object) -> object:
    if isinstance(value, str) and secret_names.is_forge_secret(value):
        raise InvalidValue(f"names {value}, a forge's token, which agents must not get", "remove it")
    if isinstance(value, str) and not _VARIABLE.fullmatch(value):
        raise InvalidValue(
            f"holds {quoted(value)}, which is not a valid name for a variable", "write the variable's name only"
        )
    return value


def _json(value: object) -> object:
    """Check a value of an extension's own: it travels to the extension as JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [_json(item) for item in value]
        case Mapping():
            return {str(key): _json(item) for key, item in value.items()}
        case _:
            raise InvalidValue(f"holds {quoted(value)}, which JSON cannot represent", "write it as text, in quotes")


Duration = Annotated[timedelta, BeforeValidator(durations.parse)]
Flag = StrictBool
Count = StrictInt
Text = Annotated[str, BeforeValidator(_text)]
Branch = Annotated[str, BeforeValidator(_branch)]
Folder = Annotated[Path, BeforeValidator(_folder)]
Login = Annotated[str, BeforeValidator(_login)]
Size = Annotated[int, BeforeValidator(_size)]
Variable = Annotated[str, BeforeValidator(_variable)]
Json = Annotated[Any, BeforeValidator(_json)]
