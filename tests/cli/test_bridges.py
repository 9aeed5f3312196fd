from __future__ import annotations

import json
from typing import Any

from command_line import Prloom
from stage import Stage

BRIDGE = """
class Ci:
    name = "ci"
    targets = ("ci", "builds")

    async def events(self, ctx, state): ...
    async def actions(self, ctx, action): ...

def create(config):
    return Ci()
"""


def listed(prloom: Prloom) -> dict[str, Any]:
    return {bridge["name"]: bridge for bridge in json.loads(prloom("bridges", "list", "--json").out)["bridges"]}


def test_bridges_are_listed_with_where_they_are_from_and_what_they_claim(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "ci.py").write_text(BRIDGE)
    (stage.root / "prloom.toml").write_text('[bridges.ci]\nmodule = "./ci.py"\n')

    found = listed(prloom)

    assert found["ci"] == {
        "name": "ci",
        "source": "./ci.py",
        "enabled": True,
        "targets": ["ci", "builds"],
        "error": None,
        "lastPollAt": None,
        "lastOkAt": None,
    }
    assert (found["local"]["source"], found["local"]["targets"]) == ("bundled", ["local"])
    assert "enabled  ./ci.py  ci, builds  never asked\n" in prloom("bridges", "list").out


def test_what_a_bridges_module_prints_is_not_in_the_document(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "ci.py").write_text(f"print('hello')\n{BRIDGE}")
    (stage.root / "prloom.toml").write_text('[bridges.ci]\nmodule = "./ci.py"\n')

    assert prloom("bridges", "list", "--json").out.startswith("{")


def test_a_bridge_that_was_not_asked_says_why(stage: Stage, prloom: Prloom) -> None:
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    (state / "bridges.json").write_text(json.dumps({"bridges": [{"name": "github", "idle": "no repository is known"}]}))

    assert "github  not asked: no repository is known\n" in prloom("bridges", "list").out


def test_a_bridge_that_cannot_be_loaded_is_listed_with_its_error(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "ci.py").write_text("raise OSError('\\x1b[2J no network')")
    (stage.root / "prloom.toml").write_text('[bridges.ci]\nmodule = "./ci.py"\n')

    bridge = listed(prloom)["ci"]
    text = prloom("bridges", "list").out

    assert bridge["enabled"]
    assert "no network" in bridge["error"]
    assert "failed" in text
    assert "no network" in text
    assert "\x1b" not in text


def test_a_disabled_bridge_is_listed_and_not_loaded(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "ci.py").write_text(f"{BRIDGE}\nopen(__file__ + '.executed', 'w').close()")
    (stage.root / "prloom.toml").write_text('[bridges.ci]\nmodule = "./ci.py"\nenabled = false\n')

    assert not listed(prloom)["ci"]["enabled"]
    assert "disabled\n" in prloom("bridges", "list").out
    assert not (stage.root / "ci.py.executed").exists()


async def test_the_last_poll_and_its_error_are_listed(stage: Stage, prloom: Prloom) -> None:
    def down() -> None:
        raise OSError("\x1b[2J the source is down")

    stage.bridge.name, stage.bridge.fail = "local", down
    await stage.tick()

    bridge = listed(prloom)["local"]

    assert (bridge["lastPollAt"], bridge["lastOkAt"]) == ("2026-01-01T12:00:00.000Z", None)
    assert bridge["error"] == "OSError: \x1b[2J the source is down"
    assert "OSError: \\x1b[2J the source is down\n" in prloom("bridges", "list").out
