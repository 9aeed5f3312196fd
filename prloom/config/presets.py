"""Tell which keys of a preset have an effect on the plans that choose it, and which apply to the whole repository."""

from collections.abc import Iterator, Mapping
from typing import Any

from prloom.config.problems import dotted

REFUSED = "bridges"
"""The table that a preset must not contain: one poll serves all plans, whichever preset each of them has."""

_WHOLE_REPOSITORY = frozenset({"base_branch", "worktrees_dir", "dispatcher"})
_OF_PLUGINS = frozenset({"hook_timeout", "disabled", "settings"})
_OF_ONE_PLUGIN = frozenset({"on_error"})


def without_effect(preset: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a preset, each as it is written in it, that have no effect on the plans that choose it."""
    yield from sorted(preset.keys() & _WHOLE_REPOSITORY)
    plugins = _table(preset, "plugins")
    yield from (f"plugins.{key}" for key in sorted(plugins.keys() - _OF_PLUGINS))
    for name, settings in _table(plugins, "settings").items():
        own = settings.keys() - _OF_ONE_PLUGIN if isinstance(settings, Mapping) else ()
        yield from (dotted(("plugins", "settings", name, key)) for key in sorted(own))


def _table(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = tree.get(key)
    if isinstance(found, Mapping):
        return found
    return {}
