"""List the values that are in effect, each with where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prloom.config import layers, reference
from prloom.config.layers import Layer, Tree
from prloom.config.models import Config
from prloom.config.problems import dotted

DEFAULT = "default"
"""Where a value comes from that nothing sets."""


class EffectiveValue(NamedTuple):
    """A key as TOML spells it, its value as JSON has it, and its origin: a file, a variable, a flag or the default."""

    key: str
    value: object
    origin: str


def values(config: Config) -> tuple[EffectiveValue, ...]:
    """Return every key that has a value: first those that every configuration has, in the order of the reference."""
    said = config.sources
    merged = layers.merge(said)
    set_keys: dict[str, EffectiveValue] = {}
    for path, value in _leaves(merged):
        set_keys[dotted(path)] = EffectiveValue(dotted(path), value, _origin(said, path))
    found: dict[str, EffectiveValue] = {}
    for key in reference.all_keys():
        name = dotted(key.path)
        if name in set_keys:
            found[name] = set_keys[name]
        elif reference.ANY not in key.path and not reference.missing(key.default):
            found[name] = EffectiveValue(name, key.default, DEFAULT)
    return tuple((found | set_keys).values())


def _origin(said: tuple[Layer, ...], path: tuple[str, ...]) -> str:
    last = layers.last_layer_with(said, path)
    if last is None:
        return DEFAULT
    if last.prefix:
        return f"{last.origin}, [{dotted(last.prefix)}]"
    return last.origin


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value
