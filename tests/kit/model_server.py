"""The real agent programs, where they are installed, and a model server on this machine for them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from prloom.agents import registry

DATA = Path(__file__).parents[1] / "data" / "agents"
PATH = f"{Path(__file__).parents[2] / 'node_modules' / '.bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
EACH = ("claude", "codex", "opencode", "gemini")


@dataclass(frozen=True)
class Server:
    """A model server: its address, and where it writes what it was asked."""

    url: str
    log: Path


@contextmanager
def folder_on_disk() -> Iterator[Path]:
    """Make a folder on a disk, as a home is: codex's sandbox does not work for a home below one for temporary files."""
    with TemporaryDirectory(prefix=".prloom-real-", dir=Path(pwd.getpwuid(os.getuid()).pw_dir)) as folder:
        yield Path(folder)


@contextmanager
def serving(*argv: str, log: Path) -> Iterator[Server]:
    with subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Server(process.stdout.readline().removeprefix("LISTENING ").strip(), log)
        process.kill()


def require(name: str) -> None:
    """Skip the test where the program of an agent is not installed."""
    program = registry.get(name).program or ""
    if shutil.which(program, path=PATH) is None:
        pytest.skip(f"{program} is not installed: neither on PATH nor in node_modules/.bin")
