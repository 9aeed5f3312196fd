"""A library that is missing is named in the way in which prloom was installed."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

from prloom import installed


@pytest.mark.parametrize(
    ("requirement", "arguments"),
    [
        ('directory = "/src/my prloom"', ["--with=apprise", "/src/my prloom"]),
        ('editable = "/src/prloom"', ["--with=apprise", "--editable", "/src/prloom"]),
        ('git = "https://git.example/prloom"', ["--with=apprise", "git+https://git.example/prloom"]),
    ],
)
def test_a_tool_of_uv_is_installed_once_more_from_where_it_came(
    tmp_path: Path, requirement: str, arguments: list[str]
) -> None:
    text = f'[tool]\nrequirements = [{{ name = "prloom", {requirement} }}]\n'
    (tmp_path / "uv-receipt.toml").write_text(text)

    said = installed.how_to_add("apprise", prefix=tmp_path)

    assert shlex.split(said) == ["uv", "tool", "install", *arguments]


def test_a_tool_of_uv_keeps_what_was_added_before(tmp_path: Path) -> None:
    text = '[tool]\nrequirements = [{ name = "prloom", directory = "/p" }, { name = "psycopg", extras = ["binary"] }]\n'
    (tmp_path / "uv-receipt.toml").write_text(text)

    assert "'--with=psycopg[binary]' --with=apprise /p" in installed.how_to_add("apprise", prefix=tmp_path)


def test_pipx_injects_into_its_environment(tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")

    assert installed.how_to_add("psycopg[binary]", prefix=tmp_path) == f"pipx inject {tmp_path.name} 'psycopg[binary]'"


def test_elsewhere_the_pip_of_that_environment_installs_it(tmp_path: Path) -> None:
    assert installed.how_to_add("apprise", prefix=tmp_path) == f"{tmp_path}/bin/python -m pip install apprise"


def brought(names: set[str]) -> set[str]:
    """Return the distributions that an installation of these brings."""
    found: set[str] = set()
    while names:
        found |= names
        needed = {each for name in names for each in needs(name)}
        names = needed - found
    return found


def needs(distribution: str) -> set[str]:
    try:
        told = requires(distribution) or []
    except PackageNotFoundError:  # of another system
        return set()
    return {named(each) for each in told if "extra ==" not in each}


def named(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_a_plain_install_has_all_that_prloom_imports_but_the_library_of_a_server() -> None:
    root = Path(__file__).parents[1]
    declared = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    imported: set[str] = set()
    for file in (root / "prloom").rglob("*.py"):
        text = file.read_text("utf-8")
        imported.update(re.findall(r"^ *(?:from|import) (\w+)[\w.]*(?: import|$)", text, re.MULTILINE))
    installed_by = packages_distributions()
    needed = {named(installed_by[each][0]) for each in imported if each in installed_by} - {"prloom", "pytest"}

    assert needed - brought({named(each) for each in declared}) == {"psycopg"}
