"""Places in a journal that survive its rotation."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """Where a line stands: the segment's number, from 1, and the offset in bytes. A JSON array of two numbers."""

    segment: int
    offset: int


class Cursor(NamedTuple):
    """How far a reader has come; a JSON array of three numbers that outlives the process.

    `late` is how far it came in the segment before this one: a program that opened the file before a rotation may
    still append its line there, and that line is read too.
    """

    segment: int = 1
    offset: int = 0
    late: int = 0


START = Cursor()
