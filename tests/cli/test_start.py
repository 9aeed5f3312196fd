from __future__ import annotations

import json

import pytest
from command_line import Prloom, Refusal
from stage import Stage

from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

INLINE = "[plugins]\nisolation = 'inline'\n"
AGENT = """[stages]
default = "command"
[agents.command]
argv = ["sh"]
"""

CI = """
from pathlib import Path
from prloom.api import Polled, Refused

class Ci:
    name = "ci"
    targets = ()
    async def events(self, ctx, state):
        if (ctx.repo_root / "down").exists():
            raise ConnectionError("no route")
        return Polled()
    async def actions(self, ctx, action):
        return Refused("there are none")

def create(config):
    return Ci()
"""


def test_a_round_with_a_bridge_that_cannot_be_loaded_is_done_and_fails_with_one_line(
    stage: Stage, prloom: Prloom
) -> None:
    stage.adopt()
    (stage.root / "ci.py").write_text("raise OSError('no such file')")
    (stage.root / "prloom.toml").write_text(f'{INLINE}{AGENT}[bridges.ci]\nmodule = "./ci.py"\n')

    ran = prloom("start", "--once")

    assert (ran.code, ran.out) == (1, "1 plan: nothing waits. `prloom status` shows more.\n")
    assert ran.err == (
        "prloom: bridge ci (./ci.py): its module raised OSError: no such file (ci.py, line 1); "
        "fix it, or set enabled = false in [bridges.ci]\n"
    )


@pytest.mark.parametrize("command", [["start", "--once"], ["doctor"]])
def test_the_module_of_a_bridge_is_executed_once(stage: Stage, prloom: Prloom, command: list[str]) -> None:
    executed = stage.root / "executed"
    (stage.root / "ci.py").write_text(f"{CI}\nwith open({str(executed)!r}, 'a') as file: file.write('.')\n")
    (stage.root / "prloom.toml").write_text(f'{INLINE}{AGENT}[bridges.ci]\nmodule = "./ci.py"\n')

    prloom(*command)

    assert executed.read_text() == "."


