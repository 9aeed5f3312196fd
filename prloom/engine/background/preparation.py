"""Prepare the start of a daemon: its settings, its program, its environment and its socket."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from prloom.api.manifest import Background, Manifest
from prloom.errors import ExtensionError
from prloom.extensions.background import environment, runtime_folder
from prloom.extensions.background.environment import DaemonContext
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.record import Json

_PYTHON = "python3"


class HostAccess(Protocol):
    """Gives each start of a daemon its way to prloom."""

    def begin(self, plugin: str) -> Mapping[str, str]:
        """Return the variables by which the plugin of this key reaches prloom; they are new at each call."""

    def end(self, plugin: str) -> None:
        """Note that the daemon has ended that was given the latest of them, or that it was not started."""


@dataclass(frozen=True)
class Prepared:
    """What a daemon is started with."""

    program: tuple[str, ...]
    environ: Mapping[str, str]
    folder: Path
    socket: Path


class NoHostAccess:
    """Implements HostAccess for a plugin that cannot reach prloom, as in a test of a daemon alone."""

    def begin(self, plugin: str) -> Mapping[str, str]:
        """Return no variables."""
        return {}

    def end(self, plugin: str) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Preparation:
    """Prepares each start of one plugin's daemon anew, so that changed settings take effect.

    `settings` returns the plugin's settings as they are now; it raises PrloomError where one is missing.
    """

    found: DiscoveredPlugin
    repo_root: Path
    settings: Callable[[], Mapping[str, Json]] = dict
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    host_access: HostAccess = field(default_factory=NoHostAccess)

    @property
    def manifest(self) -> Manifest:
        """The plugin's manifest."""
        if self.found.manifest is None:
            raise ExtensionError(f"plugin {self.found.key} has no manifest")
        return self.found.manifest

    @property
    def background(self) -> Background:
        """What the manifest says of the daemon."""
        if self.manifest.background is None:
            raise ExtensionError(f"plugin {self.found.key} has no background; declare one in its manifest")
        return self.manifest.background

    def program(self) -> tuple[str, ...]:
        """Return the program with its arguments; raises ExtensionError where it cannot be run.

        A plugin that comes with prloom runs with prloom's Python, which has its libraries.
        """
        command, args = self.background.command, self.background.args
        if self.found.source == "bundled" and command == _PYTHON:
            return (sys.executable, *args)
        return environment.program(command, args, Path(self.found.path), self.environ)

    def prepare(self) -> Prepared:
        """Return what the daemon is started with; a socket that an ended one left is removed. Raises PrloomError."""
        key = self.found.key
        settings = self.settings()
        own = runtime_folder.make(self.repo_root, key, self.environ)
        folder = Path(self.found.path)
        socket = runtime_folder.socket_path(own, self.background.path) or own / runtime_folder.SOCKET
        runtime_folder.clear_socket(socket)
        given = DaemonContext(key, self.repo_root, socket, self.host_access.begin(key))
        return Prepared(
            program=self.program(),
            environ=environment.of_daemon(self.environ, self.manifest, settings, given),
            folder=folder,
            socket=socket,
        )

    def ended(self) -> None:
        """Note that what was prepared last has ended, or was not started: its way to prloom ends."""
        self.host_access.end(self.found.key)
