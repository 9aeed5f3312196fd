"""Read prloom.toml, the PRLOOM_ variables and the --set flags as layers; light, for the state commands need it too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prloom.config import layers
from prloom.config.layers import Layer
from prloom.config.problems import dotted
from prloom.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FILE_NAME = "prloom.toml"
PREFIX = "PRLOOM_"
# Variables of prloom's that are no configuration.
RESERVED = frozenset({"PRLOOM_HOME", "PRLOOM_RUN", "PRLOOM_TRACEBACK"})

_PLACE = re.compile(r"^(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$", re.DOTALL)


def read(repo_root: Path, environ: Mapping[str, str], overrides: Iterable[str] = ()) -> tuple[Layer, ...]:
    """Return all that configures prloom in this repository, the strongest last; raise ConfigError."""
    file = read_file(repo_root / FILE_NAME)
    return (*file, *read_environment(environ, file), *(read_override(text) for text in overrides))


def read_file(path: Path) -> tuple[Layer, ...]:
    """Return the layer of a configuration file, none where there is no file; raise ConfigError."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path.name} cannot be read: {error.strerror}; fix {path}") from error
    import tomllib  # noqa: PLC0415 - only where there is a file

    try:
        return (Layer(path.name, tomllib.loads(text)),)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax_error(path.name, str(error))) from error
    except RecursionError as error:
        raise ConfigError(f"{path.name}: the tables are nested too deeply; use fewer levels") from error


def read_environment(environ: Mapping[str, str], file: tuple[Layer, ...] = ()) -> tuple[Layer, ...]:
    """Return a layer for each PRLOOM_SECTION__KEY variable, in the order of their names.

    A variable's name cannot hold `-`: a name of one's own choice, such as a plugin's, is spelled as in the file.
    """
    known = layers.merge(file)
    found = []
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in RESERVED and name != PREFIX:
            key = _as_spelled(name.removeprefix(PREFIX).lower().split("__"), known)
            found.append(Layer.of_one(name, key, _value(environ[name]), environ[name]))
    return tuple(found)


def read_override(text: str) -> Layer:
    """Return the layer of one `key.path=value` flag; raise ConfigError."""
    spelled, equals, value = text.partition("=")
    key = _key_path(spelled)
    if not equals or key is None:
        raise ConfigError(f"--set {text} does not name a key and a value; write --set dispatcher.tick_interval=5s")
    return Layer.of_one(f"--set {dotted(key)}", key, _value(value), value)


def variable(path: tuple[str, ...]) -> str:
    """Return the name of the environment variable that sets a key."""
    return PREFIX + "__".join(path).upper().replace("-", "_")


def _value(text: str) -> object:
    """Return what the text means in TOML; text that TOML does not know is itself."""
    import tomllib  # noqa: PLC0415 - only where a variable or a flag is given

    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    if len(table) == 1:
        return table["value"]
    return text


def _key_path(key: str) -> tuple[str, ...] | None:
    """Return the parts of a dotted TOML key, or None."""
    import tomllib  # noqa: PLC0415 - only where a flag is given

    try:
        tree: object = None
        if "\n" not in key:
            tree = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return None
    path: tuple[str, ...] = ()
    while isinstance(tree, dict):
        ((part, tree),) = tree.items()
        path = (*path, part)
    return path or None


def _as_spelled(parts: list[str], known: object) -> tuple[str, ...]:
    path = []
    for part in parts:
        if isinstance(known, dict):
            names = list(known)
        else:
            names = []
        name = next((name for name in names if name.lower().replace("-", "_") == part), part)
        if isinstance(known, dict):
            known = known.get(name)
        else:
            known = None
        path.append(name)
    return tuple(path)


def _syntax_error(file: str, message: str) -> str:
    match = _PLACE.match(message)
    if match is None:
        return f"{file}: {message}; fix the file"
    if match["line"]:
        where = f"{file}:{match['line']}:{match['column']}"
    else:
        where = f"{file}, at its end"
    return f"{where}: not valid TOML: {match['what'].replace(chr(10), ' ')}; correct it there"
