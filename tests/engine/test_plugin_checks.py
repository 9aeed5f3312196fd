from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prloom.config import loading
from prloom.engine import plugin_checks
from prloom.engine.views.doctor import Finding
from prloom.storage.paths import RepositoryPaths

AGENT = '[stages]\ndefault = "{}"\n'
ENABLED = '[plugins]\nenabled = ["odd"]\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").touch(mode=0o755)
    return {"PATH": str(programs), "XDG_RUNTIME_DIR": str(run), "PRLOOM_HOME": str(tmp_path / "home")}


def findings(root: Path, environ: dict[str, str], more: str = "", **manifest: Any) -> list[Finding]:
    """Return what is wrong with a plugin whose manifest has this, where `more` is added to the configuration."""
    folder = root / "prloom/plugins/odd"
    folder.mkdir(parents=True, exist_ok=True)
    background = {"command": "python3", **manifest.pop("background", {})}
    (folder / "plugin.json").write_text(json.dumps({"name": "odd", "background": background, **manifest}))
    (root / "prloom.toml").write_text(ENABLED + more)
    return list(plugin_checks.of_daemons(loading.load(root, {}), root, environ))


def test_a_plugin_that_is_as_it_should_be_has_no_finding(root: Path, environ: dict[str, str]) -> None:
    background = {"events": ["AGENT_START", "TODO_UPDATE", "THOUGHT_COMPLETE"], "communication": {"path": "own.sock"}}

    assert findings(root, environ, AGENT.format("claude"), background=background) == []


@pytest.mark.parametrize(
    ("agent", "type_", "possible"),
    [
        ("gemini", "THOUGHT_COMPLETE", False),
        ("codex", "COMPACTION_START", False),
        ("amp", "PERMISSION_REQUEST", False),
        ("codex", "PERMISSION_REQUEST", True),
        ("amp", "TODO_UPDATE", True),
        ("amp", "PLUGIN_EVENT_EMITTED", True),
    ],
)
def test_a_subscription_to_what_no_configured_program_can_fire_is_a_warning(
    root: Path, environ: dict[str, str], agent: str, type_: str, *, possible: bool
) -> None:
    found = findings(root, environ, AGENT.format(agent), background={"events": [type_]})

    text = f"it subscribes to {type_}, which no configured agent program can fire ({agent})"
    assert [(each.severity, each.where, each.what) for each in found] == (
        [] if possible else [("warning", "plugin odd", text)]
    )


def test_a_program_that_only_a_preset_uses_can_fire_its_types_too(root: Path, environ: dict[str, str]) -> None:
    preset = '[presets.careful.stages]\nworker = "claude"\n'

    assert findings(root, environ, AGENT.format("codex") + preset, background={"events": ["COMPACTION_START"]}) == []


def test_where_no_agent_program_is_installed_nothing_is_said_of_subscriptions(
    root: Path, environ: dict[str, str]
) -> None:
    assert findings(root, environ, background={"events": ["COMPACTION_START"]}) == []


def test_types_that_do_not_exist_are_warnings_with_the_one_that_was_meant(root: Path, environ: dict[str, str]) -> None:
    found = findings(root, environ, background={"events": ["TOOL_CALL_STRAT", "UNKNOWN", "X"]})

    manifest = root / "prloom/plugins/odd/plugin.json"
    assert [each.what.removeprefix(f"{manifest}: background: events: ") for each in found] == [
        "there is no type of event 'TOOL_CALL_STRAT'",
        "nobody can subscribe to UNKNOWN",
        "there is no type of event 'X'",
    ]
    assert [each.fix for each in found] == [
        "did you mean 'TOOL_CALL_START'?",
        "remove it",
        "docs/activity.md lists them",
    ]


@pytest.mark.parametrize("path", ["/tmp/other.sock", "../other.sock", "sub/own.sock"])
def test_a_socket_outside_of_the_runtime_folder_is_a_warning_that_says_where_the_daemon_listens(
    root: Path, environ: dict[str, str], path: str
) -> None:
    (found,) = findings(root, environ, background={"communication": {"path": path}})

    assert found.what.startswith(
        f"background: communication: path {path!r} is not in the plugin's runtime folder, so the daemon listens at "
    )
    assert found.what.endswith("/daemon.sock")
    assert not list((root.parent / "run").iterdir())  # looking makes nothing


def test_an_unknown_setting_is_a_warning_and_a_missing_one_an_error_with_the_command_that_gives_it(
    root: Path, environ: dict[str, str]
) -> None:
    schema = {"window": {"type": "integer"}, "url": {"type": "string", "required": True}}
    unknown, missing = findings(root, environ, "[plugins.settings.odd]\nwindwo = 5\n", config_schema=schema)

    assert (unknown.severity, unknown.fix) == ("warning", "did you mean 'window'?")
    assert unknown.what == "[plugins.settings.odd] windwo is not known to the plugin and has no effect"
    assert (missing.severity, missing.where) == ("error", "plugin odd")
    assert missing.what == "it is not started: its required settings are missing: url"
    assert missing.fix == "run `prloom plugins config odd`"


