"""Let ten workers do a thousand jobs of 5 ms, and print who did what; run by test_crowd.py in a process of its own."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

from prloom.exchange import validation
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore

WORKERS, JOBS = 10, 1000
BEGIN = multiprocessing.get_context("fork").Barrier(WORKERS, timeout=300)  # none has done all before another begins


def work(path: Path, name: str) -> None:
    with Exchange(SqliteStore(path)) as exchange:
        BEGIN.wait()
        for claimed in exchange.claims("work", instance=name, patience=timedelta(0)):
            time.sleep(0.005)
            claimed.complete(claimed.message.body)


def forked(path: Path, name: str) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(path, name)
            code = 0
        except BaseException as error:  # noqa: BLE001 (all that a child can do is to say so)
            os.write(2, f"{name}: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    return pid


def main() -> None:
    path = Path(sys.argv[1]) / "exchange.db"
    with Exchange(SqliteStore(path)) as exchange:
        exchange.publish_all([validation.draft("work", str(number)) for number in range(JOBS)])
    pids = [forked(path, f"w{number}") for number in range(WORKERS)]
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
    db = sqlite3.connect(path)
    replies = [body for (body,) in db.execute("SELECT body FROM messages WHERE topic = 'work.completed'")]
    shares = Counter(name for (name,) in db.execute("SELECT worker_instance_id FROM claims WHERE status = 'completed'"))
    claims = db.execute("SELECT count(*) FROM claims").fetchone()[0]
    once = sorted(replies, key=int) == [str(number) for number in range(JOBS)]
    print(json.dumps({"failed": failed, "once": once, "claims": claims, "shares": shares}))


if __name__ == "__main__":
    main()
