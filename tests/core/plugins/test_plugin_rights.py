from __future__ import annotations

import pytest

from prloom.core.plugins import plugin_rights
from prloom.core.plugins.plugin_rights import PluginRights


@pytest.mark.parametrize(
    ("method", "right"),
    [
        ("add_message", "add_messages"),
        ("emit_action", "add_messages"),
        ("emit_event", "emit_events"),
        ("get_context", "access_context"),
        ("read_events", "access_context"),
        ("run_agent", "trigger_agent"),
    ],
)
def test_each_method_is_denied_until_its_right_is_given_and_the_error_names_the_key(method: str, right: str):
    assert plugin_rights.denial("ci", method, PluginRights()) == (
        f"{method}: permission denied; it needs {right} = true in [plugins.permissions.ci] of prloom.toml"
    )
    given = PluginRights(**{right: True})
    assert plugin_rights.denial("ci", method, given) is None
    denied = {each for each in plugin_rights.NEEDED if plugin_rights.denial("ci", each, given)}
    assert denied == {each for each, needed in plugin_rights.NEEDED.items() if needed != right}


def test_other_methods_need_no_right():
    assert plugin_rights.denial("ci", "get_state", PluginRights()) is None


def test_a_worker_needs_more_than_any_agent():
    denial = plugin_rights.denial("ci", "run_agent", PluginRights(trigger_agent=True), "worker")
    assert denial == (
        'run_agent: permission denied; it needs trigger_agent = "worker" in [plugins.permissions.ci] of prloom.toml'
    )
    assert plugin_rights.denial("ci", "run_agent", PluginRights(trigger_agent=True), "triage") is None
    assert plugin_rights.denial("ci", "run_agent", PluginRights(trigger_agent="worker"), "worker") is None


def test_the_table_of_a_nested_plugin_is_quoted():
    assert plugin_rights.table("image/openai") == '[plugins.permissions."image/openai"]'
