"""Making a plugin: what is made works as it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import git_folder
import plain_pytest
import pytest

from prloom.cli import main
from prloom.extensions import manifest
from prloom.testing import a_comment, harness, runners


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git_folder.make(tmp_path / ".git")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prloom(*args: str) -> int:
    return main.run(main.cli, ["plugins", *args])


def test_the_tests_of_a_plugin_that_was_made_pass_with_plain_pytest(repository: Path) -> None:
    prloom("new", "my-notes")

    tests = plain_pytest.run(repository, "prloom/plugins/my-notes")

    assert (tests.returncode, " passed" in tests.stdout) == (0, True), tests.stdout + tests.stderr


@pytest.mark.parametrize("name", ["notes", "my-notes", "My_notes2", "1st"])
def test_a_plugin_that_was_made_is_found_and_handles_its_word(repository: Path, name: str) -> None:
    assert prloom("new", name) == 0

    found = runners.find_plugin(repository / "prloom/plugins" / name)

    assert (found.key, found.error, found.warnings) == (name, None, ())
    assert len(harness(found.path).show(a_comment(f"!{name} hi")).handled) == 1
    compile((Path(found.path) / f"tests/test_{name.replace('-', '_')}.py").read_text(), "test", "exec")


def test_it_says_what_was_made_and_what_to_do_next(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prloom("new", "my-notes")

    out = capsys.readouterr().out
    assert out.startswith("Created my-notes in prloom/plugins/my-notes:\n")
    for command in ("prloom plugins test my-notes", "pytest prloom/plugins/my-notes", "prloom plugins enable my-notes"):
        assert f"  {command} " in out
    assert "tests/test_my_notes.py" in out


def test_a_folder_elsewhere_can_be_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prloom("new", "notes", "--dir", "else where") == 0

    assert (repository / "else where/notes/__init__.py").is_file()
    assert not (repository / "prloom").exists()
    assert "  prloom plugins test 'else where/notes' " in capsys.readouterr().out


def test_outside_of_a_repository_a_folder_must_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert prloom("new", "notes") == 1
    assert "no git repository" in capsys.readouterr().err
    assert prloom("new", "notes", "--dir", ".") == 0


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("my notes!", "my-notes"),
        ("prloom", "my-plugin"),
        ("../x", "x"),
        ("a/b", "a-b"),
        ("é", "my-plugin"),
        ("", "my-plugin"),
    ],
)
def test_a_bad_name_is_one_line_with_a_better_one(
    repository: Path, capsys: pytest.CaptureFixture[str], name: str, better: str
) -> None:
    assert prloom("new", name) == 1

    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.endswith(f"; use {better}, for example\n")
    assert os.listdir(repository) == [".git"]


@pytest.mark.parametrize("there", ["notes", "notes.py"])
def test_what_is_there_already_is_left_alone(repository: Path, capsys: pytest.CaptureFixture[str], there: str) -> None:
    plugins = repository / "prloom/plugins"
    plugins.mkdir(parents=True)
    (plugins / there).write_text("mine") if there.endswith(".py") else (plugins / there).mkdir()

    assert prloom("new", "notes") == 1

    assert "already" in capsys.readouterr().err
    assert os.listdir(plugins) == [there]


def test_a_name_that_would_be_the_same_module_as_anothers_is_refused(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prloom("new", "my-notes")

    assert prloom("new", "my_notes") == 1
    assert prloom("new", "quiet_period") == 1

    err = capsys.readouterr().err
    assert "there is a plugin my-notes already" in err
    assert "there is a plugin quiet-period already" in err


def test_taking_a_bundled_plugins_name_is_said(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prloom("new", "memory") == 0

    assert "prloom comes with a plugin memory; when yours is enabled, it replaces that one." in capsys.readouterr().out


def test_a_file_in_the_way_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "prloom").write_text("a launcher script")

    code = main.run(main.cli, ["plugins", "new", "greeter"])

    file = repository / "prloom"
    assert (code, capsys.readouterr().err) == (
        1,
        f"prloom: {file} is a file, not a folder; move it, or name another folder with --dir\n",
    )
    assert file.read_text() == "a launcher script"


@pytest.mark.parametrize("language", ["python", "node", "shell"])
def test_the_tests_of_a_background_plugin_that_was_made_pass_with_plain_pytest(repository: Path, language: str) -> None:
    if language == "node" and shutil.which("node") is None:
        pytest.skip("node is not installed")
    assert prloom("new", "call-counter", "--background", "--language", language) == 0

    tests = plain_pytest.run(repository, "prloom/plugins/call-counter")

    assert (tests.returncode, " passed" in tests.stdout) == (0, True), tests.stdout + tests.stderr


def test_a_background_plugin_with_the_longest_name_is_right_as_it_is_made(repository: Path) -> None:
    assert prloom("new", "n" * 64, "--background") == 0

    manifest.read(repository / "prloom/plugins" / ("n" * 64))


def test_a_language_is_for_background_plugins_only(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prloom("new", "x", "--language", "node") == 2
    assert "--language is for a plugin with a daemon; add --background" in capsys.readouterr().err
