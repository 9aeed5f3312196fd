from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prloom.api.manifest import Manifest
from prloom.errors import ExtensionError
from prloom.extensions import manifest

WHOLE = {
    "name": "notes",
    "version": "1.2",
    "description": "Takes notes",
    "author": "Ann",
    "kind": "standalone",
    "manifest_version": 1,
    "requires_env": ["NOTES_KEY"],
    "provides_tools": ["note"],
    "provides_hooks": ["beforeTriage"],
    "provides_commands": ["/note"],
}
YAML = "\n".join(f"{key}: {json.dumps(value)}" for key, value in WHOLE.items())
TOML = "\n".join(f"{key} = {json.dumps(value)}" for key, value in WHOLE.items())


@pytest.mark.parametrize(
    ("name", "text"),
    [("plugin.yaml", YAML), ("plugin.yml", YAML), ("plugin.json", json.dumps(WHOLE)), ("plugin.toml", TOML)],
)
def test_all_four_formats_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    assert manifest.read(tmp_path) == manifest.ManifestFile(
        Manifest(
            name="notes",
            version="1.2",
            description="Takes notes",
            author="Ann",
            kind="standalone",
            manifest_version=1,
            requires_env=("NOTES_KEY",),
            provides_tools=("note",),
            provides_hooks=("beforeTriage",),
            provides_commands=("/note",),
        )
    )


@pytest.mark.parametrize(("name", "text"), [("plugin.yaml", "# nothing\n"), ("plugin.toml", ""), ("plugin.json", "{}")])
def test_an_empty_manifest_takes_its_name_from_the_folder(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "quiet").mkdir()
    (tmp_path / "quiet" / name).write_text(text)

    assert manifest.read(tmp_path / "quiet").manifest == Manifest(name="quiet")


def test_two_manifests_are_an_error_that_names_both(tmp_path: Path) -> None:
    (tmp_path / "plugin.yaml").write_text("name: a")
    (tmp_path / "plugin.json").write_text("{}")

    with pytest.raises(ExtensionError, match=r"has plugin\.yaml and plugin\.json; keep one manifest"):
        manifest.read(tmp_path)


def problem(text: str, name: str = "plugin.yaml") -> str:
    with pytest.raises(ExtensionError) as caught:
        manifest.parse(text.encode(), Path("/p/notes") / name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1.10", "/p/notes/plugin.yaml: version: expected a text, got 1.1; put it in quotes"),
        ("requires_env: KEY", "/p/notes/plugin.yaml: requires_env: expected a list of texts, got 'KEY'"),
        ("provides_hooks: [1]", "/p/notes/plugin.yaml: provides_hooks: expected a list of texts, got [1]"),
        ("manifest_version: one", "/p/notes/plugin.yaml: manifest_version: expected a whole number, got 'one'"),
        (
            "provides_hooks: [onEvent, preTol]",
            (
                "/p/notes/plugin.yaml: provides_hooks: no hook point is named 'preTol', "
                "and a guard that is never called refuses nothing; did you mean 'preTool'?"
            ),
        ),
        (
            "manifest_version: 2",
            "/p/notes/plugin.yaml: manifest_version: 2 is not supported; use version 1",
        ),
        (
            "name: ../up",
            (
                "/p/notes/plugin.yaml: name: the name '../up' cannot be used; "
                "it is made of letters, digits, '-' and '_', at most 64 of them"
            ),
        ),
        ("name: prloom", "/p/notes/plugin.yaml: name: the name 'prloom' is reserved for prloom; choose another"),
        (
            "requires_env: ['A=B']",
            "/p/notes/plugin.yaml: requires_env: 'A=B' is not a valid name for an environment variable",
        ),
        ("- a\n- b", "/p/notes/plugin.yaml does not contain a table; write keys such as `name: notes`"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_file_and_the_key(text: str, said: str) -> None:
    assert problem(text) == said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a: [", "plugin.yaml"),
        ("{", "plugin.json"),
        ("a =", "plugin.toml"),
        ("a: !!python/object/apply:os.getcwd []", "plugin.yaml"),
        ("[" * 100_000, "plugin.json"),
        ("- " * 5_000, "plugin.yaml"),
        ("name: !!bool maybe", "plugin.yaml"),
        ("name: !!timestamp later", "plugin.yaml"),
        ('name: !!int ""', "plugin.yaml"),
    ],
)
def test_what_does_not_parse_is_one_line_that_names_the_file(text: str, name: str) -> None:
    assert problem(text, name).startswith(f"/p/notes/{name} cannot be read as ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("manifest_version: {}", "manifest_version: a number has thousands of digits; write a shorter one"),
        ("name: {}", "name: expected a text, got a number of thousands of digits; put it in quotes"),
        ("requires_env: [{}]", "requires_env: expected a list of texts, got a number of thousands of digits"),
    ],
)
def test_a_number_of_more_digits_than_python_writes_is_one_line_that_names_the_key(text: str, said: str) -> None:
    assert problem(text.format("0x" + "f" * 5_000)) == f"/p/notes/plugin.yaml: {said}"


