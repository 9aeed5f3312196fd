from __future__ import annotations

from prloom.core.plugins.unsolicited_messages import A_MINUTE, MOST_SAVED, UnsolicitedMessages


def allowed(messages: UnsolicitedMessages, now: float) -> int:
    """Return how many messages a daemon may send at a time until one is too many."""
    count = 0
    while messages.add(now):
        count += 1
    return count


def test_a_daemon_may_send_a_thousand_messages_at_once_and_again_after_a_minute() -> None:
    messages = UnsolicitedMessages(at=100)

    assert allowed(messages, 100) == A_MINUTE
    assert allowed(messages, 130) == A_MINUTE // 2 - 1  # the one that was too many counts
    assert allowed(messages, 100_000) == A_MINUTE


def test_each_message_that_a_daemon_is_sent_allows_one_more() -> None:
    messages = UnsolicitedMessages(at=0)
    messages.sent(3 * A_MINUTE)

    assert allowed(messages, 0) == 4 * A_MINUTE


def test_however_many_a_daemon_was_sent_it_may_send_ten_thousand_at_most() -> None:
    messages = UnsolicitedMessages(at=0)
    messages.sent(100 * A_MINUTE)

    assert allowed(messages, 1000) == MOST_SAVED
