"""Measure prloom's promises of speed and print them as one table: `make bench`, or `python benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import agent_runs
import appending
import catching_up
import commands
import daemons
import exchange
import exchange_commands
import exchange_postgres
import history
import idle
import latency
import machines
import mcp_calls
import misbehaving_daemons
import screens
import web
import web_attacks
import working
from harness import TINY, Figure, Row, Sizes, document, scaled, table

ROWS: tuple[Row, ...] = (
    *appending.ROWS,
    *history.ROWS,
    *catching_up.ROWS,
    *idle.ROWS,
    *latency.ROWS,
    *agent_runs.ROWS,
    *commands.ROWS,
    *working.ROWS,
    *exchange.ROWS,
    *exchange_commands.ROWS,
    *exchange_postgres.ROWS,
    *machines.ROWS,
    *web.ROWS,
    *web_attacks.ROWS,
    *screens.ROWS,
    *daemons.ROWS,
    *misbehaving_daemons.ROWS,
    *mcp_calls.ROWS,
)


def main(argv: Sequence[str]) -> int:
    """Measure, print the table, and return 0 whatever the figures are: they are there to be read.

    A row that cannot be measured is told on stderr, and makes it 1; the others are measured all the same.
    """
    given = _arguments(argv)
    sizes = TINY if given.tiny else Sizes()
    sizes = sizes if given.rounds is None else replace(sizes, rounds=given.rounds)
    sizes = sizes if given.scale is None else scaled(sizes, given.scale)
    figures: list[Figure] = []
    failed = 0
    before = os.getloadavg()[0]
    for row in ROWS:
        if given.only and row.name not in given.only:
            continue
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="prloom-bench-", dir=given.folder) as folder:
            try:
                figures += row.measure(sizes, Path(folder))
            except Exception:  # noqa: BLE001 - whatever it was, the other rows are measured
                print(f"{row.name} could not be measured:", traceback.format_exc(), file=sys.stderr)
                failed = 1
        print(f"{row.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    machine = _machine(before)
    if given.json is not None:
        given.json.write_text(json.dumps(document(figures, machine, sizes), indent=2, ensure_ascii=False) + "\n")
    print("\n".join(table(figures)))
    print(f"\n{'; '.join(f'{key} {value}' for key, value in machine.items())}.")
    return failed


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="only see that everything can be measured")
    parser.add_argument("--rounds", type=int, help="rounds of each measurement (default: 9)")
    parser.add_argument("--scale", type=float, help="how many events, such as 0.1 for a tenth of the million")
    parser.add_argument("--only", action="append", metavar="ROW", choices=[row.name for row in ROWS])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results for programs into a file")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where the temporary folders are made")
    return parser.parse_args(argv)


def _machine(load_before: float) -> dict[str, object]:
    return {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
        "load before and after": f"{load_before:.1f}, {os.getloadavg()[0]:.1f}",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
