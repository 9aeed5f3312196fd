"""Switch a plugin on or off in the text of prloom.toml; comments and everything else stay as they are."""

from __future__ import annotations

import tomlkit


def enable(text: str, key: str, *, listed: bool) -> str:
    """Return the text with the plugin not in `plugins.disabled`; and, if it must be listed, in `plugins.enabled`."""
    return _switch(text, key, off="disabled", on="enabled" if listed else None)


def disable(text: str, key: str, *, listed: bool) -> str:
    """Return the text with the plugin not in `plugins.enabled`; and, if it must be listed, in `plugins.disabled`."""
    return _switch(text, key, off="enabled", on="disabled" if listed else None)


def _switch(text: str, key: str, *, off: str, on: str | None) -> str:
    document = tomlkit.parse(text)
    plugins = document.get("plugins")
    if plugins is None and on is None:
        return text
    if plugins is None:
        plugins = document["plugins"] = tomlkit.table()
    for name in [name for name in plugins.get(off, ()) if _same(name, key)]:
        plugins[off].remove(name)
    if on is not None and not any(_same(name, key) for name in plugins.get(on, ())):
        if on not in plugins:
            plugins[on] = tomlkit.array()
        plugins[on].append(key)
    return tomlkit.dumps(document)


def _same(name: str, key: str) -> bool:
    return name.replace("-", "_") == key.replace("-", "_")
