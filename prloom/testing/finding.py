"""Find the plugin that lies at a path, as the dispatcher would find it."""

from __future__ import annotations

from pathlib import Path

from prloom.errors import ExtensionError
from prloom.extensions import discovery
from prloom.extensions.discovery import DiscoveredPlugin, PluginPaths


def at(path: str | Path) -> DiscoveredPlugin:
    """Return the plugin whose folder or `.py` file this is (an `__init__.py` stands for its folder).

    None of its code is run. Raises ExtensionError where there is no plugin.
    """
    place = Path(path).absolute()
    if place.name == "__init__.py":
        place = place.parent
    if not place.exists():
        raise ExtensionError(f"there is no {place}; give the folder of a plugin, or its .py file")
    for found in discovery.discover(PluginPaths(project=place.parent, installed=False)):
        if Path(found.path) == place:
            return found
    raise ExtensionError(f"{place} is not a plugin; it needs an __init__.py with `def register(ctx):`")
