"""`prloom action`, as far as no daemon is needed for it; tests/acceptance/test_plugin_requests.py runs some."""

from __future__ import annotations

import pytest
from command_line import Refusal
from stage import Stage


@pytest.fixture(autouse=True)
def _plugin(stage: Stage) -> None:
    folder = stage.root / "prloom/plugins/helper"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: helper\nbackground: {command: python3}\n")
    stage.configure('[plugins]\nenabled = ["helper"]\n')


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("helpr", "deploy"), "no plugin helpr with a background process is enabled; did you mean helper?"),
        (("helper", "deploy"), "no dispatcher is running; `prloom start` runs it"),
        (("helper", "deploy", "--params", "{"), "--params is not valid JSON: "),
        (("helper", "deploy", "--params", "[1]"), "--params is not a JSON object; write one such as"),
        (("helper", "deploy", "--plan", "pr-9"), "pr-9"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(refused: Refusal, args: tuple[str, ...], text: str):
    told = refused("action", *args)

    assert text in told
    assert told.count("\n") == 1
