"""docs/writing-a-background-plugin.md: its plugin works, and it names every key, variable and method."""

from __future__ import annotations

import re
import runpy
import tempfile
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from prloom.api.manifest import Background, HealthCheck, Setting
from prloom.core.plugins import plugin_rights
from prloom.core.plugins.daemon_life import DaemonState
from prloom.engine.background import event_sender
from prloom.engine.plugin_requests import (
    agent_runs,
    contexts,
    emitted_actions,
    events,
    messages,
    registered_actions,
    stores,
)
from prloom.engine.plugin_requests.caller import Params
from prloom.extensions.background import call_error, client, connection, environment
from prloom.model.activity import ActivityEvent
from prloom.testing import BackgroundPluginContract
from prloom.testing.running_daemon import RunningDaemon

PAGE = (Path(__file__).parents[2] / "docs" / "writing-a-background-plugin.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- file prloom/plugins/call-counter/(\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
REQUESTING = dict(re.findall(r"<!-- file prloom/plugins/failed-runs/(\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))

PATIENT = "  startup_timeout: 120000\n  shutdown_grace_period: 60000\n  healthcheck: {timeout: 60000}\n"


class TestTheCounterOfThePage(BackgroundPluginContract):
    methods = {"count": {}}  # noqa: RUF012 - as the page has it

    @pytest.fixture(autouse=True)
    def _written(self, tmp_path: Path) -> None:
        self.plugin = Path(tempfile.mkdtemp(dir=tmp_path))
        for name, text in FILES.items():
            (self.plugin / name).parent.mkdir(exist_ok=True)
            (self.plugin / name).write_text(text)
        manifest = self.plugin / "plugin.yaml"
        manifest.write_text(manifest.read_text().replace("background:\n", f"background:\n{PATIENT}"))

    async def after_events(self, daemon: RunningDaemon, count: int) -> None:
        assert (await daemon.call("count"))["data"] == {"read_file": count}


def test_the_plugin_of_the_page_has_thirty_lines():
    assert len(FILES["daemon.py"].splitlines()) <= 33


def test_the_plugin_of_the_page_that_requests_something_passes_its_own_test(tmp_path: Path):
    for name, text in REQUESTING.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    test = runpy.run_path(str(tmp_path / "tests" / "test_failed_runs.py"))

    test["test_a_failed_run_is_posted"]()


def test_the_page_has_every_method_with_its_params_and_its_permission():
    rows = dict(re.findall(r"^\| `(\w+)` \| `\{(.*?)\}` \| .* \|$", PAGE, re.MULTILINE))
    shown = {name: {each.strip("? ") for each in params.split(",")} for name, params in rows.items()}
    for method, right in plugin_rights.NEEDED.items():
        assert re.search(rf"^\| `{method}` \| .* \| `{right}` \|$", PAGE, re.MULTILINE), method
    for module in (agent_runs, contexts, emitted_actions, events, messages, registered_actions, stores):
        for shape in vars(module).values():
            if isinstance(shape, type) and issubclass(shape, Params) and shape is not Params:
                method = re.sub(r"(?<!^)(?=[A-Z])", "_", shape.__name__).lower()
                assert shown[method] == {field.name for field in msgspec.structs.fields(shape)}, method


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
