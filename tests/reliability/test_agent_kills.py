"""What `kill -9` of an agent, its MCP server, a daemon or the dispatcher leaves, while runs call tools.

PRLOOM_AGENT_KILLS says how often each of them is killed at each step; without it, a few are killed where most goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

EACH = os.environ.get("PRLOOM_AGENT_KILLS")
SAMPLE = ("agent:called", "server:told", "dispatcher:answered")


@pytest.mark.timeout(7200)
def test_killed_at_any_step_a_run_ends_once_and_no_call_message_or_reply_is_there_twice(ran: Callable[..., Any]):
    which = ("--each", EACH) if EACH else ("--only", *SAMPLE)

    report = ran("agent_kills.py", *which, hours=2)

    print(f"seed {report['seed']}: {report['struck']} kills in {report['seconds']} s")
    assert report["wrong"] == []
    assert report["struck"] == report["faults"]
    assert report["runs"] > report["faults"]
