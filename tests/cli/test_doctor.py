from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Prloom
from stage import Stage, said


@pytest.fixture
def sound(stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    """A repository of git's, with an agent on the machine."""
    shutil.rmtree(stage.root / ".git")
    subprocess.run(["git", "init", "--quiet", str(stage.root)], check=True)
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "-C", str(stage.root), "config", key, "op@example.com"], check=True)
    subprocess.run(["git", "-C", str(stage.root), "commit", "--quiet", "--allow-empty", "--message=x"], check=True)
    (stage.root / ".git/info/exclude").write_text("/prloom/.local/\n")
    agent = tmp_path / "bin/claude"
    agent.parent.mkdir()
    agent.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{agent.parent}{os.pathsep}{os.environ['PATH']}")
    return stage


def test_a_bridge_or_a_plugin_is_named_once(stage: Stage, prloom: Prloom) -> None:
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    bridge = {"name": "ci", "error": "bridge ci (./ci.py): it has no create(config); add one"}
    plugin = {"name": "mine", "error": "plugin mine: it raised an error"}
    (state / "bridges.json").write_text(json.dumps({"bridges": [bridge]}))
    (state / "plugins.json").write_text(json.dumps({"plugins": [plugin]}))

    told = prloom("doctor").out

    assert "  error    bridge ci (./ci.py): it has no create(config)" in told
    assert "  error    plugin mine: it raised an error" in told


def test_two_bridges_that_claim_one_target_are_an_error(sound: Stage, prloom: Prloom) -> None:
    (sound.root / "chat.py").write_text(
        "class Chat:\n"
        "    name, targets = 'chat', ('chat',)\n"
        "    async def events(self, ctx, state): return None\n"
        "    async def actions(self, ctx, action): return None\n"
        "def create(config): return Chat()\n"
    )
    tables = [f'[bridges.{name}]\nmodule = "./chat.py"\n' for name in ("chat", "other")]
    (sound.root / "prloom.toml").write_text("".join(tables))

    ran = prloom("doctor")

    assert ran.code == 1
    assert "the bridges chat (./chat.py) and other (./chat.py) both claim the target 'chat'" in ran.out
    assert "fix: disable one with `enabled = false` in [bridges.other]" in ran.out


def test_a_sound_repository_is_well(sound: Stage, prloom: Prloom) -> None:
    sound.adopt()

    ran = prloom("doctor")

    assert (ran.code, ran.out) == (0, "All is well.\n")
    assert json.loads(prloom("doctor", "--json").out) == {"findings": []}


def test_every_error_below_needs_you_of_the_status_is_an_error(sound: Stage, prloom: Prloom) -> None:
    inbox = sound.root / "prloom/.local/inbox"
    inbox.mkdir(parents=True)
    for name in ("one", "two"):
        (inbox / f"{name}.md").write_text("---\nstatus: soon\n---\n\n# A title\n")
    (sound.adopt() / "state.json").write_text("{")

    needs = json.loads(prloom("status", "--json").out)["dashboard"]["needs"]
    ran = prloom("doctor", "--json")

    assert ran.code == 1
    named = {each["where"]: f"{each['what']}; {each['fix']}" for each in json.loads(ran.out)["findings"]}
    assert set(named) == {f"plan {each['plan']}" for each in needs} == {"plan one", "plan two", "plan pr-7"}
    assert all(each["text"] in named[f"plan {each['plan']}"] for each in needs)


BROKEN_CODE = {
    "def register(ctx:\n": "could not be loaded: SyntaxError",
    "import os\n\nos._exit(3)\n": "could not be loaded: its process died: it exited with status 3",
}


