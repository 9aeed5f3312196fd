"""Kill publishers and workers, round after round, and print what is left; run by test_kill.py in a process of its own.

`python kill_story.py FOLDER ROUNDS SEED`. In each round two publishers and two workers are forked, which write as fast
as they can, and are killed one after the other: from when the first has opened the exchange, and the longer that took,
the later. So they get to work on a slow machine too, and some are killed while they open it. Each round is an hour
after the one before, so that no lease and no backoff of an earlier round is waited for.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore

PUBLISHERS, WORKERS = 2, 2
LONGEST_PACE = 0.5  # seconds


def opened(folder: Path, number: int) -> Exchange:
    now = datetime.now(UTC) + timedelta(hours=number)
    return Exchange(SqliteStore(folder / "exchange.db", clock=lambda: now))


def publish(folder: Path, number: int, slot: int, ready: int) -> None:
    """Publish under numbered keys, and note each when it is acknowledged; what was not is published again."""
    noted = os.open(folder / f"acknowledged-{slot}", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    count = os.fstat(noted).st_size // 30
    with opened(folder, number) as exchange:
        os.write(ready, b".")
        while True:
            name = f"{slot}-{count}"
            message = exchange.publish("work", f"body {name}", key=name)
            os.write(noted, f"{name:<8} {message.id}\n".encode())
            count += 1


WAYS = (
    lambda claimed: claimed.complete("done"),
    lambda claimed: claimed.fail("broke"),
    lambda claimed: claimed.fail("again", retry=True),
    lambda claimed: claimed.time_out("late"),
    lambda claimed: claimed.release(),
    lambda claimed: claimed.renew(),
)


def work(folder: Path, number: int, slot: int, ready: int) -> None:
    """Claim and settle, in each way."""
    choose = random.Random(f"{number}.{slot}")
    with opened(folder, number) as exchange:
        os.write(ready, b".")
        while True:
            claimed = exchange.claim("work", instance=f"{number}.{slot}", max_attempts=3)
            if claimed is not None:
                choose.choice(WAYS)(claimed)


def forked(task: Callable[[Path, int, int, int], None], folder: Path, number: int, slot: int, ready: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            task(folder, number, slot, ready)
        except BaseException as error:  # noqa: BLE001 (all that a child can do is to say so)
            os.write(2, f"{task.__name__}: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    return pid


def one_round(folder: Path, number: int, chance: random.Random) -> int:
    """Return how many ended otherwise than by being killed."""
    begun = time.monotonic()
    heard, ready = os.pipe()
    pids = [forked(publish, folder, number, slot, ready) for slot in range(PUBLISHERS)]
    pids += [forked(work, folder, number, slot, ready) for slot in range(WORKERS)]
    os.close(ready)
    os.read(heard, 1)
    pace = min(time.monotonic() - begun, LONGEST_PACE)
    chance.shuffle(pids)
    for pid in pids:
        time.sleep(chance.uniform(0, pace / 2))
        os.kill(pid, signal.SIGKILL)
    os.close(heard)
    return sum(os.waitpid(pid, 0)[1] != signal.SIGKILL for pid in pids)


def drain(folder: Path, number: int) -> None:
    """Work on all that is left; each hour what waited or was in the hands of the dead is ready again."""
    for hour in range(10):
        with opened(folder, number + hour) as exchange:
            for claimed in exchange.claims("work", max_attempts=3, patience=timedelta(0)):
                claimed.complete("done at last")


def report(folder: Path) -> dict[str, object]:
    acknowledged = [line.split()[1] for file in folder.glob("acknowledged-*") for line in file.read_text().splitlines()]
    db = sqlite3.connect(folder / "exchange.db")
    states = dict(
        db.execute("SELECT m.id, d.state FROM messages m JOIN deliveries d USING (seq) WHERE m.topic = 'work'")
    )
    replies = Counter(dict(db.execute("SELECT parent_id, count(*) FROM messages WHERE topic != 'work' GROUP BY 1")))
    endings = db.execute(
        "SELECT message, count(*) FROM claims WHERE reply_id IS NOT NULL GROUP BY message HAVING count(*) > 1"
    ).fetchall()
    keys = [key for (key,) in db.execute("SELECT key FROM deliveries WHERE key IS NOT NULL")]
    return {
        "acknowledged": len(acknowledged),
        "published": len(states),
        "lost": sorted(set(acknowledged) - set(states)),
        "doubled": sorted(key for key, count in Counter(keys).items() if count > 1),
        "unfinished": sorted(name for name, state in states.items() if state not in {"done", "dead"}),
        "wrong_replies": sorted(name for name in states if replies[name] != 1),
        "ended_twice": endings,
        "active": db.execute("SELECT count(*) FROM claims WHERE status = 'active'").fetchone()[0],
        "expired": db.execute("SELECT count(*) FROM claims WHERE status = 'expired'").fetchone()[0],
        "dead": list(states.values()).count("dead"),
        "integrity": db.execute("PRAGMA integrity_check").fetchone()[0],
    }


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    opened(folder, 0).close()
    chance = random.Random(seed)
    strays = sum(one_round(folder, number, chance) for number in range(rounds))
    drain(folder, rounds)
    print(json.dumps({"strays": strays, **report(folder)}))


if __name__ == "__main__":
    main()
