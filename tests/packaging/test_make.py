from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def planned(target: str, venv: Path) -> str:
    """Return the commands that make would run for a target, with this folder as the virtual environment."""
    command = ["make", "--dry-run", "--no-print-directory", target, f"VENV={venv}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_demo_installs_only_what_it_needs_and_shows_its_progress(tmp_path: Path) -> None:
    told = planned("demo", tmp_path)

    assert told.splitlines()[0].startswith(f'echo "Setting up {tmp_path} for the demo.')
    assert "pip install --disable-pip-version-check --editable .\n" in told
    assert "dev" not in told.replace(str(tmp_path), "")  # which may be in /dev/shm
    assert "--quiet" not in told


def test_the_demo_installs_nothing_where_the_tests_are_set_up(tmp_path: Path) -> None:
    (tmp_path / ".installed").touch()

    assert planned("demo", tmp_path) == f"{tmp_path}/bin/prloom demo\n"


def test_the_tests_are_set_up_with_progress_too(tmp_path: Path) -> None:
    told = planned("setup", tmp_path)

    assert told.startswith("echo ")
    assert "--editable '.[dev]'\n" in told
    assert "--quiet" not in told


@pytest.mark.parametrize("target", ["demo", "setup", "mutants"])
def test_what_is_installed_is_this_project(tmp_path: Path, target: str) -> None:
    installs = [line for line in planned(target, tmp_path).splitlines() if "pip install" in line]

    assert installs
    assert all(re.search(r" --editable '?\.", line) for line in installs), installs


def test_the_readme_names_the_demo_and_the_usual_installers() -> None:
    text = (ROOT / "README.md").read_text("utf-8")

    assert all(command in text for command in ("`prloom demo`", "uv tool install .", "pipx install ."))
