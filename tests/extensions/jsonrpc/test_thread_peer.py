"""Jobs are done beside each other, each as if in a new thread, and threads that are done are used again."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from queue import SimpleQueue

from waiting import until

from prloom.extensions.jsonrpc.thread_peer import KEPT, Threads

PATIENCE = 60.0
left: ContextVar[str] = ContextVar("left", default="nothing")


def idle(threads: Threads) -> int:
    return len(threads._idle)


def test_a_thread_that_is_done_does_the_next_job():
    threads, did = Threads(), SimpleQueue[threading.Thread]()

    for _ in range(3):
        threads.begin(lambda: did.put(threading.current_thread()))
        until(lambda: idle(threads) == 1, each=0.001)

    assert len({did.get(timeout=PATIENCE) for _ in range(3)}) == 1


def test_a_job_that_hangs_keeps_no_other_from_being_done():
    threads, done, hang = Threads(), SimpleQueue[str](), threading.Event()
    threads.begin(lambda: hang.wait(PATIENCE))

    threads.begin(lambda: done.put("other"))

    assert done.get(timeout=PATIENCE) == "other"
    hang.set()


def test_what_a_job_leaves_in_its_context_is_not_there_for_the_next():
    threads, seen = Threads(), SimpleQueue[str]()

    def job() -> None:
        seen.put(left.get())
        left.set("something")

    for _ in range(2):
        threads.begin(job)
        until(lambda: idle(threads) == 1, each=0.001)

    assert [seen.get(timeout=PATIENCE) for _ in range(2)] == ["nothing", "nothing"]


def test_of_many_threads_that_were_needed_at_once_a_few_are_kept():
    threads, together, did = Threads(), threading.Barrier(3 * KEPT), SimpleQueue[threading.Thread]()

    def job() -> None:
        together.wait(PATIENCE)
        did.put(threading.current_thread())

    for _ in range(3 * KEPT):
        threads.begin(job)
    worked = [did.get(timeout=PATIENCE) for _ in range(3 * KEPT)]

    until(lambda: sum(thread.is_alive() for thread in worked) == idle(threads) == KEPT)
