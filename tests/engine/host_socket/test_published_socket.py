"""Where commands find the dispatcher's socket, and which sockets they do not use."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prloom.engine.host_socket import published_socket
from prloom.errors import PrloomError, UnsafePathError
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def local(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path, "local") as folder:
        yield folder


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "host.sock"))
        (folder / "host.sock").chmod(0o600)
        yield folder / "host.sock"


def test_a_published_socket_is_found_until_it_is_withdrawn(local: SafeDir, bound: Path):
    published_socket.publish(local, bound)
    found = published_socket.find(local)
    published_socket.withdraw(local)

    assert found == str(bound)
    with pytest.raises(FileNotFoundError):
        published_socket.find(local)


def test_a_socket_that_is_gone_is_not_found(local: SafeDir, bound: Path):
    published_socket.publish(local, bound)
    bound.unlink()

    with pytest.raises(FileNotFoundError):
        published_socket.find(local)


def open_to_others(bound: Path) -> Path:
    bound.chmod(0o666)
    return bound


def in_a_shared_folder(bound: Path) -> Path:
    bound.parent.chmod(0o755)
    return bound


def an_ordinary_file(bound: Path) -> Path:
    bound.unlink()
    bound.touch(0o600)
    return bound


def through_a_link(bound: Path) -> Path:
    link = bound.parent / "link.sock"
    link.symlink_to(bound)
    return link


@pytest.mark.parametrize("spoil", [open_to_others, in_a_shared_folder, an_ordinary_file, through_a_link])
def test_a_socket_that_is_not_the_users_alone_is_refused(local: SafeDir, bound: Path, spoil: Callable[[Path], Path]):
    published_socket.publish(local, spoil(bound))

    with pytest.raises(PrloomError, match=r"stop the dispatcher, and run `prloom start` again"):
        published_socket.find(local)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_socket_of_another_user_is_refused_and_both_users_are_named(local: SafeDir, bound: Path):
    os.chown(bound, 65534, -1)
    published_socket.publish(local, bound)

    with pytest.raises(PrloomError, match="belongs to user 65534, and this command runs as user 0; run it as the user"):
        published_socket.find(local)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"path": 7}', '{"path": "relative.sock"}', '{"path": "/a\\u0000"}']
)
def test_a_file_that_names_no_socket_is_refused(local: SafeDir, content: str):
    Path(local.where(paths.HOST_SOCKET)).write_text(content)

    with pytest.raises(PrloomError, match=r"dispatcher.socket.json does not name a socket"):
        published_socket.find(local)


def test_a_link_in_place_of_the_file_is_not_followed(local: SafeDir, bound: Path, tmp_path: Path):
    (tmp_path / "elsewhere.json").write_text(json.dumps({"path": str(bound)}))
    Path(local.where(paths.HOST_SOCKET)).symlink_to(tmp_path / "elsewhere.json")

    with pytest.raises(UnsafePathError):
        published_socket.find(local)
