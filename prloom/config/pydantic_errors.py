"""Turn what pydantic finds in a configuration into problems that a person can fix."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from prloom.config import layers, reference
from prloom.config.agents import AgentChoice
from prloom.config.layers import KeyPath, Layer
from prloom.config.problems import InvalidValue, Problem, choices, dotted, nearest, quoted

_QUOTED = re.compile(r"'([^']*)'")
_VALUE_ERROR = "Value error, "
"""What pydantic puts before the text of a validator's own error: in a bundled bridge's settings, `what; now`."""

# What a finding of pydantic's means here: what it is, and what to do now.
_KINDS: Mapping[str, tuple[str, str]] = {
    "string_type": ("is {value}, not text", 'put it in quotes: "{value}"'),
    "path_type": ("is {value}, not a path", "write the path in quotes"),
    "bool_type": ("is {value}", "write true or false"),
    "int_type": ("is {value}, not a whole number", "write one without quotes"),
    "tuple_type": ("is {value}, not a list", 'write a list, such as ["{plain}"]'),
    "model_type": ("is {value}, not a table", "write its keys below [{key}]"),
    "dict_type": ("is {value}, not a table", "write its keys below [{key}]"),
    "greater_than_equal": ("is {value}", "write {ge} or more"),
    "union_tag_not_found": ("is {value}", 'name an agent or a model, or write {{agent = "…", model = "…"}}'),
}


def problems(error: ValidationError, said: tuple[Layer, ...]) -> tuple[Problem, ...]:
    """Return what pydantic found as problems, each with the place that had the last word on its key."""
    tree = layers.merge(said)
    return tuple(_problem(found, said, tree) for found in error.errors(include_url=False))


def at(said: tuple[Layer, ...], path: KeyPath, describe: Callable[[str], tuple[str, str]]) -> Problem:
    """Return a problem at a key: `describe` gets the key as people wrote it and says what it is and what to do."""
    origin, written = _where(said, path)
    what, now = describe(dotted(written))
    return Problem(origin, dotted(written), what, now)


def _problem(found: Mapping[str, Any], said: tuple[Layer, ...], tree: Mapping[str, Any]) -> Problem:
    path = _without_tags(found["loc"], tree)
    match found["type"]:
        case "extra_forbidden":
            return at(said, path, lambda key: (f"unknown key {key}", _remedy_for_unknown(said, path)))
        case "missing":
            return at(said, path, lambda key: (f"{key} is missing", _remedy_for_missing(path)))
        case "value_error" if isinstance(unfit := found["ctx"]["error"], InvalidValue):
            return at(said, path, lambda key: (f"{key} {unfit.what}", unfit.now))
        case "value_error" | "duration" if "; " in found["msg"]:
            what, _, now = found["msg"].removeprefix(_VALUE_ERROR).rpartition("; ")
            return at(said, path, lambda key: (f"{key} {what}", now))
        case "literal_error":
            names = _QUOTED.findall(found["ctx"]["expected"])
            return at(said, path, lambda key: (f"{key} is {quoted(found['input'])}", _pick(found["input"], names)))
        case kind:
            return at(said, path, lambda key: _plain(kind, key, found))


def _plain(kind: str, key: str, found: Mapping[str, Any]) -> tuple[str, str]:
    value = found["input"]
    what, now = _KINDS.get(kind, ("is {value}, which cannot be used", found["msg"].lower()))
    plain = "…"
    if isinstance(value, str):
        plain = value
    words = {"value": quoted(value), "key": key, "plain": plain, **found.get("ctx", {})}
    return f"{key} {what.format(**words)}", now.format(**words)


def _pick(value: object, names: Sequence[str]) -> str:
    close = None
    if isinstance(value, str):
        close = nearest(value, names)
    shown = [name or '""' for name in names]
    if close:
        return f"did you mean {close} ({choices(shown)})?"
    return f"write {choices(shown)}"


def _remedy_for_unknown(said: tuple[Layer, ...], path: KeyPath) -> str:
    section = tuple(part for part in path[:-1] if isinstance(part, str))
    # Below a stage nothing is listed: its setting is a name or a table, and the table is an agent's choice.
    names = reference.children(reference.at(section)) or tuple(AgentChoice.model_fields)
    meant = nearest(str(path[-1]), names)
    layer = layers.last_layer_with(said, path)
    if meant and layer is not None and layer.origin.startswith(layers.PREFIX):
        return f"did you mean {layers.variable((*section, meant))}?"
    if meant:
        return f"did you mean {meant}?"
    elsewhere = [key.path for key in reference.all_keys() if key.path[-1] == path[-1]]
    if elsewhere:
        return f"did you mean {dotted(elsewhere[0])}?"
    return f"{dotted(section) or 'the top level'} has {', '.join(names)}"


def _remedy_for_missing(path: KeyPath) -> str:
    general = reference.at(path)
    example = next((key.example for key in reference.all_keys() if key.path == general), "…")
    remedy = f"write {path[-1]} = {quoted(example)}"
    close = None
    if general[-2] == reference.ANY:
        close = nearest(str(path[-2]), reference.children(general[:-2]))
    if close:
        return f"{remedy}, or did you mean {dotted((*path[:-2], close))}?"
    return remedy


def _without_tags(loc: KeyPath, tree: object) -> KeyPath:
    """Return the path in the tree: pydantic adds the name of a union's branch, which is not in the file."""
    path: KeyPath = ()
    for depth, part in enumerate(loc):
        inside = isinstance(tree, Mapping) or (isinstance(tree, list) and isinstance(part, int))
        if not inside:
            break
        if layers.has(tree, (part,)):
            tree = tree[part]  # type: ignore[index]
            path = (*path, part)
        elif depth == len(loc) - 1:
            path = (*path, part)
    return path


def _where(said: tuple[Layer, ...], path: KeyPath) -> tuple[str, KeyPath]:
    """Return which source set the key last, or on the table that lacks it, and the key as it stands there."""
    for length in range(len(path), 0, -1):
        layer = layers.last_layer_with(said, path[:length])
        if layer is not None:
            return layer.origin, (*layer.prefix, *path)
    return layers.FILE_NAME, path
