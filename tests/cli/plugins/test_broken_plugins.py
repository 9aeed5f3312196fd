"""A plugin that is enabled and does not run is reported wherever an operator looks, by the real command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from real_command import Repository

REGISTER = "def register(ctx):\n    ctx.register_hook('onEvent', lambda event, ctx: None)\n"

REASONS = {
    "bad-manifest": "manifest_version: 7 is not supported; use version 1",
    "twin": "have the same name, twin, so none of them is loaded; rename or remove one",
    "a-b": "would be loaded as the same module prloom_plugins.a_b; rename or disable one",
    "a_b": "would be loaded as the same module prloom_plugins.a_b; rename or disable one",
    "needy": "it needs NEEDY_KEY in the environment",
    "backend": "of kind 'backend', which this prloom does not support; it supports standalone",
    "gone": "there is no plugin 'gone'",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo", tmp_path)
    folders = {
        "bad-manifest": "manifest_version: 7\n",
        "one": "name: twin\n",
        "two": "name: twin\n",
        "a-b": "",
        "a_b": "",
        "needy": "requires_env: [NEEDY_KEY]\n",
        "backend": "kind: backend\n",
        "good": "",
    }
    for name, manifest in folders.items():
        folder = made.root / "prloom/plugins" / name
        folder.mkdir(parents=True)
        (folder / "plugin.yaml").write_text(manifest)
        (folder / "__init__.py").write_text(REGISTER)
    enabled = [*REASONS, "good"]
    made.configure(f"[plugins]\nenabled = {enabled}\n")
    return made


def errors(document: Any, key: str = "error") -> Mapping[str, str]:
    return {each["name"]: each[key] for each in document["plugins"] if each[key]}


def expect(said: Mapping[str, str]) -> None:
    assert set(said) == set(REASONS)
    for name, reason in REASONS.items():
        assert reason in said[name]


def test_an_enabled_plugin_that_cannot_run_is_told_by_start_status_doctor_and_the_list(repository: Repository) -> None:
    started = repository.run("start", "--once").stderr
    for name, reason in REASONS.items():
        assert any(f"plugin {name} is not used: " in line and reason in line for line in started.splitlines()), started

    shown = errors(repository.json("status"))
    expect(shown)
    assert not [said for name, said in shown.items() if said.startswith(f"plugin {name}")]  # the name stands before it
    findings = repository.json_of_failure("doctor")["findings"]
    told = [each for each in findings if each["where"].startswith("plugin ")]
    expect({each["where"].removeprefix("plugin "): each["what"] for each in told if each["severity"] == "error"})
    assert [each for each in told if each["severity"] == "warning"] == []

    listed = repository.json("plugins", "list")
    expect({**errors(listed), "gone": listed["warnings"][0]})
    assert [each["name"] for each in listed["plugins"] if each["warnings"]] == []


def test_what_cannot_be_loaded_is_told_before_a_dispatcher_ever_ran(repository: Repository) -> None:
    findings = repository.json_of_failure("doctor")["findings"]

    told = {each["where"].removeprefix("plugin "): each["what"] for each in findings if each["severity"] == "error"}
    assert set(REASONS) <= set(told)


def test_a_plugin_that_was_put_right_is_told_to_be_well_before_the_next_start(repository: Repository) -> None:
    repository.run("start", "--once")
    (repository.root / "prloom/plugins/bad-manifest/plugin.yaml").write_text("")

    assert "bad-manifest" not in errors(repository.json("plugins", "list"))
    findings = repository.json_of_failure("doctor")["findings"]
    assert "plugin bad-manifest" not in {each["where"] for each in findings}
