"""For each guarantee: prloom with one function weakened fails the test that stands for it.

A test that cannot fail proves nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import command_server
import environment
import pytest
from command_server import CommandServer

sys.path.insert(0, str(Path(__file__).parent))

import weakenings
from weakenings import WEAKENINGS, Weakening

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:anyio")
FAILED = 1

each_weakening = pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda weakening: weakening.guarantee)


@pytest.fixture(scope="session")
def server() -> Iterator[CommandServer]:
    """Return what runs pytest in forks: to import it and prloom for each guarantee would cost more than all tests."""
    started = CommandServer(environment.nested(), str(HERE / "weak_tests.py"))
    yield started
    started.close()


def run(weakening: Weakening, called: Path, server: CommandServer) -> subprocess.CompletedProcess[str]:
    """Run the test of a weakening in a process in which the function is weak; `called` is made when it is called."""
    path = os.pathsep.join(filter(None, (str(HERE / "site"), os.environ.get("PYTHONPATH"))))
    weak = {"PYTHONPATH": path, "PRLOOM_WEAKENED": weakening.guarantee, "PRLOOM_WEAKENED_CALLED": str(called)}
    env = environment.nested() | weak
    if weakening.matrix:
        argv = [sys.executable, "tests/reliability/crash_matrix.py", *weakening.matrix, "--stop", "--jobs", "1"]
        return subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    argv = ["pytest", *OPTIONS, f"tests/{weakening.test}", "-k", weakening.select]
    return command_server.run_at(server, argv, cwd=ROOT, env=env)


@each_weakening
def test_what_is_weakened_exists(weakening: Weakening):
    weakenings.find(weakening, importlib.import_module(weakening.module))


@pytest.mark.timeout(600)
@each_weakening
def test_without_the_guarantee_its_test_fails(weakening: Weakening, tmp_path: Path, server: CommandServer):
    ended = run(weakening, tmp_path / "called", server)

    assert ended.returncode == FAILED, ended.stdout + ended.stderr
    assert (tmp_path / "called").exists(), "the weak function was never called"
    assert json.loads(ended.stdout)["wrong"] if weakening.matrix else " failed" in ended.stdout


def test_a_name_that_does_not_exist_is_reported_and_fails_no_test(tmp_path: Path):
    gone = Weakening("P1: gone", "prloom.core.trust:gone", weakenings.nothing)

    with pytest.raises(weakenings.NoSuchNameError, match=r"prloom\.core\.trust:gone does not exist"):
        weakenings.find(gone, importlib.import_module(gone.module))
