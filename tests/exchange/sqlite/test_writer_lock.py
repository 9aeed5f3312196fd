from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from prloom.exchange.errors import StoreBusyError
from prloom.exchange.sqlite.writer_lock import FileListener, WriterLock

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

FULL = """
import resource, signal, sys
from prloom.exchange import connect
from prloom.exchange.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
exchange = connect(sys.argv[1])
done = []
done.append(exchange.publish("work", "before"))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for number in range(1000):
    try:
        done.append(exchange.publish("work", "x" * 3000))
    except StoreError as error:
        print(type(error).__name__)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
done.append(exchange.publish("work", "after"))
assert exchange.read() == tuple(done), "what was acknowledged is there, and nothing else"
"""


def test_the_lock_has_one_owner_and_a_wait_for_it_ends(tmp_path: Path):
    one, two = WriterLock(str(tmp_path / "lock")), WriterLock(str(tmp_path / "lock"), patience=0.02)
    with (
        one.locked(),
        pytest.raises(StoreBusyError, match=r"lock has been locked by another process for 0\.02 s; find out which"),
        two.locked(),
    ):
        pass

    with two.locked():
        pass
    one.close()
    two.close()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    path = tmp_path / "lock"
    program = (
        "import os, sys; from prloom.exchange.sqlite.writer_lock import WriterLock\n"
        "with WriterLock(sys.argv[1]).locked(): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, path], check=False).returncode == -9

    lock = WriterLock(str(path), patience=0.01)
    with lock.locked():
        pass
    lock.close()


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path):
    path = tmp_path / "exchange.db"
    ended = subprocess.run([sys.executable, "-c", FULL, path, "200000"], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout in {"StoreError\n", "OutcomeUnknownError\n"}
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


@ON_LINUX
def test_a_file_that_cannot_be_watched_is_not_heard_of_and_that_is_no_error(tmp_path: Path):
    listener = FileListener(str(tmp_path / "nowhere"))

    assert listener.fileno() is None
    listener.drain()
    listener.close()


@ON_LINUX
def test_listening_does_not_load_asyncio(tmp_path: Path):
    program = (
        "import sys\nfrom prloom.exchange.sqlite.store import SqliteStore\n"
        "SqliteStore(sys.argv[1]).listen()\nassert 'asyncio' not in sys.modules\n"
    )

    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "jobs.db")], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
