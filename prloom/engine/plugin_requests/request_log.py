"""Count the requests of plugins by how they ended, and log each of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from prloom.core.text import naming
from prloom.engine.host_socket import server
from prloom.model.kinds import REQUEST_OUTCOMES, RequestOutcome
from prloom.model.record import Json

log = logging.getLogger(__name__)

LIMITED: Final = -32002
"""The code of an error that says that a plugin requests too much; its data say when it may again."""

OTHER: Final = "other"
"""What all methods are counted under that do not exist."""

_OUTCOMES: Final[Mapping[int, RequestOutcome]] = {server.DENIED: "denied", LIMITED: "limited"}


class RequestLog:
    """The counts of each plugin and method since the dispatcher started; `changed` is called when there is one more."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._counts: dict[str, dict[str, dict[RequestOutcome, int]]] = {}

    def of(self, plugin: str) -> dict[str, Json]:
        """Return a plugin's counts by method."""
        return {method: dict(counts) for method, counts in sorted(self._counts.get(plugin, {}).items())}

    def answered(self, plugin: str, method: str) -> None:
        """Count a request that was carried out."""
        self._count(plugin, method, "ok")
        log.info("plugin %s: %s: ok", plugin, method)

    def refused(self, plugin: str, method: str, code: int, text: str) -> None:
        """Count a request that was answered with an error."""
        outcome = _OUTCOMES.get(code, "failed")
        self._count(plugin, method, outcome)
        log.info("plugin %s: %s: %s (%d): %s", plugin, method, outcome, code, naming.printable(text, 500))

    def _count(self, plugin: str, method: str, outcome: RequestOutcome) -> None:
        counts = self._counts.setdefault(plugin, {})
        blank = dict.fromkeys(REQUEST_OUTCOMES, 0)
        counts.setdefault(method, blank)[outcome] += 1
        self._changed()
