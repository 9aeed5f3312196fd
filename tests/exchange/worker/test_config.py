"""What a worker may be told to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from prloom.exchange.errors import ExchangeError
from prloom.exchange.worker.config import WorkerConfig, checked


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"topics": ("no topic",)}, "'no topic' is not a valid topic"),
        ({"success_topic": "no topic"}, "'no topic' is not a valid topic"),
        ({"failure_topic": ""}, "'' is not a valid topic"),
        ({"group": ""}, "'' is not a valid group"),
        ({"lease": timedelta(0)}, "a lease of 0:00:00 is not possible"),
        ({"max_attempts": 0}, "0 is not a valid number of attempts"),
        ({"success_topic": "jobs"}, "a worker that publishes its replies on a topic of its own"),
    ],
)
def test_what_could_not_be_settled_is_refused_before_anything_is_claimed(wrong: dict[str, Any], text: str):
    with pytest.raises(ExchangeError, match=text):
        checked(WorkerConfig(**({"topics": ("jobs",), "command": ("cat",)} | wrong)))


@pytest.mark.parametrize(("program", "name"), [("cat", "cat"), ("/usr/bin/cat", "cat"), ("a\udcff", "a?"), ("/", "/")])
def test_a_plugin_is_called_as_its_program_is(program: str, name: str):
    assert WorkerConfig(topics=("jobs",), command=(program,)).plugin == name
