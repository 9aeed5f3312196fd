"""Why an action cannot be run that a daemon registered once."""

from __future__ import annotations

import pytest

from prloom.core.plugins import plugin_action
from prloom.core.plugins.daemon_life import DaemonState
from prloom.core.plugins.plugin_action import Absence


@pytest.mark.parametrize(
    ("state", "since", "next_attempt", "absence"),
    [
        ("running", 1, None, Absence("the daemon of plugin ci was started again, and has not registered /go yet", 1.0)),
        ("running", 30, None, Absence("Plugin ci does not offer `/go` any more.", over=True)),
        ("error", 1, 5.0, Absence("the daemon of plugin ci is not running; prloom starts it again", 5.0)),
        ("starting", 1, None, Absence("the daemon of plugin ci is starting", 1.0)),
        ("stopping", 1, None, Absence("the daemon of plugin ci is stopping", 1.0)),
    ],
)
def test_a_daemon_that_comes_back_is_waited_for_and_no_longer_than_that(
    state: DaemonState, since: float, next_attempt: float | None, absence: Absence
):
    assert plugin_action.absence("ci", "go", state, since=since, next_attempt=next_attempt) == absence


@pytest.mark.parametrize("state", ["stopped", "error"])
def test_a_daemon_that_does_not_come_back_by_itself_is_not_waited_for(state: DaemonState):
    absence = plugin_action.absence("ci", "go", state, since=1, next_attempt=None)

    assert absence.reason.startswith(
        "Plugin ci is not running, so `/go` was not carried out. `prloom plugins start ci`"
    )
    assert absence.wait is None