@pytest.mark.parametrize(("code", "what"), BROKEN_CODE.items())
def test_an_enabled_plugin_that_cannot_be_loaded_is_an_error(
    sound: Stage, prloom: Prloom, code: str, what: str
) -> None:
    for name in ("mine", "off"):
        folder = sound.root / "prloom/plugins" / name
        folder.mkdir(parents=True)
        (folder / "plugin.toml").touch()
        (folder / "__init__.py").write_text(code)
    (sound.root / "prloom.toml").write_text('[plugins]\nenabled = ["mine"]\n')

    (finding,) = json.loads(prloom("doctor", "--json").out)["findings"]

    assert (finding["severity"], finding["where"]) == ("error", "plugin mine")
    assert finding["what"].startswith(what)
    assert finding["fix"].startswith("correct that, or `prloom plugins disable mine`")


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import nothing_of_this_name\n", "bridge ci (./ci.py): its module raised ModuleNotFoundError"),
        ("import os\nos._exit(3)\n", "loading it ended its process: it exited with status 3"),
    ],
)
def test_a_bridge_that_cannot_be_loaded_is_an_error(sound: Stage, prloom: Prloom, code: str, what: str) -> None:
    (sound.root / "ci.py").write_text(code)
    (sound.root / "prloom.toml").write_text('[bridges.ci]\nmodule = "./ci.py"\n')

    (finding,) = json.loads(prloom("doctor", "--json").out)["findings"]

    assert (finding["severity"], finding["where"]) == ("error", "bridge ci")
    assert finding["what"].startswith(what)
    assert "or set enabled = false in [bridges.ci]" in finding["fix"]


def test_each_finding_has_its_place_and_its_fix_and_an_error_is_exit_code_1(sound: Stage, prloom: Prloom) -> None:
    (sound.adopt() / "state.json").write_text("{\x1b[2J")

    ran = prloom("doctor")

    assert ran.code == 1
    assert ran.out.startswith("  error    plan pr-7: ")
    assert "\n           fix: adopt its branch or pull request again\n" in ran.out
    assert ran.out.endswith("\n\n1 error, 0 warnings\n")
    assert "\x1b" not in ran.out


def test_nothing_from_outside_reaches_the_terminal_as_it_is(sound: Stage, prloom: Prloom) -> None:
    sound.adopt()
    state = sound.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    evil = "\x1b[2J\u202e\nAll is well."
    (state / "bridges.json").write_text(json.dumps({"bridges": [{"name": f"b{evil}", "error": evil}]}))

    text = prloom("doctor").out

    assert not set(text) & {"\x1b", "\u202e"}
    assert len(text.splitlines()) == 4


def test_warnings_alone_are_exit_code_0(sound: Stage, prloom: Prloom) -> None:
    sound.adopt()
    sound.append(said("e"))
    with (sound.local() / "bus/events.jsonl").open("a") as file:
        file.write('{"torn')

    ran = prloom("doctor")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "0 errors, 1 warning")


def test_findings_are_one_json_document(sound: Stage, prloom: Prloom) -> None:
    sound.adopt()
    (sound.local() / "bus/events.jsonl").write_text("nonsense\n")

    ran = prloom("doctor", "--json")

    (finding,) = json.loads(ran.out)["findings"]
    assert ran.code == 1
    assert list(finding) == ["severity", "what", "where", "fix"]
    assert finding["where"] == f"{sound.local()}/bus/events.jsonl, line 1"


def test_a_configuration_that_is_wrong_is_a_finding_for_each_mistake(sound: Stage, prloom: Prloom) -> None:
    (sound.adopt() / "state.json").write_text("{")
    (sound.root / "prloom.toml").write_text("tick = 1\n[trust]\nminimum = 'some'\n")

    findings = json.loads(prloom("doctor", "--json").out)["findings"]

    assert [finding["where"] for finding in findings] == ["the configuration", "the configuration", "plan pr-7"]
    assert all(finding["fix"] for finding in findings)


def test_outside_a_repository_that_is_the_finding(sound: Stage, prloom: Prloom, tmp_path: Path) -> None:
    ran = prloom("-C", str(tmp_path), "doctor")

    assert ran.code == 1
    assert f"no git repository at {tmp_path} or above" in ran.out
    assert "fix: go into one, or name it with `prloom -C PATH`" in ran.out


def test_a_machine_without_an_agent_or_git_is_told(
    sound: Stage, prloom: Prloom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    text = prloom("doctor").out

    assert "git was not found in PATH" in text
    assert "no agent was found on this machine" in text
