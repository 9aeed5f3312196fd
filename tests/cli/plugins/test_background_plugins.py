"""What the commands about daemons, and doctor, say of a background plugin with which something is wrong."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from real_command import Repository

from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo", tmp_path)


def add(repository: Repository, name: str, manifest: str) -> None:
    folder = repository.root / "prloom/plugins" / name
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text(f"name: {name}\n{manifest}")


def report(repository: Repository, name: str, state: str) -> None:
    """Write what a dispatcher reports of its only daemon."""
    with SafeDir.make(repository.root, *paths.LOCAL, paths.BUS, paths.BUS_STATE) as folder:
        Document(folder, paths.DAEMON_STATUS).save({"daemons": [{"name": name, "state": state}]})


def running_dispatcher(repository: Repository) -> AbstractContextManager[object]:
    return DispatcherLock(SafeDir.make(repository.root, *paths.LOCAL))


def of_plugins(findings: Any) -> list[tuple[str, str, str]]:
    return [
        (each["where"], each["what"], each["fix"])
        for each in findings["findings"]
        if each["where"].startswith("plugin ")
    ]


EMPTY = "background: command: it is empty; name a program; correct that, and start the dispatcher again"


@pytest.mark.parametrize("command", [["start"], ["stop"], ["restart"], ["logs"], ["config"]])
def test_a_command_says_why_a_plugin_that_is_enabled_cannot_be_loaded(
    repository: Repository, command: list[str]
) -> None:
    add(repository, "broken", "background: {command: ''}\n")
    repository.configure('[plugins]\nenabled = ["broken"]\n')

    said = repository.run("plugins", *command, "broken", code=1).stderr

    assert "plugin broken does not run: it cannot be loaded: " in said
    assert EMPTY in said


def test_the_status_has_the_plugins_that_cannot_be_loaded_with_the_reason(repository: Repository) -> None:
    add(repository, "broken", "background: {command: ''}\n")
    add(repository, "needy", "background: {command: python3}\nrequires_env: [NEEDY_KEY]\n")
    add(repository, "off", "background: {command: ''}\n")
    repository.configure('[plugins]\nenabled = ["broken", "needy"]\n')

    shown = repository.run("plugins", "status").stdout
    found = {each["name"]: each for each in repository.json("plugins", "status")["plugins"]}

    assert {name: each["state"] for name, each in found.items()} == {"broken": "error", "needy": "error"}
    assert found["broken"]["reason"].endswith(EMPTY)
    assert "it cannot be loaded: it needs NEEDY_KEY in the environment; correct that" in shown


def test_a_command_says_that_a_plugin_is_not_enabled_or_has_no_daemon(repository: Repository) -> None:
    add(repository, "off", "background: {command: python3}\n")
    add(repository, "code", "")
    (repository.root / "prloom/plugins/code/__init__.py").write_text("def register(ctx): pass\n")
    repository.configure('[plugins]\nenabled = ["code"]\n')

    off = repository.run("plugins", "start", "off", code=1).stderr
    code = repository.run("plugins", "start", "code", code=1).stderr

    assert "plugin off does not run: not enabled; `prloom plugins enable off` enables it" in off
    assert "plugin code has no background process; `prloom plugins list` lists all plugins" in code


@pytest.mark.parametrize(("state", "is_running"), [("stopped", True), ("running", False)])
def test_a_daemon_that_was_stopped_or_whose_dispatcher_is_gone_is_not_said_to_run(
    repository: Repository, state: str, *, is_running: bool
) -> None:
    add(repository, "off", "background: {command: python3}\n")
    report(repository, "off", state)

    with running_dispatcher(repository) if is_running else nullcontext():
        said = repository.run("plugins", "start", "off", code=1).stderr

    assert "plugin off does not run: not enabled" in said


def test_the_daemon_of_a_plugin_that_is_gone_may_be_named_with_another_hyphen(repository: Repository) -> None:
    report(repository, "my-daemon", "running")

    with running_dispatcher(repository):
        said = repository.run("plugins", "logs", "my_daemon", code=1).stderr

    assert "the daemon of plugin my-daemon has printed nothing yet" in said


def test_doctor_names_what_has_no_effect_once_and_says_where_it_is_corrected(repository: Repository) -> None:
    add(repository, "odd", "background: {command: 'true', events: [TOOL_CALL_STRAT, X]}\n")
    repository.configure('[plugins]\nenabled = ["odd"]\n[plugins.settings.odd]\nspeed = 3\n')
    repository.run("start", "--once")

    found = of_plugins(repository.json_of_failure("doctor"))

    manifest = repository.root / "prloom/plugins/odd/plugin.yaml"
    assert sorted(found) == [
        (
            "plugin odd",
            f"{manifest}: background: events: there is no type of event 'TOOL_CALL_STRAT'",
            "did you mean 'TOOL_CALL_START'?",
        ),
        ("plugin odd", f"{manifest}: background: events: there is no type of event 'X'", "docs/activity.md lists them"),
        (
            "plugin odd",
            "[plugins.settings.odd] speed is not known to the plugin and has no effect",
            "correct its name in prloom.toml, or remove it there",
        ),
    ]


def test_what_is_misspelt_in_a_manifest_is_told_at_the_start_and_once_by_doctor(repository: Repository) -> None:
    tool = "{name: look, method: look, visible_to: [wroker]}"
    add(repository, "odd", f"background: {{command: 'true'}}\nprovides_hooks: [beforeTriag]\ntools: [{tool}]\n")
    repository.configure('[plugins]\nenabled = ["odd"]\n')

    before = of_plugins(repository.json("doctor"))
    said = repository.run("start", "--once").stderr
    after = of_plugins(repository.json_of_failure("doctor"))

    stage = f"{repository.root}/prloom/plugins/odd/plugin.yaml: tools: look: visible_to: there is no stage 'wroker'"
    hook = f"{repository.root}/prloom/plugins/odd/plugin.yaml: provides_hooks: no hook point is named 'beforeTriag'"
    told = {(what, fix) for _, what, fix in before}
    assert told == {(stage, "did you mean 'worker'?"), (hook, "did you mean 'beforeTriage'?")}
    assert sorted(after) == sorted(before)
    for what, fix in told:
        assert f"{what}; {fix}" in said


KINDS = {
    "code": ("", "def register(ctx):\n    ctx.register_hook({!r}, lambda given, ctx: None)\n"),
    "manifest": ("provides_hooks: [{}]\n", "def register(ctx): pass\n"),
    "daemon": ("background: {{command: 'true'}}\nprovides_hooks: [{}]\n", ""),
    "daemon and code": (
        "background: {{command: 'true'}}\nprovides_hooks: [{}]\n",
        "def register(ctx):\n    ctx.register_hook({!r}, lambda given, ctx: None)\n",
    ),
    "tools": ("tools: [{{name: look, type: executable, command: 'true'}}]\nprovides_hooks: [{}]\n", ""),
}
"""A manifest and Python code that name a hook point, for each kind of plugin."""


def told_of(repository: Repository, kind: str, hook: str) -> tuple[str, Any, list[tuple[str, str, str]]]:
    """Return what the start, the list and doctor tell of a plugin of this kind that names the hook point."""
    manifest, code = KINDS[kind]
    add(repository, "odd", manifest.format(hook))
    if code:
        (repository.root / "prloom/plugins/odd/__init__.py").write_text(code.format(hook))
    repository.configure('[plugins]\nenabled = ["odd"]\n')
    said = repository.run("start", "--once").stderr
    (listed,) = [each for each in repository.json("plugins", "list")["plugins"] if each["name"] == "odd"]
    return said, listed, of_plugins(repository.json_of_failure("doctor"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_guard_that_nothing_would_call_is_refused_at_the_start_in_the_list_and_by_doctor(
    repository: Repository, kind: str
) -> None:
    said, listed, found = told_of(repository, kind, "preTol")

    what = "no hook point is named 'preTol', and a guard that is never called refuses nothing"
    assert f"{what}; did you mean 'preTool'?" in said
    assert listed["state"] == "failed"
    assert f"{what}; did you mean 'preTool'?" in listed["reason"]
    assert any(what in each for _, each, _ in found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_point_that_does_not_exist_is_a_warning_at_the_start_in_the_list_and_by_doctor(
    repository: Repository, kind: str
) -> None:
    said, listed, found = told_of(repository, kind, "beforeTriag")

    what = "no hook point is named 'beforeTriag'"
    assert f"{what}; did you mean 'beforeTriage'?" in said
    assert any(f"{what}; did you mean 'beforeTriage'?" in each for each in listed["warnings"])
    assert "beforeTriag" not in listed["hooks"]
    assert any(each.endswith(what) and fix == "did you mean 'beforeTriage'?" for _, each, fix in found)
