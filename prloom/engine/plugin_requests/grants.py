"""Give each daemon a token at its start, by which a connection is known as its plugin's until the daemon ends."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prloom.engine.tools.run_sessions import Hide

SOCKET_VARIABLE: Final = "PRLOOM_HOST_SOCKET"
TOKEN_VARIABLE: Final = "PRLOOM_HOST_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(eq=False)
class Grant:
    """What one start of a plugin's daemon was given; `on_end` is called when that daemon has ended, and `over` then."""

    plugin: str
    over: bool = False
    on_end: list[Callable[[], None]] = field(default_factory=list)


class Grants:
    """The tokens of the daemons that run; only their digests are kept."""

    def __init__(self, socket: Callable[[], Path], hide: Hide) -> None:
        self._socket = socket
        self._hide = hide
        self._by_digest: dict[str, Grant] = {}
        self._digests: dict[str, str] = {}

    def begin(self, plugin: str) -> Mapping[str, str]:
        """Return the variables of a daemon that is about to be started; the token of an earlier one is void."""
        self.end(plugin)
        token = secrets.token_urlsafe(32)
        made, digest = Grant(plugin), _digest(token)
        made.on_end.append(self._hide(f"the token of plugin {plugin}", token))
        self._by_digest[digest], self._digests[plugin] = made, digest
        return {SOCKET_VARIABLE: str(self._socket()), TOKEN_VARIABLE: token}

    def end(self, plugin: str) -> None:
        """Note that a plugin's daemon has ended, or was not started after all: what it was given ends."""
        found = self._by_digest.pop(self._digests.pop(plugin, ""), None)
        if found is None:
            return
        found.over = True
        for report_end in found.on_end:
            report_end()

    def find(self, token: str) -> Grant | None:
        """Return what belongs to a token that is valid now."""
        return self._by_digest.get(_digest(token))

    def current(self, plugin: str) -> Grant | None:
        """Return what the daemon of a plugin has been given that runs now."""
        return self._by_digest.get(self._digests.get(plugin, ""))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
