"""Make the crash matrix: `make crash-matrix`, or `python tests/reliability/crash_matrix.py --help`."""

# ruff: noqa: E402 - the calls are to be watched before prloom is imported, which may keep them

from __future__ import annotations

import calls

calls.install()  # before anything of prloom's is imported

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence

import matrix
import memory
import traced
from matrix import Cell, Row

logging.lastResort = None


def main(argv: Sequence[str]) -> int:
    """Break what is asked for and print one JSON document; the exit code says whether anything went wrong."""
    given = _arguments(argv)
    memory.keep_temporary_files()
    begun = time.monotonic()
    if given.kind == "traced" and not traced.installed():
        return _report("traced", [], [], [], 0.0)
    outside = given.kind == "traced"
    try:
        found = traced.cells(given.story) if outside else matrix.cells(given.kind, given.story)
    except matrix.BrokenStoryError as error:
        return _report(given.kind, [], [], [str(error)], time.monotonic() - begun)
    found = matrix.only(found, given.story, given.protocol, given.fault)
    if given.each:
        found = matrix.sample(found, given.each, given.turn, of=given.of)
    part, parts = given.part
    found = found[part::parts]
    if given.list:
        return _report(given.kind, found, [Row(row, "", 0, 0) for row in sorted({cell.row for cell in found})], [], 0.0)
    breaking = traced.broken if outside else matrix.broken
    rows, wrong = matrix.run(found, breaking, jobs=given.jobs, stop=given.stop)
    return _report(given.kind, found, rows, wrong, time.monotonic() - begun)


def _report(kind: str, found: Sequence[Cell], rows: Sequence[Row], wrong: Sequence[str], seconds: float) -> int:
    print(json.dumps({"kind": kind, "cells": len(found), "rows": rows, "wrong": wrong, "seconds": round(seconds, 1)}))
    return 1 if wrong else 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "kind",
        choices=(*matrix.KINDS, "traced"),
        help="one fault, a second soon after, a power cut; or one under strace",
    )
    parser.add_argument("--story", action="append", default=[], help="only this story")
    parser.add_argument("--protocol", action="append", default=[], help="only this protocol")
    parser.add_argument("--fault", action="append", default=[], help="only this fault")
    parser.add_argument("--each", type=int, default=0, help="so many of each call and fault, evenly spread; 0: all")
    parser.add_argument("--of", choices=("call", "protocol"), default="call", help="with --each: of what so many")
    parser.add_argument("--turn", type=int, default=0, help="with --each: which of them; each number takes others")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="the I-th of N parts")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--list", action="store_true", help="break nothing, only say which calls there are")
    parser.add_argument("--stop", action="store_true", help="end with the first that goes wrong")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
