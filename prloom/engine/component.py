"""Describe what runs beside the dispatcher from its start to its end, such as the socket at which programs ask it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from prloom import errors
from prloom.engine.plan.plugin_set import PluginSet

log = logging.getLogger(__name__)


class Component(Protocol):
    """Something that a dispatcher starts and stops."""

    async def start(self) -> None:
        """Begin; must not take long. What is raised is logged, and the dispatcher goes on without it."""

    async def ready(self) -> None:
        """Wait, within a limit, until all is there that the only tick of `prloom start --once` needs."""

    async def close(self) -> None:
        """End, whatever is under way."""


async def start(plugins: PluginSet, components: Sequence[Component], *, ready: bool = False) -> None:
    """Start the plugins, and then all components; one that cannot be started keeps no other from it.

    With `ready`, wait until all is there that a single tick needs.
    """
    await plugins.start()
    for each in components:
        try:
            await each.start()
            if ready:
                await each.ready()
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            errors.log_failure(log, error, "the dispatcher continues without it")


async def close(plugins: PluginSet, components: Sequence[Component]) -> None:
    """Stop all, the last one first, and the plugins after that; one that cannot be stopped keeps no other from it."""
    for each in reversed(components):
        try:
            await each.close()
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            errors.log_failure(log, error, "the dispatcher ends without it")
    await plugins.stop()
