"""What tests see of the environment of whoever starts them: what finds programs and folders, and what steers tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

AGENT_PYTHON = (sys.executable, "-S", "-E")
"""How a script that plays an agent begins: without the packages that it does not need, Python starts faster."""

MACHINE = frozenset({"PATH", "LD_LIBRARY_PATH", "TMPDIR", "USER", "LOGNAME", "SHELL"})
BUILD = frozenset({"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"})
"""Which build is under test, and whether Python may leave files beside it."""
STEERING = frozenset(
    {
        "PRLOOM_AGENT_KILLS",
        "PRLOOM_ALL_DAMAGE",
        "PRLOOM_ALL_MEMORY",
        "PRLOOM_CRASHES",
        "PRLOOM_CRASH_TURN",
        "PRLOOM_INTERLEAVINGS",
        "PRLOOM_KILL_ROUNDS",
        "PRLOOM_KILL_SEED",
        "PRLOOM_MODEL_EXAMPLES",
        "PRLOOM_TEST_POSTGRES",
        "PRLOOM_WEAKENED",
        "PRLOOM_WEAKENED_CALLED",
        "PRLOOM_WHOLE_DAY",
        "PRLOOM_WORK_KILLS",
    }
)
"""By which somebody asks for more than the suite does by itself."""
NO_SANDBOX = str(Path(__file__).parent / "bin")
"""A folder with a `bwrap` that makes no sandbox, so that tests find what their agents wrote; see `sandboxed`."""
CERTIFICATES = {"SSL_CERT_FILE": str(Path(__file__).parents[1] / "data/certificate.pem")}
"""One authority that certifies nothing: tests speak HTTP only, and each client would read the certificates of all."""
RUNNING = ("PYTEST_XDIST_", "PYTEST_VERSION", "PYTEST_DEBUG_TEMPROOT")
"""How the names begin of what pytest tells its own processes."""


def of_tests(caller: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the environment of tests that somebody starts in theirs; `home` is a folder of the tests' own."""
    kept = {name: value for name, value in caller.items() if name in MACHINE | BUILD | STEERING}
    kept |= {name: value for name, value in caller.items() if name.startswith(RUNNING)}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    folders = [each for each in kept.get("PATH", os.defpath).split(os.pathsep) if each != NO_SANDBOX]
    kept["PATH"] = os.pathsep.join((NO_SANDBOX, *folders))
    return kept | CERTIFICATES | git | {"HOME": home, "LC_ALL": "C.UTF-8"}


def of_git(home: str) -> dict[str, str]:
    """Return the environment of git as Ada runs it, with no configuration but the repository's."""
    who = {f"GIT_{role}_{what}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **who,
    }


def sandboxed(path: str) -> str:
    """Return a PATH on which bubblewrap is the machine's own."""
    return os.pathsep.join(each for each in path.split(os.pathsep) if each != NO_SANDBOX)


def nested() -> dict[str, str]:
    """Return the environment for a pytest that a test starts: nothing in it is about the pytest that runs the test."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
