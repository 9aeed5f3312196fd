"""Say how a library is added to the prloom that runs: in the way in which prloom was installed."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

_SOURCES: Final = ("directory", "editable", "path", "url", "git")


def how_to_add(library: str, *, prefix: Path | None = None) -> str:
    """Return the command that adds a library to the environment in `prefix`, by default this process's.

    The library itself is named, and no extra: prloom may have been installed from a folder, and not by name.
    """
    home = prefix or Path(sys.prefix)
    receipt = home / "uv-receipt.toml"  # `uv tool install` writes it into a tool's environment
    if receipt.is_file():
        return shlex.join(("uv", "tool", "install", *_of_tool(receipt, library)))
    if (home / "pipx_metadata.json").is_file():
        return shlex.join(("pipx", "inject", home.name, library))
    return shlex.join((str(home / "bin" / "python"), "-m", "pip", "install", library))


def _of_tool(receipt: Path, library: str) -> tuple[str, ...]:
    """Return the arguments with which uv installs the tool once more, with one library more than it has."""
    wanted: list[dict[str, Any]] = tomllib.loads(receipt.read_text("utf-8"))["tool"]["requirements"]
    own = next(each for each in wanted if each["name"] == "prloom")
    added = [f"--with={_requirement(each)}" for each in wanted if each is not own]
    editable = ("--editable",) if "editable" in own else ()
    return (*added, f"--with={library}", *editable, _requirement(own))


def _requirement(told: dict[str, Any]) -> str:
    """Return what to install: where it was installed from, or its name with its extras and versions."""
    for key in _SOURCES:
        if key in told:
            return f"git+{told[key]}" if key == "git" else str(told[key])
    extras = ",".join(told.get("extras", ()))
    return f"{told['name']}{f'[{extras}]' if extras else ''}{told.get('specifier', '')}"
