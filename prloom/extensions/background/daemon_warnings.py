"""Say what has no effect of a plugin's manifest and of its settings, so that nobody waits for it in vain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from prloom.extensions.background import runtime_folder, settings
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.record import Json


def of(
    found: DiscoveredPlugin, table: Mapping[str, Json], repo_root: Path, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the warnings about a plugin with a daemon; `table` are its settings as the operator wrote them.

    If the plugin has Python code too, that reports the manifest's warnings, and may know further settings.
    """
    warnings = list(_of_path(found, repo_root, environ))
    if found.is_daemon_only and found.manifest is not None:
        warnings = [*found.warnings, *settings.unknown(found.key, found.manifest.config_schema, table), *warnings]
    return tuple(warnings)


def _of_path(found: DiscoveredPlugin, repo_root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    if found.manifest is None or found.manifest.background is None:
        return
    wanted = found.manifest.background.path
    folder = runtime_folder.expected(repo_root, found.key, environ)
    if wanted is not None and folder is not None and runtime_folder.socket_path(folder, wanted) is None:
        own = folder / runtime_folder.SOCKET
        yield (
            f"plugin {found.key}: background: communication: path {wanted!r} is not in the plugin's runtime folder, "
            f"so the daemon listens at {own}; remove it, or write a file name"
        )
