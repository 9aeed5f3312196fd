"""Folders to write in, and the ways to write into them that the tests of the storage share."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prloom.model.record import START, Cursor
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from prloom.storage.reader import JournalEntry, JournalReader


HOLD = """
import sys
from prloom.storage.safe_dir import SafeDir
from prloom.storage.dispatcher_files import DispatcherLock

with SafeDir.make(sys.argv[1]) as folder, DispatcherLock(folder):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path, "bus") as made:
        yield made


@pytest.fixture
def foreign() -> Callable[[SafeDir, str, bytes], None]:
    """Append as a program does that knows nothing of our lock."""

    def append(folder: SafeDir, name: str, block: bytes) -> None:
        with (Path(folder.path) / name).open("ab", buffering=0) as file:
            file.write(block)

    return append


@pytest.fixture
def drain() -> Callable[..., tuple[list[JournalEntry], Cursor]]:
    """Read on until nothing new comes."""

    def read_all(journal: JournalReader, cursor: Cursor = START, **limits: int) -> tuple[list[JournalEntry], Cursor]:
        entries: list[JournalEntry] = []
        while True:
            batch = journal.read(cursor, **limits)
            entries += batch.entries
            if batch.cursor == cursor:
                return entries, cursor
            cursor = batch.cursor

    return read_all


@pytest.fixture(params=["link", "dangling link", "pipe", "folder", "socket"])
def intruder(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], str]:
    """Put something that is no regular file in a file's place; return what the error calls it."""

    def place(path: Path) -> str:
        match request.param:
            case "link":
                (tmp_path / "elsewhere").write_text('{"stolen": true}\n')
                path.symlink_to(tmp_path / "elsewhere")
                return "a symbolic link"
            case "dangling link":
                path.symlink_to(tmp_path / "nowhere")
                return "a symbolic link"
            case "pipe":
                os.mkfifo(path)
                return "a pipe"
            case "folder":
                path.mkdir()
                return "a folder"
            case _:
                os.mknod(path, 0o140600)
                return "a device or a socket"

    return place


@pytest.fixture(scope="session")
def scenarios() -> ModuleType:
    """The writes that are crashed at every step, shared with the program that is really killed."""
    path = Path(__file__).with_name("scenarios.py")
    spec = importlib.util.spec_from_file_location("storage_scenarios", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def other(folder: SafeDir) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the repository."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()
