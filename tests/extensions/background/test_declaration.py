"""What a manifest declares of a daemon, its tools and its settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prloom.api.manifest import Background, DeclaredTool, HealthCheck, Setting
from prloom.errors import ExtensionError
from prloom.extensions import manifest
from prloom.extensions.manifest import ManifestFile

RPC = {"name": "get-stats", "type": "background_rpc", "method": "get_stats"}


def read(folder: Path, **table: Any) -> ManifestFile:
    (folder / "plugin.json").write_text(json.dumps({"name": "odd", **table}))
    return manifest.read(folder)


def failure(folder: Path, **table: Any) -> str:
    with pytest.raises(ExtensionError) as caught:
        read(folder, **table)
    return str(caught.value)


def test_a_command_is_enough_and_the_rest_has_the_defaults_of_the_contract(tmp_path: Path):
    background = read(tmp_path, background={"command": "python3"}).manifest.background

    assert background == Background(command="python3")
    assert background.healthcheck == HealthCheck(interval=30_000, timeout=5_000, retries=3)
    assert (background.startup_timeout, background.shutdown_grace_period) == (30_000, 5_000)


@pytest.mark.parametrize("names", [("startup_timeout", "config_schema"), ("startupTimeout", "configSchema")])
def test_keys_may_be_snake_case_or_camel_case(tmp_path: Path, names: tuple[str, str]):
    timeout, schema = names
    found = read(tmp_path, background={"command": "x", timeout: 5}, **{schema: {"maxSize": {"type": "integer"}}})

    assert found.manifest.background is not None
    assert found.manifest.background.startup_timeout == 5
    assert found.manifest.config_schema == {"maxSize": Setting(type="integer")}
    assert found.warnings == ()


def test_tools_and_the_socket_s_path_are_read(tmp_path: Path):
    found = read(
        tmp_path,
        background={"command": "x", "communication": {"type": "socket", "path": "own.sock"}},
        tools=[{**RPC, "requiresConfirmation": True, "visible_to": ["worker"]}],
    ).manifest

    assert found.background is not None
    assert found.background.path == "own.sock"
    assert found.tools == (
        DeclaredTool(name="get-stats", method="get_stats", requires_confirmation=True, visible_to=("worker",)),
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"background": "python3"}, "background: expected a table of keys and values, got 'python3'"),
        ({"background": {"args": []}}, "background: command is missing; add it"),
        ({"background": {"command": "/bin/sh"}}, "/bin/sh is an absolute path; write a path inside the plugin's"),
        ({"background": {"command": "../other"}}, "../other leads out of the plugin's folder"),
        ({"background": {"command": "link/sh"}}, "link/sh leads out of the plugin's folder"),
        ({"background": {"command": "x", "startup_timeout": "5"}}, "startup_timeout: expected a whole number, got '5'"),
        ({"background": {"command": "x", "healthcheck": {"retries": 0}}}, "retries: 0 is out of range; use 1 to"),
        (
            {"background": {"command": "x", "communication": {"type": "tcp"}}},
            "type: 'tcp' is not supported",
        ),
        ({"tools": [RPC]}, "get-stats: type background_rpc needs a background; declare one"),
        (
            {"tools": [{"name": "a b", "type": "executable", "command": "x"}]},
            "a b: use 1 to 51 letters, digits, '_' and '-'",
        ),
        (
            {"tools": [{"name": "prloom_note", "type": "executable", "command": "x"}]},
            "prloom_note: prloom has a tool of this name itself; choose another name",
        ),
        ({"tools": [{"name": "a", "type": "shell"}]}, "type: expected one of background_rpc, executable, got 'shell'"),
        ({"tools": [{"name": "a", "type": "executable"}]}, "command: it is missing; name a program"),
        ({"background": {"command": "x"}, "tools": [RPC, RPC]}, "tools: get-stats is declared twice; rename one"),
        ({"config_schema": {"a": {"type": "choice"}}}, "a: choices is missing; list the values of the choice"),
        ({"config_schema": {"a": {"type": "integer", "default": "1"}}}, "a: default: expected a whole number"),
        (
            {"config_schema": {"a": {"type": "string", "secret": True, "default": "x"}}},
            "a secret cannot have a default",
        ),
        ({"config_schema": {"a-b": {"type": "string"}, "a_b": {"type": "string"}}}, "would have the same variable"),
    ],
)
def test_what_is_wrong_is_said_with_the_key(tmp_path: Path, table: dict[str, Any], said: str):
    (tmp_path / "link").symlink_to("/bin")

    assert said in failure(tmp_path, **table)


def test_an_unknown_key_is_a_warning(tmp_path: Path):
    found = read(tmp_path, background={"command": "x", "arguments": []}, tools=[])

    assert len(found.warnings) == 1
    assert "background: the key 'arguments' is not known and has no effect" in found.warnings[0]