@pytest.mark.parametrize(
    ("command", "what", "fix"),
    [
        ("nosuchprog", "there is no program nosuchprog on PATH", "install it, or correct the manifest"),
        ("python3 d.py", "there is no program python3 d.py on PATH", "write its arguments in the manifest's `args`"),
        ("./none", "its command cannot be run: there is no ", "correct that, and run `prloom doctor` again"),
        ("./plain", "its command cannot be run: ", "run `chmod +x` on it"),
    ],
)
def test_a_command_that_cannot_be_started_is_an_error_before_any_dispatcher_has_tried(
    root: Path, environ: dict[str, str], command: str, what: str, fix: str
) -> None:
    tool = {"name": "look", "type": "executable", "command": command}
    folder = root / "prloom/plugins/odd"
    folder.mkdir(parents=True)
    (folder / "plain").touch(mode=0o644)

    (found,) = findings(root, environ, background={"command": command}, tools=[tool])
    (of_tool,) = plugin_checks.of_manifests(loading.load(root, {}), root, environ)

    assert (found.severity, found.where, found.fix) == ("error", "plugin odd", fix)
    assert found.what.startswith(f"its daemon cannot be started: {what}")
    assert of_tool.severity == "warning"
    assert of_tool.what.startswith(f"each call of its tool look fails: {what}")


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("code", [True, False])
def test_what_is_misspelt_in_a_manifest_is_told_whatever_the_kind_of_plugin(
    root: Path, environ: dict[str, str], *, background: bool, code: bool
) -> None:
    folder = root / "prloom/plugins/odd"
    folder.mkdir(parents=True)
    manifest = {"provides_hooks": ["beforeTriag"], **({"background": {"command": "python3"}} if background else {})}
    tool = {"name": "look", "type": "executable", "command": "python3"}
    if code:
        (folder / "__init__.py").write_text("raise SystemExit")
    else:
        manifest["tools"] = [tool]
    (folder / "plugin.json").write_text(json.dumps(manifest))
    (root / "prloom.toml").write_text(ENABLED)

    (found,) = plugin_checks.of_manifests(loading.load(root, {}), root, environ)

    assert found.what.endswith("provides_hooks: no hook point is named 'beforeTriag'")


@pytest.mark.parametrize("background", [True, False])
def test_a_stage_that_does_not_exist_is_a_warning_with_the_one_that_was_meant(
    root: Path, environ: dict[str, str], *, background: bool
) -> None:
    folder = root / "prloom/plugins/odd"
    folder.mkdir(parents=True)
    stages = ["wroker", "triage", "default"]
    tool = {"name": "look", "type": "executable", "command": "python3", "visible_to": stages}
    manifest = {"name": "odd", "tools": [tool], **({"background": {"command": "python3"}} if background else {})}
    (folder / "plugin.json").write_text(json.dumps(manifest))
    (root / "prloom.toml").write_text(ENABLED)

    found = list(plugin_checks.of_manifests(loading.load(root, {}), root, environ))

    where = f"{folder / 'plugin.json'}: tools: look: visible_to"
    assert [(each.severity, each.what, each.fix) for each in found] == [
        ("warning", f"{where}: there is no stage 'wroker'", "did you mean 'worker'?"),
        (
            "warning",
            f"{where}: there is no stage 'default'",
            "the stages are triage, worker, designer, commit_review",
        ),
    ]


def test_folders_because_of_which_gemini_ignores_its_settings_are_named(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    open_folder = tmp_path / "open"
    root = open_folder / "repo"
    root.mkdir(parents=True)
    (root / "prloom.toml").write_text(AGENT.format("gemini"))
    open_folder.chmod(0o775)
    where = RepositoryPaths(root, root / "prloom/.local/worktrees")

    found = list(plugin_checks.of_gemini(loading.load(root, {}), where, environ))
    (root / "prloom.toml").write_text(AGENT.format("codex"))
    without = list(plugin_checks.of_gemini(loading.load(root, {}), where, environ))

    assert [each.fix for each in found if each.where == str(open_folder)] == [
        f"run `chmod go-w {open_folder}`, or move the repository elsewhere"
    ]
    assert without == []


def test_a_tool_whose_schema_cannot_be_used_is_a_warning(root: Path, environ: dict[str, str]) -> None:
    def tool(name: str, **schema: Any) -> dict[str, Any]:
        return {"name": name, "type": "background_rpc", "method": "m", "schema": schema}

    looks_around = tool("bad", properties={"a": {"pattern": "(?=a)"}})
    assert findings(root, environ, tools=[tool("none"), tool("good", properties={}), looks_around]) == []
    (found,) = plugin_checks.of_manifests(loading.load(root, {}), root, environ)

    assert found.where == "plugin odd"
    assert found.what.startswith(
        "each call of its tool bad fails, because its schema cannot be used: the pattern '(?=a)'"
    )
