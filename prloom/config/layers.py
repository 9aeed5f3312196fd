"""Read prloom.toml, the PRLOOM_ variables and the --set flags as layers, and merge them.

It stays light, because the state commands need it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from prloom import regular_files
from prloom.config.problems import Problem, dotted, quoted
from prloom.errors import ConfigError
from prloom.model.own_folder import OWN_FOLDER

Tree = Mapping[str, Any]
KeyPath = tuple[str | int, ...]

# Tables in which naming an agent starts afresh: another agent must not inherit the model of the one it replaces.
_CHOICES_OF_AGENT = (("models",), ("stages",))


class Layer(Struct, frozen=True):
    """Keys from one place; `prefix` is where the tree stood in it.

    A variable or a flag sets one key: `key` is its path and `raw` the text as it was given.
    """

    origin: str
    tree: Tree
    prefix: KeyPath = ()
    key: tuple[str, ...] = ()
    raw: str | None = None

    @classmethod
    def of_one(cls, origin: str, key: tuple[str, ...], value: object, raw: str) -> Layer:
        """Return the layer of one variable or flag."""
        tree = value
        for part in reversed(key):
            tree = {part: tree}
        return cls(origin, tree, (), key, raw)  # type: ignore[arg-type]

    def as_text(self) -> Layer:
        """Return the layer with its value as it was given, not as what it means in TOML."""
        if self.raw is None:
            return self
        return Layer.of_one(self.origin, self.key, self.raw, self.raw)


def merge(layers: tuple[Layer, ...]) -> dict[str, Any]:
    """Return one tree in which later layers win: tables are joined, anything else is replaced."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _join(merged, layer.tree, ())
    return merged


def with_preset(layers: tuple[Layer, ...], name: str) -> tuple[Layer, ...]:
    """Return the layers of a plan that chose the preset alone: it comes after the file, before the variables."""
    chosen = tuple(
        Layer(layer.origin, layer.tree["presets"][name], prefix=("presets", name))
        for layer in layers
        if has(layer.tree, ("presets", name)) and isinstance(layer.tree["presets"][name], Mapping)
    )
    file = tuple(layer for layer in layers if layer.raw is None and not layer.prefix)
    return (*file, *chosen, *(layer for layer in layers if layer.raw is not None))


def last_layer_with(layers: tuple[Layer, ...], path: KeyPath) -> Layer | None:
    """Return the last layer that sets a key."""
    return next((layer for layer in reversed(layers) if has(layer.tree, path)), None)


def has(tree: Any, path: KeyPath) -> bool:  # noqa: ANN401 - what TOML holds
    """Whether the tree holds something at the path."""
    for part in path:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _join(below: Tree, above: Tree, path: tuple[str, ...]) -> dict[str, Any]:
    joined = dict(below)
    for key, value in above.items():
        old = joined.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and not _starts_afresh(value, path):
            joined[key] = _join(old, value, (*path, key))
        else:
            joined[key] = value
    return joined


def _starts_afresh(table: Tree, path: tuple[str, ...]) -> bool:
    return path in _CHOICES_OF_AGENT and "agent" in table


FILE_NAME = "prloom.toml"
PREFIX = "PRLOOM_"
# Variables of prloom's that are no configuration.
RESERVED = frozenset({"PRLOOM_EXCHANGE", "PRLOOM_HOME", "PRLOOM_RUN", "PRLOOM_TRACEBACK"})

_POSITION = r"(?s)^(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$"


def read(repo_root: Path, environ: Mapping[str, str], overrides: Iterable[str] = ()) -> tuple[Layer, ...]:
    """Return all that configures prloom in this repository, the strongest last; raise ConfigError."""
    file = read_file(repo_root / FILE_NAME)
    return (*file, *read_environment(environ, file), *(read_override(text) for text in overrides))


def read_file(path: Path) -> tuple[Layer, ...]:
    """Return the layer of a configuration file, none where there is no file; raise ConfigError."""
    try:
        text = regular_files.read(path).decode("utf-8-sig")
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
    tree = merge(file)
    found = []
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in RESERVED and name != PREFIX:
            key = _as_spelled(name.removeprefix(PREFIX).lower().split("__"), tree)
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


def _as_spelled(parts: list[str], tree: object) -> tuple[str, ...]:
    path = []
    for part in parts:
        below: object = None
        name = part
        if isinstance(tree, dict):
            name = next((key for key in tree if key.lower().replace("-", "_") == part), part)
            below = tree.get(name)
        path.append(name)
        tree = below
    return tuple(path)


def _syntax_error(file: str, message: str) -> str:
    match = re.match(_POSITION, message)
    if match is None:
        return f"{file}: {message}; fix the file"
    if match["line"]:
        where = f"{file}:{match['line']}:{match['column']}"
    else:
        where = f"{file}, at its end"
    return f"{where}: not valid TOML: {match['what'].replace(chr(10), ' ')}; correct it there"


DEFAULT_WORKTREES_DIR = f"{OWN_FOLDER}/worktrees"
_KEY = "worktrees_dir"


def peek_worktrees_dir(repo_root: Path, environ: Mapping[str, str], overrides: Iterable[str] = ()) -> Path:
    """Return the absolute folder that holds the plans' worktrees; raise ConfigError if this one key is unusable."""
    layers = read(repo_root, environ, overrides)
    value = merge(layers).get(_KEY, DEFAULT_WORKTREES_DIR)
    last = last_layer_with(layers, (_KEY,))
    if last is not None and last.raw is not None and not isinstance(value, str):
        value = last.raw
    if not isinstance(value, str) or not value:
        if last:
            origin = last.origin
        else:
            origin = FILE_NAME
        raise ConfigError(Problem(origin, _KEY, f"{_KEY} is {quoted(value)}", "name a folder, in quotes").line())
    return absolute_folder(repo_root, Path(value))


def absolute_folder(repo_root: Path, folder: Path) -> Path:
    """Return a configured folder as an absolute path: `~` is the home folder, the rest is below the repository."""
    return repo_root / folder.expanduser()
