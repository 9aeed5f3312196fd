"""`prloom config`: the values that are in effect, and where each comes from."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from command_line import Prloom
from stage import Stage

from prloom.cli.output import terminal


@pytest.fixture
def configured(stage: Stage) -> Stage:
    (stage.root / "prloom.toml").write_text(
        '[backoff]\ninitial = "10s"\n[presets.slow.backoff]\ninitial = "5m"\n'
        '[exchange]\nurl = "postgresql://ann:hunter2hunter2@db.example.com/prloom"\n'
    )
    return stage


def values(prloom: Prloom, *args: str) -> dict[str, tuple[object, str]]:
    found = json.loads(prloom("config", "--json", *args).out)["values"]
    return {each["key"]: (each["value"], each["origin"]) for each in found}


def test_each_value_has_its_origin(configured: Stage, prloom: Prloom) -> None:
    assert values(prloom, "backoff.initial") == {"backoff.initial": ("10s", "prloom.toml")}
    assert values(prloom, "backoff.maximum") == {"backoff.maximum": ("1h", "default")}


def test_a_preset_a_variable_and_a_flag_are_named(
    configured: Stage, prloom: Prloom, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert values(prloom, "--preset", "slow", "backoff.initial") == {
        "backoff.initial": ("5m", "prloom.toml, [presets.slow]")
    }
    monkeypatch.setenv("PRLOOM_BACKOFF__INITIAL", "20s")
    assert values(prloom, "backoff.initial") == {"backoff.initial": ("20s", "PRLOOM_BACKOFF__INITIAL")}


def test_a_table_stands_for_all_of_its_keys(configured: Stage, prloom: Prloom) -> None:
    assert list(values(prloom, "backoff")) == [
        *("backoff.initial", "backoff.maximum", "backoff.deadline", "backoff.max_attempts"),
    ]


def test_a_person_reads_the_key_its_origin_and_the_value(configured: Stage, prloom: Prloom) -> None:
    assert prloom("config", "backoff.initial").out == 'backoff.initial  prloom.toml  "10s"\n'


def test_the_password_of_an_address_is_not_shown(configured: Stage, prloom: Prloom) -> None:
    assert "hunter2" not in prloom("config").out
    assert "hunter2" not in prloom("config", "--json").out


def test_a_secret_in_the_command_line_of_an_agent_is_not_shown(stage: Stage, prloom: Prloom) -> None:
    words = ["a", "--token=tok_1234567890abcdef", "PASSWORD=qwertyuiop123", "X-Api-Key: abcdef1234567890"]
    (stage.root / "prloom.toml").write_text(f"[agents.command]\nargv = {json.dumps(words)}\n")

    assert values(prloom, "agents.command.argv")["agents.command.argv"][0] == [
        *("a", "--token=[secret]", "PASSWORD=[secret]", "X-Api-Key: [secret]"),
    ]
    for secret in ("1234567890", "qwertyuiop"):
        assert secret not in prloom("config").out
        assert secret not in prloom("config", "agents.command.argv").out


def test_the_password_of_an_address_in_a_table_of_a_list_is_not_shown(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "prloom.toml").write_text('[plugins.settings.own]\nplaces = [{ url = "https://ann:p@w@host/x" }]\n')

    assert values(prloom, "plugins.settings.own.places")["plugins.settings.own.places"][0] == [
        {"url": "https://***@host/x"}
    ]


def test_an_unknown_key_is_one_line_with_the_nearest(configured: Stage, prloom: Prloom) -> None:
    ran = prloom("config", "dispacher")

    assert (ran.code, ran.err) == (1, "prloom: no value is set for dispacher; did you mean dispatcher?\n")


@pytest.mark.parametrize("columns", [40, 59, 60, 80, 130])
def test_no_line_is_wider_than_the_terminal(
    configured: Stage, prloom: Prloom, on_terminal: Callable[..., list[str]], columns: int
) -> None:
    lines = on_terminal(columns, "config")

    assert max(map(terminal.columns_of, lines)) <= columns
    assert all(any(line.startswith(key) for line in lines) for key in values(prloom))
    assert "…" not in prloom("config").out


@pytest.mark.parametrize("columns", [40, 80])
def test_a_key_has_its_whole_value_on_a_terminal(
    configured: Stage, prloom: Prloom, on_terminal: Callable[..., list[str]], columns: int
) -> None:
    lines = on_terminal(columns, "config", "work.junk")
    value, _ = values(prloom, "work.junk")["work.junk"]

    assert isinstance(value, list)
    assert max(map(len, lines)) <= columns
    assert all(f'"{each}"' in "".join(lines) for each in value)
