"""Run `python benchmarks` in forks of a process that has imported prloom: what is tested is that it can measure."""

# ruff: noqa: E402 - the folders of the tests come first

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/kit")]

import command_server_process


def main() -> int:
    """Run the benchmarks with the arguments of this process."""
    try:
        runpy.run_path(str(ROOT / "benchmarks"), run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 1


if __name__ == "__main__":
    command_server_process.import_prloom()
    command_server_process.serve(main)
