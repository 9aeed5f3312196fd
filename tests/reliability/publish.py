"""Make the whole crash matrix and write it into docs/reliability.md: `make crash-matrix`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import table

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs/reliability.md"
KINDS = ("once", "twice", "power", "traced")


def main(argv: Sequence[str]) -> int:
    """Break everything, print what went wrong, and return 1 if anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=4, help="so many of each call and fault, evenly spread; 0: all")
    parser.add_argument("--rounds", type=int, default=500, help="rounds of kill -9 on the real command")
    parser.add_argument("--reuse", type=Path, help="take the reports that are in this folder, and keep new ones there")
    given = parser.parse_args(argv)
    each = ("--each", str(given.each))
    reports = {kind: _report(given.reuse, kind, "crash_matrix.py", kind, *each) for kind in KINDS}
    apart = {
        name: _report(given.reuse, name, "crash_matrix.py", kind, "--story", story, *each)
        for name, (kind, story) in table.APART.items()
    }
    kills = _report(given.reuse, "kills", "kills.py", "--rounds", str(given.rounds))
    PAGE.write_text(table.page(PAGE.read_text(), reports, apart, kills))
    wrong = [line for report in (*reports.values(), *apart.values(), kills) for line in report["wrong"]]
    print("\n".join(wrong))
    return 1 if wrong else 0


def _report(folder: Path | None, name: str, program: str, *args: str) -> Any:
    kept = None if folder is None else folder / f"{name}.json"
    if kept is not None and kept.exists():
        return json.loads(kept.read_text())
    ended = subprocess.run([sys.executable, str(HERE / program), *args], stdout=subprocess.PIPE, text=True, check=False)
    if kept is not None:
        kept.write_text(ended.stdout)
    return json.loads(ended.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
