from __future__ import annotations

from prloom.core.plugins import message_chain
from prloom.core.plugins.message_chain import ChainLink


def test_a_message_that_nothing_has_caused_is_the_first_link():
    assert message_chain.depth((), (), 100) == 1
    assert message_chain.retry_after_ms((), 100) is None


def test_a_message_because_of_what_another_has_caused_is_the_next_link_and_the_fourth_is_refused():
    shown = [ChainLink(1, 90.0)]
    assert message_chain.depth(shown, (), 100) == 2
    assert message_chain.depth([*shown, ChainLink(2, 95.0)], (), 100) == 3

    assert message_chain.retry_after_ms([*shown, ChainLink(2, 95.0)], 100) is None
    assert message_chain.retry_after_ms([*shown, ChainLink(3, 95.0)], 100) == 55_000
    assert message_chain.refusal("add_message") == (
        "add_message: a chain of plugins' messages that cause each other ends after 3, and this would be one more: "
        "what the plugin was just shown comes from the last of them"
    )


def test_what_is_no_message_passes_on_the_depth_of_the_latest_links_that_were_shown():
    assert message_chain.shown_depth([ChainLink(1, 90.0), ChainLink(3, 95.0), ChainLink(2, 99.0)], 100) == 3
    assert message_chain.shown_depth([ChainLink(3, 40.0), ChainLink(1, 90.0)], 100) == 1
    assert message_chain.shown_depth((), 100) == 0


def test_a_message_within_a_minute_of_another_has_its_depth_also_where_nothing_was_shown():
    assert message_chain.depth((), [ChainLink(2, 41.0)], 100) == 2
    assert message_chain.depth((), [ChainLink(2, 40.0)], 100) == 1


def test_what_was_shown_a_minute_ago_or_comes_from_no_message_does_not_count():
    assert message_chain.depth([ChainLink(3, 40.0)], (), 100) == 1
    assert message_chain.retry_after_ms([ChainLink(3, 40.0)], 100) is None
    assert message_chain.depth([ChainLink(0, 99.0)], (), 100) == 1
