"""Remember which actions daemons have registered, while a daemon, or the dispatcher, is started again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from prloom.core.plugins import plugin_action
from prloom.errors import StorageError
from prloom.storage.document import Document

log = logging.getLogger(__name__)

_PLUGINS: Final = "plugins"


class ActionNames:
    """The actions that were registered last, by plugin and name, each with its description."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._by_plugin = _read(document)

    def of(self, plugin: str) -> Mapping[str, str]:
        """Return the actions of a plugin."""
        return self._by_plugin.get(plugin, {})

    def owners(self, name: str) -> tuple[str, ...]:
        """Return the plugins that have an action of this name."""
        return tuple(plugin for plugin, names in self._by_plugin.items() if name in names)

    def add(self, plugin: str, name: str, description: str) -> None:
        """Remember an action; of too many, the one that was registered first is forgotten."""
        names = self._by_plugin.setdefault(plugin, {})
        if names.get(name) != description:
            names[name] = description
            if len(names) > plugin_action.MOST:
                del names[next(iter(names))]
            self._save()

    def remove(self, plugin: str, name: str) -> None:
        """Forget an action."""
        if self._by_plugin.get(plugin, {}).pop(name, None) is not None:
            self._save()

    def _save(self) -> None:
        try:
            self._document.save({_PLUGINS: self._by_plugin})
        except StorageError as error:
            log.warning("the actions of plugins are not written down: %s", error)


def _read(document: Document) -> dict[str, dict[str, str]]:
    try:
        found = (document.load().value or {}).get(_PLUGINS)
    except StorageError as error:
        log.warning("the actions of plugins cannot be read: %s", error)
        found = None
    if not isinstance(found, dict):
        return {}
    return {
        plugin: {name: text for name, text in names.items() if isinstance(text, str)}
        for plugin, names in found.items()
        if isinstance(names, dict)
    }
