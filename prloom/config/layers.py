"""Merge what the file, a preset, the environment and the flags say, and remember who said what."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Tree = Mapping[str, Any]
KeyPath = tuple[str | int, ...]

# Tables in which naming an agent starts afresh: another agent must not inherit the model of the one it replaces.
_CHOICES_OF_AGENT = (("models",), ("stages",))


class Layer(NamedTuple):
    """Keys from one place; `prefix` is where the tree stood in it.

    A variable or a flag sets one key: `key` is its path and `raw` the text as it was given.
    """

    origin: str
    tree: Tree
    prefix: KeyPath = ()
    key: tuple[str, ...] = ()
    raw: str | None = None

    @classmethod
    def of_one(cls, origin: str, key: tuple[str, ...], value: object, raw: str) -> "Layer":
        """Return the layer of one variable or flag."""
        tree = value
        for part in reversed(key):
            tree = {part: tree}
        return cls(origin, tree, (), key, raw)  # type: ignore[arg-type]

    def as_text(self) -> "Layer":
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


def said_by(layers: tuple[Layer, ...], path: KeyPath) -> Layer | None:
    """Return the layer that had the last word on a key."""
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