def test_a_round_says_which_polls_failed_and_the_next_one_since_when(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    (stage.root / "ci.py").write_text(CI)
    (stage.root / "prloom.toml").write_text(f'{INLINE}{AGENT}[bridges.ci]\nmodule = "./ci.py"\n')
    assert prloom("start", "--once").out == "1 plan: nothing waits. `prloom status` shows more.\n"
    (stage.root / "down").touch()

    ran = prloom("start", "--once")

    told = "1 plan: nothing waits. Not polled: ci; the next round tries again. `prloom status` shows more.\n"
    assert (ran.code, ran.out) == (0, told)
    (ci,) = [each for each in json.loads(prloom("status", "--json").out)["bridges"] if each["name"] == "ci"]
    assert ci["error"] == "ConnectionError: no route (ci.py, line 10)"
    assert ci["lastOkAt"] is not None


@pytest.mark.parametrize("table", ["module = './ci.py'", "module = './ci.py'\nenabled = false"])
def test_a_bridge_that_is_missing_fails_the_round_only_if_it_is_enabled(
    stage: Stage, prloom: Prloom, table: str
) -> None:
    (stage.root / "prloom.toml").write_text(f"{INLINE}{AGENT}[bridges.ci]\n{table}\n")

    ran = prloom("start", "--once")

    assert ran.code == int("enabled" not in table)
    assert ran.err.count("\n") == ran.code


def test_a_round_says_which_program_and_which_token_are_missing(stage: Stage, prloom: Prloom) -> None:
    stage.adopt(pr=7, forge="github")
    (stage.root / "prloom.toml").write_text(
        f'{INLINE}[stages]\ndefault = "amp"\n[bridges.github]\nrepo = "ada/engine"\n'
    )

    ran = prloom("start", "--once")

    assert "the program amp of the agent amp was not found; install it, or name another agent" in ran.err
    assert ran.err.count("prloom: bridge github: there is no token: set GITHUB_TOKEN, ") == 1


def test_a_forge_that_is_configured_and_used_by_nothing_yet_has_to_have_a_token_too(
    stage: Stage, prloom: Prloom
) -> None:
    (stage.root / "prloom.toml").write_text(f'{INLINE}{AGENT}[bridges.github]\nrepo = "ada/engine"\n')

    ran = prloom("start", "--once")

    needed = "there is no token, and the first plan with a pull request needs one; set GITHUB_TOKEN, or"
    assert f"prloom: bridge github: {needed}" in ran.err
    assert "token" not in prloom("doctor").out


def test_rules_of_adoption_without_a_token_need_a_person(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "prloom.toml").write_text(
        f'{INLINE}{AGENT}[bridges.github]\nrepo = "ada/engine"\n[[adopt]]\nauthors = ["ann"]\n'
    )

    ran = prloom("start", "--once")

    told = "the rules of [[adopt]] are not applied: there is no token: set GITHUB_TOKEN, or"
    assert ran.err.count(told) == 1
    needs = json.loads(prloom("status", "--json").out)["dashboard"]["needs"]
    assert [(each["kind"], each["text"].startswith(f"github: {told}")) for each in needs] == [("bridge", True)]
    found = json.loads(prloom("doctor", "--json").out)["findings"]
    assert ("bridge github", "there is no token") in [(each["where"], each["what"]) for each in found]


ENDING = """
import os, signal
from prloom.api import Polled

def create(config):
    return Ending()

class Ending:
    name = "ending"
    targets = ()

    async def actions(self, ctx, action):
        raise AssertionError

    async def events(self, ctx, state):
        os.kill(os.getpid(), signal.SIGTERM)
        return Polled()
"""
"""A bridge that ends the dispatcher with its first poll."""


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_what_does_not_work_is_said_before_the_first_round(stage: Stage, prloom: Prloom, log_format: str) -> None:
    plugin = stage.root / "prloom/plugins/broken"
    plugin.mkdir(parents=True)
    (plugin / "plugin.toml").write_text("")
    (plugin / "__init__.py").write_text("raise OSError('it is broken')\n")
    (stage.root / "ending.py").write_text(ENDING)
    settings = '[bridges.ending]\nmodule = "./ending.py"\n[bridges.gone]\nmodule = "./gone.py"\n'
    (stage.root / "prloom.toml").write_text(
        f'{INLINE}enabled = ["broken", "none"]\n[stages]\ndefault = "amp"\n{settings}'
    )

    ran = prloom("start", "--log-format", log_format)

    assert ran.code == 130
    lines = ran.err.splitlines()
    if log_format == "json":
        lines = [json.loads(line)["message"] for line in lines]
    assert lines[-1].endswith("stopped by Ctrl-C or SIGTERM; the next `prloom start` goes on from here")
    for told in (
        "plugin broken is not used: could not be loaded: OSError: it is broken",
        "plugin none is not used: plugins.enabled: there is no plugin 'none'",
        "bridge gone is not used: ",
        "the program amp of the agent amp was not found; install it, or name another agent",
    ):
        assert [told for line in lines if told in line] == [told]
    assert "prloom is running." in ran.out


@pytest.mark.parametrize("option", [("--log-format", "json"), ("--log-format=json",)])
@pytest.mark.parametrize("text", ["[dispatch\n", "nothing = 1\n"])
def test_a_broken_configuration_is_a_line_of_the_log_where_that_is_json(
    stage: Stage, refused: Refusal, text: str, option: tuple[str, ...]
) -> None:
    (stage.root / "prloom.toml").write_text(text)

    told = [json.loads(line) for line in refused("start", *option).splitlines()]

    assert [(each["level"], each["logger"]) for each in told] == [("ERROR", "prloom")] * len(told)
    assert "prloom.toml" in told[0]["message"]


def test_a_second_dispatcher_is_refused_by_a_line_of_the_log_where_that_is_json(stage: Stage, prloom: Prloom) -> None:
    with SafeDir.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        ran = prloom("start", "--log-format", "json")

    assert ran.code == 1
    assert "a dispatcher already runs here" in [json.loads(line)["message"] for line in ran.err.splitlines()][-1]