def test_a_key_of_more_digits_than_python_writes_is_an_unknown_one() -> None:
    found = manifest.parse(b"? 0x" + b"f" * 5_000 + b"\n: notes", Path("/p/notes/plugin.yaml"))

    assert "the key a number of thousands of digits is not known" in found.warnings[0]


def test_bytes_that_are_no_text_are_an_error() -> None:
    with pytest.raises(ExtensionError, match="cannot be read as toml: 'utf-8' codec"):
        manifest.parse(b"\xff\xfe", Path("/p/notes/plugin.toml"))


def test_a_manifest_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "plugin.toml").write_text("#" * (manifest.LIMIT + 1))

    with pytest.raises(ExtensionError, match="is larger than 16384 bytes"):
        manifest.read(tmp_path)


def test_a_hook_point_that_does_not_exist_is_a_warning_with_the_nearest_one() -> None:
    read = manifest.parse(b"provides_hooks: [beforeTriag, after_todo, zzz]", Path("/p/notes/plugin.yaml"))

    assert read.warnings == (
        "/p/notes/plugin.yaml: provides_hooks: no hook point is named 'beforeTriag'; did you mean 'beforeTriage'?",
        "/p/notes/plugin.yaml: provides_hooks: no hook point is named 'zzz'; docs/writing-a-plugin.md lists them",
    )


def test_an_unknown_key_is_a_warning_with_the_nearest_known_one() -> None:
    read = manifest.parse(b"descripton: x\nzebra: 1", Path("/p/notes/plugin.yaml"))

    assert read.warnings == (
        "/p/notes/plugin.yaml: the key 'descripton' is not known and has no effect; did you mean 'description'?",
        "/p/notes/plugin.yaml: the key 'zebra' is not known and has no effect",
    )


def test_a_key_without_a_value_counts_as_absent() -> None:
    assert manifest.parse(b"author:\n", Path("/p/notes/plugin.yaml")).manifest == Manifest(name="notes")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"background": {"command": "./a\0"}}, "background: command: './a\\x00' contains a NUL character; remove it"),
        (
            {"background": {"command": "a", "args": ["-x", "\0"]}},
            "background: args: ['-x', '\\x00'] contains a NUL character; remove it",
        ),
        (
            {"background": {"command": "a", "communication": {"path": "\0"}}},
            "background: communication: path: '\\x00' contains a NUL character; remove it",
        ),
        (
            {"tools": [{"name": "t", "type": "executable", "command": "./\ud800"}]},
            "tools: number 1: command: './\\ud800' contains half of a surrogate pair; remove it",
        ),
        (
            {"tools": [{"name": "t", "method": "m", "schema": {"title": "\ud800"}}], "background": {"command": "a"}},
            "tools: number 1: schema: {'title': '\\ud800'} contains half of a surrogate pair; remove it",
        ),
        (
            {"config_schema": {"a": {"type": "string", "default": "\ud800"}}},
            "config_schema: a: default: '\\ud800' contains half of a surrogate pair; remove it",
        ),
    ],
)
def test_a_text_that_no_path_and_no_argument_can_have_is_refused(table: dict[str, Any], said: str) -> None:
    assert problem(json.dumps(table), "plugin.json") == f"/p/notes/plugin.json: {said}"
