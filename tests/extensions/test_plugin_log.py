from __future__ import annotations

import logging

import pytest

from prloom.extensions import plugin_log
from prloom.extensions.plugin_log import LineCutter, PluginLog


def test_what_is_logged_is_printable_and_names_the_plugin(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = PluginLog("image/openai")

    log.printed("plain \x1b]0;title\x07 \u202e\x9b31m %s")
    log.recorded(logging.ERROR, "one\r\ntwo\x00")

    assert caplog.record_tuples == [
        ("prloom.plugin.image/openai", logging.INFO, r"plugin image/openai: plain \x1b]0;title\x07 \u202e\x9b31m %s"),
        ("prloom.plugin.image/openai", logging.ERROR, "plugin image/openai: one"),
        ("prloom.plugin.image/openai", logging.ERROR, r"plugin image/openai: two\x00"),
    ]


@pytest.mark.parametrize(("level", "kept"), [(10**9, logging.CRITICAL), (-5, logging.DEBUG), ("high", logging.INFO)])
def test_a_level_that_is_none_is_brought_into_range(caplog: pytest.LogCaptureFixture, level: object, kept: int) -> None:
    caplog.set_level(logging.DEBUG)

    PluginLog("noted").recorded(level, "x")

    assert caplog.records[0].levelno == kept


def test_only_so_many_lines_a_second_are_logged_and_the_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = 0.0
    log = PluginLog("noted", clock=lambda: now)

    for _ in range(plugin_log.MOST_LINES + 5):
        log.printed("x")
    assert len(caplog.records) == plugin_log.MOST_LINES

    now = 1.0
    log.printed("y")
    assert caplog.messages[-2:] == ["plugin noted: 5 more lines were left out: too many at once", "plugin noted: y"]


def test_lines_that_were_left_out_at_the_end_are_told(caplog: pytest.LogCaptureFixture) -> None:
    log = PluginLog("noted", clock=lambda: 0.0)
    for _ in range(plugin_log.MOST_LINES + 1):
        log.printed("x")

    log.settle()
    log.settle()

    assert caplog.messages == ["plugin noted: 1 more lines were left out: too many at once"]


def test_a_stream_is_cut_into_lines_wherever_it_is_split() -> None:
    whole = "one\r\ntwo é\n\nlast".encode()
    for size in (1, 2, 3, len(whole)):
        cutter = LineCutter()
        chunks = [whole[i : i + size] for i in range(0, len(whole), size)]

        lines = [line for chunk in chunks for line in cutter.feed(chunk)] + list(cutter.last())

        assert lines == ["one", "two é", "", "last"]


def test_of_a_line_without_an_end_only_its_beginning_is_kept() -> None:
    cutter = LineCutter()

    lines = [line for _ in range(100) for line in cutter.feed(b"x" * 1000)]
    lines += list(cutter.feed(b"x\nnext\n"))

    assert lines == ["x" * 3000, "next"]
    assert list(cutter.last()) == []
