"""Every bundled plugin keeps the promises that every plugin makes; one that is not configured has nothing to keep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prloom.api import Event
from prloom.testing import a_checks_report, a_comment, a_review
from prloom.testing.plugin_contract import PluginContract

PLUGINS = Path(__file__).parents[2] / "plugins"


class TestMemory(PluginContract):
    plugin = PLUGINS / "memory"
    settings: Mapping[str, str] = {"file": "AGENTS.md"}
    events: Mapping[str, Event] = {
        "note": a_comment("!memory Use tabs.", id="note"),
        "note and more": a_comment("!memory Run make.\nAnd rename x.", id="more"),
        "correction": a_comment("!memory Use spaces.", id="correction", context={"supersedes": "note"}),
        "list": a_comment("/memory", id="list"),
        "forget": a_comment("/memory forget 1", id="forget"),
    }


class TestQuietPeriod(PluginContract):
    plugin = PLUGINS / "quiet_period"
    settings: Mapping[str, str] = {"quiet": "2m"}


class TestWaitForChecks(PluginContract):
    plugin = PLUGINS / "wait_for_checks"
    settings: Mapping[str, object] = {"at_most": "30m", "types": ["pr_comment", "pr_review", "check_failed"]}
    events: Mapping[str, Event] = {
        "report": a_checks_report(2, id="report"),
        "review": a_review("x", id="review"),
    }
