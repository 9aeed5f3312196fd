"""The bundled plugin conversation-monitor."""

from __future__ import annotations

from pathlib import Path

from prloom.testing import BackgroundPluginContract
from prloom.testing.running_daemon import RunningDaemon

PLUGIN = Path(__file__).parents[2] / "plugins" / "conversation_monitor"


class TestPromises(BackgroundPluginContract):
    plugin = PLUGIN
    settings = {"window": 5}  # noqa: RUF012 - as authors write it
    methods = {"get_stats": {}}  # noqa: RUF012 - likewise

    async def after_events(self, daemon: RunningDaemon, count: int) -> None:
        stats = await daemon.call("get_stats")

        assert stats["message"] == f"{count} tool calls, 0 of them failed, in {count} turns of the last 5 minutes"
        assert stats["data"]["byTool"] == {"read_file": {"calls": count, "failures": 0}}
