"""Make parts of the crash matrix in forks of a process that has imported prloom with its calls watched."""

# ruff: noqa: E402 - the calls are to be watched before prloom is imported, which may keep them

from __future__ import annotations

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS / "kit"), str(TESTS / "weakened"), str(TESTS / "reliability")]

import calls

calls.install()

import command_server_process
import crash_matrix
import weakenings


def main() -> int:
    """Make what the arguments of this process ask for, with what the environment says is to be weak."""
    if weakenings.NAMED in os.environ:
        weakenings.weaken_this_process()
    return crash_matrix.main(sys.argv[1:])


if __name__ == "__main__":
    command_server_process.import_prloom()
    command_server_process.serve(main)
