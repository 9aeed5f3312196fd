"""Find the plugins that exist, wherever they come from, without running any of their code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prloom import bundled
from prloom.api.manifest import Manifest
from prloom.errors import ExtensionError
from prloom.extensions import keys, manifest
from prloom.model.record import Record

PluginSource = Literal["bundled", "user", "project", "installed"]
SOURCES: tuple[PluginSource, ...] = ("bundled", "user", "project", "installed")
"""Where plugins come from; of two with one key, that of the later source wins."""

GROUP = "prloom.plugins"
"""The group of entry points under which installed packages offer plugins."""

_DEEPEST = 4  # categories within categories; more is a mistake, or a loop


class DiscoveredPlugin(Record, frozen=True, kw_only=True):
    """A plugin that exists. `path` is its folder or its `.py` file; an installed one has an `entry_point` instead.

    Where the plugin cannot be used, `error` says why, and it may have no manifest.
    """

    key: str
    source: PluginSource
    path: str = ""
    entry_point: str | None = None
    manifest: Manifest | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self.path or f"entry point {self.entry_point}"

    @property
    def is_daemon_only(self) -> bool:
        """Whether the plugin is a daemon without Python code."""
        return self.manifest is not None and self.manifest.background is not None and not self.code.is_file()

    @property
    def is_tools_only(self) -> bool:
        """Whether the plugin is executables that its manifest declares as tools, without Python code or a daemon."""
        manifest = self.manifest
        if manifest is None or self.entry_point is not None or not manifest.tools:
            return False
        return manifest.background is None and not self.code.is_file()

    @property
    def code(self) -> Path:
        """The file that is executed when the plugin is loaded (not of an installed one)."""
        path = Path(self.path)
        if path.suffix == ".py":
            return path
        return path / "__init__.py"


@dataclass(frozen=True)
class PluginPaths:
    """The folders that are searched, and whether installed packages are asked."""

    bundled: Path | None = None
    user: Path | None = None
    project: Path | None = None
    installed: bool = True


def plugin_paths(repo_root: Path, environ: Mapping[str, str]) -> PluginPaths:
    """Return where plugins are looked for when prloom is started in this repository."""
    return PluginPaths(
        bundled=bundled.folder("plugins"), user=home(environ) / "plugins", project=repo_root / "prloom" / "plugins"
    )


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's own folder for prloom: `$PRLOOM_HOME`, or the platform's place for configuration."""
    if named := environ.get("PRLOOM_HOME"):
        return Path(named).expanduser()
    import platformdirs  # noqa: PLC0415 - not needed where the variable is set

    return platformdirs.user_config_path("prloom")


def discover(paths: PluginPaths) -> tuple[DiscoveredPlugin, ...]:
    """Return every plugin of every source, in the order of the sources and of the keys; a key may come twice."""
    found: list[DiscoveredPlugin] = []
    folders: tuple[tuple[PluginSource, Path | None], ...] = (
        ("bundled", paths.bundled),
        ("user", paths.user),
        ("project", paths.project),
    )
    for source, folder in folders:
        if folder is not None:
            found += sorted(_scan(folder, source, (), frozenset()), key=lambda plugin: (plugin.key, plugin.path))
    if paths.installed:
        found += sorted(_installed(), key=lambda plugin: plugin.key)
    return tuple(found)


def _scan(
    folder: Path, source: PluginSource, category: tuple[str, ...], above: frozenset[str]
) -> Iterator[DiscoveredPlugin]:
    """Yield the plugins under a folder; one without a manifest and without code is a category of further ones."""
    try:
        real = os.path.realpath(folder)  # unlike Path.resolve(), it does not raise at a loop
        entries = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield DiscoveredPlugin(
            key="/".join(category) or folder.name,
            source=source,
            path=str(folder),
            error=f"{folder} cannot be read: {error.strerror}",
        )
        return
    if real in above or len(category) > _DEEPEST:  # a symbolic link that leads up again
        return
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if entry.suffix == ".py" and entry.is_file():
            yield _single(entry, source, category)
        elif entry.is_dir() and _is_plugin(entry):
            yield _folder(entry, source, category)
        elif entry.is_dir():
            yield from _scan(entry, source, (*category, entry.name), above | {real})


def _is_plugin(folder: Path) -> bool:
    try:
        return bool(manifest.files(folder)) or (folder / "__init__.py").is_file()
    except PermissionError:
        return False  # as a category it will be reported as unreadable


def _single(file: Path, source: PluginSource, category: tuple[str, ...]) -> DiscoveredPlugin:
    key = "/".join((*category, file.stem))
    wrong = _bad_part(*category, file.stem)
    if wrong is not None:
        return DiscoveredPlugin(key=key, source=source, path=str(file), error=f"{file}: {wrong}")
    return DiscoveredPlugin(key=key, source=source, path=str(file), manifest=Manifest(name=file.stem))


def _folder(folder: Path, source: PluginSource, category: tuple[str, ...]) -> DiscoveredPlugin:
    by_folder = "/".join((*category, folder.name))
    try:
        read = manifest.read(folder)
    except ExtensionError as error:
        return DiscoveredPlugin(key=by_folder, source=source, path=str(folder), error=str(error))
    wrong = _bad_part(*category)
    needs_code = read.manifest.background is None and not read.manifest.tools
    if wrong is None and needs_code and not (folder / "__init__.py").is_file():
        wrong = "there is no __init__.py; add one with `def register(ctx):`"
    return DiscoveredPlugin(
        key="/".join((*category, read.manifest.name)),
        source=source,
        path=str(folder),
        manifest=read.manifest,
        error=f"{folder}: {wrong}" if wrong else None,
        warnings=read.warnings,
    )


def _bad_part(*parts: str) -> str | None:
    return next((wrong for part in parts if (wrong := keys.problem(part)) is not None), None)


def _installed() -> Iterator[DiscoveredPlugin]:
    """Yield the plugins of installed packages; only the packages' metadata are read."""
    from importlib import metadata  # noqa: PLC0415 - 40 ms, and not every command asks

    for entry in metadata.entry_points(group=GROUP):
        if entry.dist is not None:
            version = entry.dist.version
        else:
            version = "0"
        wrong = _bad_part(*entry.name.split("/"))
        yield DiscoveredPlugin(
            key=entry.name,
            source="installed",
            entry_point=entry.value,
            manifest=Manifest(name=entry.name.rsplit("/", 1)[-1], version=version),
            error=f"entry point {entry.name!r}: {wrong}" if wrong else None,
        )
