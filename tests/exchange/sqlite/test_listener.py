"""Hearing of what other processes do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prloom.exchange.sqlite.listener import FileListener

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


def test_a_file_that_cannot_be_watched_is_not_heard_of_and_that_is_no_error(tmp_path: Path):
    listener = FileListener(str(tmp_path / "nowhere"))

    assert listener.fileno() is None
    listener.drain()
    listener.close()


def test_who_listens_pays_for_no_asyncio(tmp_path: Path):
    program = (
        "import sys\nfrom prloom.exchange.sqlite.store import SqliteStore\n"
        "SqliteStore(sys.argv[1]).listen()\nassert 'asyncio' not in sys.modules\n"
    )

    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "jobs.db")], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
