"""The rules of the code that are not about behaviour: layers, and what bundled extensions may import."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import environment
import pytest
import syntax_tree

from prloom import api
from prloom.model.action import Payload
from prloom.testing import bridge_scene

ROOT = Path(__file__).parents[1]
MOST_LINES = 500
BUNDLED = sorted([*ROOT.glob("plugins/**/*.py"), *ROOT.glob("bridges/**/*.py")])


def test_each_layer_imports_only_those_below_it():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout


def test_no_module_is_so_long_that_it_has_more_than_one_noun():
    modules = [*ROOT.glob("prloom/**/*.py"), *BUNDLED]
    lengths = {str(module.relative_to(ROOT)): len(module.read_text().splitlines()) for module in modules}

    assert {module: length for module, length in lengths.items() if length > MOST_LINES} == {}


@pytest.mark.parametrize("file", BUNDLED, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_bundled_extension_imports_of_prloom_only_what_every_author_may(file: Path):
    allowed = {"prloom.api", "prloom.testing"} if "tests" in file.parts else {"prloom.api"}
    tree = syntax_tree.of(file)
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
    }
    ours = {name for name in imported if name.split(".")[0] == "prloom"}

    assert {name for name in ours if not any(name == good or name.startswith(f"{good}.") for good in allowed)} == set()


def test_one_module_imports_gitpython_because_only_there_are_its_commands_hardened():
    imports = re.compile(r"^ *(?:from git\b|import git\b)", re.MULTILINE)
    files = [*ROOT.glob("prloom/**/*.py"), *BUNDLED]

    assert [file.name for file in files if imports.search(file.read_text())] == ["objects.py"]


READ_ELSEWHERE = {
    "model/record.py": "the one place",
    "extensions/manifest_fields.py": "texts, numbers and lists, of which nothing has to be worked out",
    "storage/envelope.py": "its kind was worked out when the module was imported",
}


def test_records_are_first_read_in_one_place_because_two_threads_at_once_end_the_process():
    calls = {
        str(file.relative_to(ROOT / "prloom"))
        for file in ROOT.glob("prloom/**/*.py")
        if re.search(r"msgspec\.(convert|json\.decode)\(", file.read_text())  # to parse them all takes long
        for node in ast.walk(syntax_tree.of(file))
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func) == "msgspec.convert"
            or (ast.unparse(node.func) == "msgspec.json.decode" and "type" in {each.arg for each in node.keywords})
        )
    }

    assert calls == READ_ELSEWHERE.keys()


def test_every_variable_that_steers_the_tests_is_kept_for_them():
    read = re.compile(r'os\.environ\.get\("(PRLOOM_[A-Z_]+)"')
    found = {name for file in (ROOT / "tests").rglob("*.py") for name in read.findall(file.read_text())}

    assert found - environment.STEERING == set()


def test_of_a_developers_environment_tests_see_what_finds_programs_and_what_steers_them():
    theirs = {
        "PATH": "/bin",
        "PYTHONPATH": "/build",
        "PRLOOM_KILL_ROUNDS": "3",
        "PYTEST_XDIST_WORKER": "gw0",
        "HOME": "/home/ann",
        "PRLOOM_BASE_BRANCH": "odd",
        "PYTEST_ADDOPTS": "-x",
        "PYTHONWARNINGS": "error",
        "GIT_DIR": "/other",
        "GITHUB_TOKEN": "secret",
        "NO_COLOR": "1",
        "COLUMNS": "7",
        "LANG": "de_DE",
        "HTTPS_PROXY": "http://proxy",
    }

    assert environment.of_tests(theirs, "/empty") == {
        "PATH": f"{environment.NO_SANDBOX}{os.pathsep}/bin",
        "PYTHONPATH": "/build",
        "PRLOOM_KILL_ROUNDS": "3",
        "PYTEST_XDIST_WORKER": "gw0",
        "HOME": "/empty",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **environment.CERTIFICATES,
    }


def test_each_payload_is_part_of_the_api_and_of_the_contract_of_bridges():
    payloads = get_args(Payload)

    assert {each.__name__ for each in payloads} <= set(api.__all__)
    assert {type(each) for each in bridge_scene.PAYLOADS} == set(payloads)


def test_whoever_goes_through_the_loaded_modules_goes_through_a_copy():
    """Another thread that imports would change what is gone through; `list(sys.modules)` is no copy made at once."""
    code = "\n".join(file.read_text() for file in ROOT.glob("prloom/**/*.py"))

    assert re.findall(r"in (?:list\()?sys\.modules(?:\.items\(\))?(?: if|:|\))", code) == []
