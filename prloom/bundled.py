"""Find the folders of the extensions that come with prloom."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal


def folder(kind: Literal["plugins", "bridges"]) -> Path | None:
    """Return the folder of these extensions: in the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    shipped = package / "_bundled" / kind
    if shipped.is_dir():
        return shipped
    beside = package.parent / kind
    if (package.parent / "pyproject.toml").is_file() and beside.is_dir():
        return beside
    return None


def packages(folder: Path) -> Mapping[str, Path]:
    """Return each package in a folder by its name, in the order of the names."""
    return {
        entry.name: entry
        for entry in sorted(folder.iterdir())
        if (entry / "__init__.py").is_file() and not entry.name.startswith((".", "_"))
    }
