from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from prloom.exchange.errors import StoreBusyError
from prloom.exchange.sqlite.writer_lock import WriterLock

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


def test_two_do_not_have_the_turn_at_once_and_whoever_waits_too_long_is_told(tmp_path: Path):
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


def test_the_turn_of_a_killed_process_is_free(tmp_path: Path):
    path = tmp_path / "lock"
    program = (
        "import os, sys; from prloom.exchange.sqlite.writer_lock import WriterLock\n"
        "with WriterLock(sys.argv[1]).locked(): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, path], check=False).returncode == -9

    turn = WriterLock(str(path), patience=0.01)
    with turn.locked():
        pass
    turn.close()


def test_a_disk_that_is_full_is_told_and_loses_nothing(tmp_path: Path):
    path = tmp_path / "exchange.db"
    ended = subprocess.run([sys.executable, "-c", FULL, path, "200000"], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout in {"StoreError\n", "OutcomeUnknownError\n"}
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
