"""Run pytest in forks of a process that has imported it, prloom and what the tests use, each with one weak function.

Here prloom is imported before it is weakened: a name that another module has taken from there keeps the real function.
prloom calls functions through their modules; where it does not, the test of the guarantee says that none was called.
"""

# ruff: noqa: E402 - the folders of the tests come first

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
KIT = HERE.parent / "kit"
sys.path[:0] = [str(HERE.parents[1]), str(KIT)]

import command_server_process
import pytest
import weakenings

USED = ("hypothesis.stateful", "pytest_asyncio.plugin", "stage", "project", "tool_bench", "workbench")
LOADED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""pytest warns of plugins that were imported before it could rewrite their assertions."""


def main() -> int:
    """Weaken what the environment names, and run pytest with the arguments of this process."""
    weakenings.weaken_this_process()
    return int(pytest.main([*LOADED, *sys.argv[1:]]))


if __name__ == "__main__":
    command_server_process.import_prloom()
    for name in USED:
        importlib.import_module(name)
    command_server_process.serve(main)
