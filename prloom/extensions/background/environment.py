"""Decide what a daemon is run with: its program, and its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prloom import programs
from prloom.api.manifest import Manifest
from prloom.errors import ExtensionError
from prloom.extensions.background import declaration
from prloom.model import secret_names
from prloom.model.record import Json

ALLOWED = ("PATH", "HOME", "LANG", "TMPDIR")
"""What each daemon gets of prloom's own environment."""


@dataclass(frozen=True)
class DaemonContext:
    """What a daemon gets beside its settings: the plugin's key, the repository, its socket, and the way to prloom."""

    plugin: str
    repo_root: Path
    socket: Path
    host: Mapping[str, str]


def program(command: str, args: Sequence[str], folder: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the program as an absolute path, with its arguments; raises ExtensionError where there is none."""
    if "/" not in command:
        found = programs.locate(command, environ)
        if found is None:
            hint = "install it, or correct the manifest"
            if len(command.split()) > 1:
                hint = "write its arguments in the manifest's `args`"
            raise ExtensionError(f"there is no program {command} on PATH; {hint}")
        return (found, *args)
    problem = declaration.program_problem(command, folder)
    path = folder / command
    if problem is None and not path.is_file():
        problem = f"there is no {path}"
    if problem is None and not os.access(path, os.X_OK):
        problem = f"{path} is not executable; run `chmod +x` on it"
    if problem is not None:
        raise ExtensionError(f"its command cannot be run: {problem}")
    return (os.path.realpath(path), *args)


def of_daemon(
    environ: Mapping[str, str], manifest: Manifest, settings: Mapping[str, Json], given: DaemonContext
) -> dict[str, str]:
    """Return the environment of a daemon. A forge's token is never part of it.

    Raises ExtensionError where a variable that it requires is missing.
    """
    missing = [name for name in manifest.requires_env if not environ.get(name)]
    if missing:
        raise ExtensionError(f"it needs {', '.join(missing)} in the environment")
    own = {name: environ[name] for name in (*ALLOWED, *manifest.requires_env) if name in environ}
    return {
        **{name: value for name, value in own.items() if not secret_names.is_forge_secret(name)},
        **{declaration.variable(name): text(value) for name, value in settings.items()},
        "PRLOOM_PLUGIN": given.plugin,
        "PRLOOM_REPO_ROOT": str(given.repo_root),
        "PRLOOM_SOCKET_PATH": str(given.socket),
        "SOCKET_PATH": str(given.socket),
        **given.host,
    }


def text(value: Json) -> str:
    """Return a setting's value as a variable has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
