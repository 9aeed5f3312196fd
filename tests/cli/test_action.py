"""`prloom action`, as far as no daemon is needed for it; tests/acceptance/test_plugin_requests.py runs some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
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
def test_what_cannot_be_run_is_said_in_one_line(prloom: Callable[..., Any], args: tuple[str, ...], text: str):
    ran = prloom("action", *args)

    assert ran.code == 1
    assert text in ran.err
    assert ran.err.count("\n") == 1
