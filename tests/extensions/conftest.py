"""Plugins written into temporary folders, and calls to run them with."""

from __future__ import annotations

import os
import textwrap
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from prloom.api.manifest import Manifest
from prloom.extensions.discovery import DiscoveredPlugin, PluginSource
from prloom.extensions.host.process import ProcessHost
from prloom.model.record import Json


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a plugin's folder: its code, its manifest, and further files."""

    def write(name: str, code: str = "def register(ctx):\n    pass\n", manifest: str | None = "", **files: str) -> Path:
        path = tmp_path / name
        path.mkdir(parents=True)
        (path / "__init__.py").write_text(textwrap.dedent(code))
        if manifest is not None:
            (path / "plugin.toml").write_text(manifest)
        for file, text in files.items():
            (path / f"{file}.py").write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def plugin(folder: Callable[..., Path]) -> Callable[..., DiscoveredPlugin]:
    """Write a plugin and return it as discovery would."""

    def write(code: str, name: str = "noted", source: PluginSource = "project", **files: str) -> DiscoveredPlugin:
        path = folder(name, code, **files)
        return DiscoveredPlugin(key=name, source=source, path=str(path), manifest=Manifest(name=name))

    return write


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {"PRLOOM_HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}


@pytest.fixture
async def process_host(tmp_path: Path, environ: Mapping[str, str]) -> AsyncIterator[Callable[..., ProcessHost]]:
    """Open hosts that are processes; they are stopped when the test ends."""
    opened: list[ProcessHost] = []

    def open_host(found: DiscoveredPlugin, settings: Mapping[str, Json] | None = None, **more: object) -> ProcessHost:
        usual: dict[str, Any] = {
            "repo_root": tmp_path,
            "environ": {**os.environ, **environ},
            "start_limit": timedelta(minutes=1),
        }
        opened.append(ProcessHost(found, settings or {}, **{**usual, **more}))
        return opened[-1]

    yield open_host
    for host in opened:
        await host.stop()
