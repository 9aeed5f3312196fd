from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import environment
import memory
import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from stage import Stage

OURS = ("prloom", "prloom_plugins")
EXTENSIONS = ("prloom_plugins.", "prloom_bridges.")
HOME = pytest.StashKey[str]()
STARTED_IN = Path.cwd()
FILES_OPEN = 256
"""How many files may be open after a test; many machines let a process have 1,024."""
PATIENT = {"acceptance", "machine", "reliability", "worker"}
"""Folders of tests that wait for processes, for seconds each."""
_NO_PARAMETERS = SimpleNamespace(params={})


def pytest_configure() -> None:
    """Let Ctrl-C end the programs that tests start, also where a shell has begun the tests in the background.

    And let no property fail because the machine is busy; in a weakened build or a mutant that it fails is enough.
    """
    gc.disable()  # until all tests are collected, since nothing of that is garbage: it takes a seventh less time
    memory.keep_temporary_files()
    settings.register_profile("prloom", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("weakened", settings.get_profile("prloom"), phases=(Phase.explicit, Phase.generate))
    spoilt = "PRLOOM_WEAKENED" in os.environ or "MUTANT_UNDER_TEST" in os.environ
    settings.load_profile("weakened" if spoilt else "prloom")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let no test, and no program that one starts, see more of the developer's environment than tests need.

    It comes before any test's module is imported, and after pytest has read what its own variables say.
    """
    home = session.config.stash[HOME] = mkdtemp(prefix="prloom-tests-home-")
    seen = environment.of_tests(os.environ, home)
    os.environ.clear()
    os.environ.update(seen)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that may take longest, so that in the end nobody waits for one; the others stay shuffled."""
    items.sort(key=lambda item: (time_limit(item), not PATIENT.isdisjoint(item.path.parts)), reverse=True)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of what Python looks through for garbage: it stays to the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


def time_limit(item: pytest.Item) -> float:
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark is not None and mark.args else 0.0


def pytest_unconfigure(config: pytest.Config) -> None:
    if home := config.stash.get(HOME, None):
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True, scope="session")
def _no_repository_around(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let neither git nor prloom take a repository for a test's that holds the temporary folders by chance."""
    around = (tmp_path_factory.getbasetemp(), Path(gettempdir()))
    folders = dict.fromkeys(str(folder) for each in around for folder in (each, each.resolve()))
    os.environ["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(folders)


@pytest.fixture(autouse=True)
def _modules_of_its_own() -> Iterator[None]:
    """End with the extensions' modules that there were: what a test loads is no other test's."""
    before = sys.modules.copy()
    yield
    if sys.modules != before:
        for name in extensions(sys.modules) - extensions(before):
            del sys.modules[name]
        sys.modules.update({name: before[name] for name in extensions(before)})


def extensions(modules: dict[str, ModuleType]) -> set[str]:
    return {name for name in modules.copy() if name.startswith(EXTENSIONS)}


@pytest.fixture(autouse=True)
def _few_files_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close what earlier tests have left open, before it is so much that a process may have no more files.

    A dispatcher keeps its folders open until it is collected, and Python may look for garbage once in a hundred tests.
    An exception that is a test's parameter lives to the end, and with it every frame that it passed through.
    """
    yield
    for parameter in getattr(request.node, "callspec", _NO_PARAMETERS).params.values():
        if isinstance(parameter, BaseException):
            parameter.__traceback__ = None
    if len(os.listdir("/dev/fd")) > FILES_OPEN:
        gc.collect()


@pytest.fixture(autouse=True)
def _back_where_it_began() -> Iterator[None]:
    """End in the folder in which the tests were started: `prloom -C` leaves it, and a test's own folder is removed."""
    yield
    os.chdir(STARTED_IN)


@pytest.fixture(autouse=True)
def _log_of_its_own() -> Iterator[None]:
    """Begin and end with the log as it is: a command that ran in this process has said for good what is logged."""
    root = logging.getLogger()
    for name in OURS:
        logging.getLogger(name).setLevel(logging.NOTSET)
    handlers = [each for each in root.handlers if each.name != "prloom-stderr"]
    root.handlers[:] = handlers
    yield
    root.handlers[:] = handlers
    for name in OURS:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
def pr_7(stage: Stage) -> Path:
    """Adopt the plan `pr-7` on the stage, and return its `prloom/.local`."""
    return stage.adopt()
