from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Prloom, Refusal
from stage import Stage

from prloom.api import PluginContext
from prloom.cli import plugins
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

EVIL = "\x1b[2J\u202e"

ENABLED = '[plugins]\nenabled = ["mine"]\n'

SPY = """
from pathlib import Path

Path(__file__).with_name("executed").touch()

def register(ctx):
    ctx.register_hook("onEvent", lambda event, ctx: None)
"""


@pytest.fixture
def mine(stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A plugin of the project's own that leaves a trace where its code is run."""
    monkeypatch.setenv("PRLOOM_HOME", str(tmp_path / "home"))
    folder = stage.root / "prloom/plugins/mine"
    folder.mkdir(parents=True)
    (folder / "plugin.toml").write_text('description = "My own."\nprovides_hooks = ["on_event"]\n')
    (folder / "__init__.py").write_text(SPY)
    return folder


def listed(prloom: Prloom, name: str) -> Any:
    (found,) = [
        plugin for plugin in json.loads(prloom("plugins", "list", "--json").out)["plugins"] if plugin["name"] == name
    ]
    return found


def test_every_command_of_the_group_is_listed(prloom: Prloom) -> None:
    ran = prloom("plugins", "--help")

    assert list(plugins.COMMANDS) == [
        *("list", "enable", "disable", "new", "test"),
        *("status", "start", "stop", "restart", "logs", "config"),
    ]
    assert [line.split()[0] for line in ran.out.partition("Commands:\n")[2].splitlines()] == list(plugins.COMMANDS)


def test_a_name_whose_plugin_is_gone_can_be_taken_out_of_the_configuration(stage: Stage, prloom: Prloom) -> None:
    file = stage.root / "prloom.toml"
    file.write_text('[plugins]\nenabled = ["gone one", "notify"]\n')

    told = json.loads(prloom("plugins", "list", "--json").out)["warnings"]
    disabled = prloom("plugins", "disable", "gone one")

    assert any("and `prloom plugins disable 'gone one'` takes this name out" in each for each in told)
    assert (disabled.code, disabled.out) == (0, "gone one is disabled.\n")
    assert file.read_text() == '[plugins]\nenabled = ["notify"]\n'


@pytest.mark.usefixtures("mine")
def test_a_plugin_is_listed_with_where_it_is_from_what_it_offers_and_why_it_is_off(prloom: Prloom) -> None:
    found = listed(prloom, "mine")

    assert list(found) == [
        *("name", "source", "state", "reason", "error", "version", "description", "path", "loaded"),
        *("hooks", "commands", "tools", "skills", "warnings", "background"),
    ]
    assert (found["source"], found["state"], found["description"]) == ("project", "disabled", "My own.")
    assert found["reason"] == "not enabled; `prloom plugins enable mine` enables it"
    assert found["hooks"] == ["onEvent"]
    text = prloom("plugins", "list").out
    assert "disabled  project  My own.\n" in text
    assert "not enabled; `prloom plugins enable mine` enables it\n" in text


@pytest.mark.usefixtures("mine")
def test_the_columns_of_the_list_line_up(prloom: Prloom) -> None:
    prloom("plugins", "enable", "mine")
    lines = prloom("plugins", "list").out.splitlines()

    sources = [
        line.index(f"  {listed(prloom, name)['source']}")
        for name in ("mine", "memory")
        for line in lines
        if line.split()[:1] == [name]
    ]

    assert len(sources) == 2
    assert len(set(sources)) == 1


@pytest.mark.parametrize(
    ("kind", "known"), [("plugins", "wait-for-checks"), ("bridges", "github"), ("skills", "No plugin offers a skill")]
)
def test_what_there_is_everywhere_is_listed_without_a_repository(
    stage: Stage, prloom: Prloom, tmp_path: Path, kind: str, known: str
) -> None:
    ran = prloom("-C", str(tmp_path), kind, "list")

    assert (ran.code, known in ran.out, ran.err) == (0, True, "")


def test_no_plugins_code_is_run_by_listing_or_disabling(stage: Stage, prloom: Prloom, mine: Path) -> None:
    prloom("plugins", "list")
    (stage.root / "prloom.toml").write_text(ENABLED)
    prloom("plugins", "list")
    prloom("plugins", "disable", "mine")

    assert not (mine / "executed").exists()


def test_a_plugin_that_cannot_be_loaded_is_not_enabled(stage: Stage, refused: Refusal, mine: Path) -> None:
    (mine / "__init__.py").write_text("def register(ctx:\n")

    assert refused("plugins", "enable", "memory", "mine").startswith(
        "prloom: cannot enable mine: could not be loaded: SyntaxError"
    )
    assert not (stage.root / "prloom.toml").exists()


def test_a_plugin_that_only_lacks_a_setting_is_enabled_and_told(stage: Stage, prloom: Prloom, mine: Path) -> None:
    (mine / "__init__.py").write_text(
        "from pydantic import BaseModel\n\nclass Config(BaseModel):\n    token: str\n\n" + SPY
    )

    ran = prloom("plugins", "enable", "mine")

    assert (ran.code, ran.out.splitlines()) == (
        0,
        [
            "mine is enabled.",
            "mine cannot be loaded before its settings are right: [plugins.settings.mine] token: Field required.",
        ],
    )
    assert (stage.root / "prloom.toml").read_text() == ENABLED


@pytest.mark.usefixtures("mine")
async def test_what_the_dispatcher_found_out_is_listed(stage: Stage, prloom: Prloom) -> None:
    def register(ctx: PluginContext) -> None:
        ctx.register_hook("beforeTriage", lambda plan, ctx: plan)
        ctx.register_command("note", lambda event, ctx: None, help="Take a note.")

    (stage.root / "prloom.toml").write_text(ENABLED)
    stage.plugin("mine", register)
    await stage.tick()

    found = listed(prloom, "mine")

    assert not listed(prloom, "memory")["loaded"]
    assert found["loaded"]
    assert (found["state"], found["hooks"], found["commands"]) == ("enabled", ["beforeTriage"], ["note"])
    assert "hooks: beforeTriage; commands: /note\n" in prloom("plugins", "list").out


@pytest.mark.usefixtures("mine")
async def test_a_plugin_that_the_dispatcher_could_not_use_is_listed_with_its_error(
    stage: Stage, prloom: Prloom
) -> None:
    (stage.root / "prloom.toml").write_text(ENABLED)
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    (state / "plugins.json").write_text(json.dumps({"plugins": [{"name": "mine", "error": f"it raised {EVIL}"}]}))

    found = listed(prloom, "mine")
    text = prloom("plugins", "list").out

    assert (found["state"], found["error"]) == ("failed", f"it raised {EVIL}")
    assert "it raised \\x1b[2J\\u202e\n" in text
    assert not set(text) & set(EVIL[:1])


# Switching.


@pytest.mark.usefixtures("mine")
def test_a_plugin_is_switched_on_and_off_and_prloom_toml_keeps_its_comments(stage: Stage, prloom: Prloom) -> None:
    file = stage.root / "prloom.toml"
    text = '# Ours.\nbase_branch = "main"  # not master\n\n[plugins]\n# Those we trust.\nenabled = []\n'
    file.write_text(text)
    file.chmod(0o640)

    on = prloom("plugins", "enable", "mine")

    assert (on.code, on.out) == (0, "mine is enabled.\n")
    assert file.read_text() == text.replace("[]", '["mine"]')
    assert file.stat().st_mode & 0o777 == 0o640
    assert listed(prloom, "mine")["state"] == "enabled"
    assert prloom("plugins", "enable", "mine").out == "mine is already enabled.\n"

    assert prloom("plugins", "disable", "mine").out == "mine is disabled.\n"
    assert file.read_text() == text
    assert prloom("plugins", "disable", "mine").out == "mine is already disabled.\n"


@pytest.mark.usefixtures("mine")
def test_a_dispatcher_that_is_running_has_to_be_restarted_after_a_change(stage: Stage, prloom: Prloom) -> None:
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        ran = prloom("plugins", "enable", "mine")
        unchanged = prloom("plugins", "enable", "mine")

    assert ran.out == "mine is enabled.\nThe running dispatcher does not notice this change; restart it.\n"
    assert unchanged.out == "mine is already enabled.\n"


@pytest.mark.usefixtures("mine")
def test_a_bundled_plugin_is_switched_off_by_name_and_on_by_taking_that_away(stage: Stage, prloom: Prloom) -> None:
    assert prloom("plugins", "disable", "memory").code == 0
    assert (stage.root / "prloom.toml").read_text() == '[plugins]\ndisabled = ["memory"]\n'
    assert listed(prloom, "memory")["state"] == "disabled"

    assert prloom("plugins", "enable", "memory").code == 0
    assert (stage.root / "prloom.toml").read_text() == "[plugins]\ndisabled = []\n"
    assert listed(prloom, "memory")["state"] == "enabled"


@pytest.mark.usefixtures("mine")
def test_an_unknown_name_is_one_line_with_the_nearest_and_changes_nothing(stage: Stage, prloom: Prloom) -> None:
    ran = prloom("plugins", "enable", "mine", "memry")

    assert (ran.code, ran.err) == (1, "prloom: there is no plugin memry; did you mean memory?\n")
    assert not (stage.root / "prloom.toml").exists()


def test_what_still_keeps_a_plugin_from_running_is_said(prloom: Prloom, mine: Path) -> None:
    (mine / "plugin.toml").write_text('requires_env = ["MINE_KEY"]\n')

    assert prloom("plugins", "enable", "mine").out.splitlines()[0] == (
        "mine is enabled in prloom.toml, but does not run: it needs MINE_KEY in the environment."
    )


@pytest.mark.usefixtures("mine")
def test_what_keeps_a_plugin_running_is_said(stage: Stage, prloom: Prloom, monkeypatch: pytest.MonkeyPatch) -> None:
    (stage.root / "prloom.toml").write_text('[plugins]\nenabled = ["mine"]\n')
    monkeypatch.setenv("PRLOOM_PLUGINS__ENABLED", '["mine"]')

    assert prloom("plugins", "disable", "mine").out.splitlines()[0] == (
        "mine is disabled in prloom.toml, but still enabled by PRLOOM_PLUGINS__… or --set."
    )


@pytest.mark.usefixtures("mine")
def test_a_configuration_that_is_wrong_is_left_as_it_is(stage: Stage, refused: Refusal) -> None:
    (stage.root / "prloom.toml").write_text("[plugins\n")

    assert refused("plugins", "enable", "mine").startswith("prloom: prloom.toml:1:9: ")
    assert (stage.root / "prloom.toml").read_text() == "[plugins\n"
