"""Run pytest on the current folder for each line that comes in, in a process that is forked for it.

Most of a short run of pytest is imports that have nothing to do with what is under test. They are done once, here; what
is prloom's is imported by the fork, as the folder has it then. A line is a JSON list: a file for what pytest says, and
its arguments. The answer is a line with the exit code.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import sys

FOREIGN = (
    "_pytest.doctest",
    "_pytest.junitxml",
    "_pytest.skipping",
    "_pytest.terminal",
    "asyncio",
    "click",
    "email.message",
    "filelock",
    "httpx",
    "hypothesis.stateful",
    "hypothesis.strategies",
    "importlib.metadata",
    "jinja2",
    "multiprocessing",
    "msgspec",
    "psutil",
    "pydantic",
    "pytest",
    "pytest_asyncio.plugin",
    "pytest_socket",
    "pytest_timeout",
    "rich.console",
    "sqlite3",
    "tempfile",
    "tomlkit",
    "unittest.mock",
    "yaml",
)
OWN = ("prloom", "bridges", "plugins", "conftest", "stage")
# That a plugin was imported before pytest could look at its assertions makes no difference to whether a test passes.
SETTINGS = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def run(said: str, args: list[str]) -> int:
    """Run pytest in a fork, and return its exit code."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = _pytest(said, args)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _pytest(said: str, args: list[str]) -> int:
    import pytest  # noqa: PLC0415 - it is there long since

    random.seed()
    file = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(here, there)
    code = int(pytest.main([*SETTINGS, *args]))
    sys.stdout.flush()
    return code


def main() -> None:
    """Import, and run what is asked for until nobody asks any more."""
    for name in FOREIGN:
        importlib.import_module(name)
    own = [name for name in sys.modules if name.partition(".")[0] in OWN]
    assert not own, f"{own} would be those of no weakened build"
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        said, *args = json.loads(line)
        print(run(said, args), flush=True)


if __name__ == "__main__":
    main()
