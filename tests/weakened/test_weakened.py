"""For each guarantee: prloom with one function weakened fails the test that stands for it.

A test that cannot fail proves nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import command_server
import environment
import pytest
from command_server import CommandServer

sys.path.insert(0, str(Path(__file__).parent))

import weakenings
from weakenings import WEAKENINGS, Weakening

from prloom.agents import sandbox_check

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OPTIONS = (
    "-q",
    "-x",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
    "-p",
    "no:xdist",
    "-p",
    "no:anyio",
    "--assert=plain",
)
"""That a test fails is enough: nobody reads why."""
FAILED = 1
LIMIT = 600
"""Seconds that a test of a weak build may take."""


class Servers(NamedTuple):
    """What runs the tests of weak builds, and what makes parts of the crash matrix."""

    tests: CommandServer
    matrix: CommandServer


each_weakening = pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda weakening: weakening.guarantee)


@pytest.fixture(scope="session")
def servers() -> Servers:
    """Return what runs them in forks: to import pytest and prloom for each guarantee would cost more than all tests."""
    matrix = HERE.parent / "reliability/matrix_server.py"
    return Servers(command_server.server_of(HERE / "weak_tests.py"), command_server.server_of(matrix, forked=False))


def run(weakening: Weakening, called: Path, servers: Servers) -> subprocess.CompletedProcess[str]:
    """Run the test of a weakening in a process in which the function is weak; `called` is made when it is called."""
    path = os.pathsep.join(filter(None, (str(HERE / "site"), os.environ.get("PYTHONPATH"))))
    weak = {"PYTHONPATH": path, weakenings.NAMED: weakening.guarantee, weakenings.CALLED: str(called)}
    env = environment.nested() | weak
    if weakening.matrix:
        argv = ["crash_matrix", *weakening.matrix, "--stop", "--jobs", "1"]
        return command_server.run_at(servers.matrix, argv, cwd=ROOT, env=env, limit=LIMIT)
    argv = ["pytest", *OPTIONS, f"tests/{weakening.test}", "-k", weakening.select]
    return command_server.run_at(servers.tests, argv, cwd=ROOT, env=env, limit=LIMIT)


@each_weakening
def test_what_is_weakened_exists(weakening: Weakening):
    weakenings.find(weakening, importlib.import_module(weakening.module))


@pytest.mark.timeout(LIMIT + 60)
@each_weakening
def test_without_the_guarantee_its_test_fails(weakening: Weakening, tmp_path: Path, servers: Servers):
    if weakening.test.startswith("sandbox/"):
        problem = sandbox_check.problem({"PATH": environment.sandboxed(os.environ["PATH"])})
        if problem is not None:
            pytest.skip(problem)
    ended = run(weakening, tmp_path / "called", servers)

    assert ended.returncode == FAILED, ended.stdout + ended.stderr
    assert (tmp_path / "called").exists(), "the weak function was never called"
    if weakening.matrix:
        assert "AttributeError" not in str(json.loads(ended.stdout)["wrong"]), "it asks for a name that is gone"
    else:
        assert " failed" in ended.stdout, ended.stdout + ended.stderr


def test_a_name_that_does_not_exist_is_reported_and_fails_no_test(tmp_path: Path):
    gone = Weakening("P1: gone", "prloom.core.trust:gone", weakenings.nothing)

    with pytest.raises(weakenings.NoSuchNameError, match=r"prloom\.core\.trust:gone does not exist"):
        weakenings.find(gone, importlib.import_module(gone.module))
