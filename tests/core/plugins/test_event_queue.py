"""What waits for a daemon, and what is dropped."""

from __future__ import annotations

from prloom.core.plugins import event_queue
from prloom.core.plugins.event_queue import EventQueue


def test_events_leave_in_the_order_in_which_they_came():
    queue = EventQueue()
    for each in (b"1", b"2", b"3"):
        queue.add(each)

    assert queue.take(2) == (0, [b"1", b"2"])
    assert queue.take(2) == (0, [b"3"])


def test_a_full_queue_drops_the_oldest_event_and_counts_it_once():
    queue = EventQueue()
    for number in range(event_queue.CAPACITY + 2):
        queue.add(str(number).encode())

    dropped, first = queue.take(1)

    assert (dropped, first, queue.total_dropped) == (2, [b"2"], 2)
    assert queue.take(1)[0] == 0


def test_drops_that_could_not_be_reported_are_reported_later():
    queue = EventQueue()
    queue.drop(3)
    dropped, _ = queue.take(1)
    queue.drop()
    queue.restore(dropped)

    assert queue.take(1) == (4, [])
    assert queue.total_dropped == 4


def test_what_waits_for_a_daemon_that_has_ended_is_dropped_and_counted():
    queue = EventQueue()
    queue.add(b"1")
    queue.clear()

    assert queue.take(1) == (1, [])
