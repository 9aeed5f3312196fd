"""Where sockets are."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from prloom.errors import ExtensionError
from prloom.extensions.background import runtime_folder


def test_each_plugin_of_each_repository_has_a_private_folder_of_its_own(tmp_path: Path):
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    made = {runtime_folder.make(Path(root), name, environ) for root in ("/a", "/b") for name in ("x", "y")}

    assert len(made) == 4
    assert {folder.stat().st_mode & 0o777 for folder in made} == {0o700}


def test_a_path_that_would_be_too_long_for_a_socket_is_not_used(tmp_path: Path):
    long = tmp_path / ("x" * 100)
    long.mkdir()

    made = runtime_folder.make(Path("/a"), "x", {"XDG_RUNTIME_DIR": str(long)})

    assert len(os.fsencode(made / runtime_folder.SOCKET)) <= runtime_folder.LONGEST
    assert long not in made.parents


@pytest.mark.parametrize("wanted", [None, "own.sock", "./own.sock"])
def test_a_path_in_the_plugins_own_folder_is_used(tmp_path: Path, wanted: str | None):
    assert runtime_folder.socket_path(tmp_path, wanted) in {tmp_path / "daemon.sock", tmp_path / "own.sock"}


@pytest.mark.parametrize("wanted", ["../own.sock", "/tmp/own.sock", "sub/own.sock"])
def test_a_path_outside_of_it_is_not(tmp_path: Path, wanted: str):
    assert runtime_folder.socket_path(tmp_path, wanted) is None


def test_a_socket_that_was_left_is_removed_and_anything_else_is_not(tmp_path: Path):
    left, file, link = tmp_path / "left.sock", tmp_path / "file", tmp_path / "link"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left))
    file.write_text("mine")
    link.symlink_to(left)

    for path in (file, link):
        with pytest.raises(ExtensionError, match="is where its socket belongs, but is not a socket; move it away"):
            runtime_folder.clear_socket(path)
    runtime_folder.clear_socket(left)

    assert (left.exists(), file.read_text(), link.is_symlink()) == (False, "mine", True)
