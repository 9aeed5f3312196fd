"""docs/writing-a-background-plugin.md: its plugin works, and it names every key, variable and method."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from prloom.api.manifest import Background, HealthCheck, Setting
from prloom.core.daemon_life import DaemonState
from prloom.engine.background import event_sender
from prloom.extensions.background import call_error, client, connection, environment
from prloom.model.activity import ActivityEvent
from prloom.testing import BackgroundPluginContract
from prloom.testing.running_daemon import RunningDaemon

PAGE = (Path(__file__).parents[2] / "docs" / "writing-a-background-plugin.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- file prloom/plugins/call-counter/(\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))


class TestTheCounterOfThePage(BackgroundPluginContract):
    methods = {"count": {}}  # noqa: RUF012 - as the page has it

    @pytest.fixture(autouse=True)
    def _written(self, tmp_path: Path) -> None:
        self.plugin = Path(tempfile.mkdtemp(dir=tmp_path))
        for name, text in FILES.items():
            (self.plugin / name).parent.mkdir(exist_ok=True)
            (self.plugin / name).write_text(text)

    async def after_events(self, daemon: RunningDaemon, count: int) -> None:
        assert (await daemon.call("count"))["data"] == {"read_file": count}


def test_the_plugin_of_the_page_has_thirty_lines():
    assert len(FILES["daemon.py"].splitlines()) <= 33


@pytest.mark.parametrize(
    "names",
    [
        {field.name for field in msgspec.structs.fields(Background)} - {"path"},
        {field.name for field in msgspec.structs.fields(HealthCheck)},
        {field.name for field in msgspec.structs.fields(Setting)},
        set(get_args(DaemonState)),
        set(environment.ALLOWED),
        {client.HEALTH_CHECK, event_sender.ON_EVENT, event_sender.EVENTS_DROPPED, connection.CANCEL, "run_hook"},
        set(get_args(call_error.ErrorType)),
    ],
    ids=["background", "healthcheck", "setting", "states", "environment", "methods", "errors"],
)
def test_the_page_names_all(names: set[str]):
    said = set(re.findall(r"[\w$/]+", PAGE))

    assert names - said == set()


def test_the_event_of_the_page_has_the_fields_of_a_real_one():
    event = ActivityEvent(id="a", seq=1, type="AGENT_END", plan_id=None, timestamp=1, data={})
    real = msgspec.json.decode(event_sender.encode(event))
    shown = re.search(r"<!-- on_event -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None

    assert msgspec.json.decode(shown[1])["params"].keys() == real["params"].keys()
