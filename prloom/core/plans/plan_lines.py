"""Insert lines into the text of a plan, with its own line ends, and without a change to any other byte."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core.plans.plan_reader import INDENT, Reader
from prloom.core.text import markdown

_APART = "<!-- -->"
"""Ends a list in Markdown: what is indented below an item would belong to the item."""


def with_lines(text: str, lines: Sequence[str], at: int, new: Sequence[str]) -> str:
    """Return the lines of the text with new ones before this place."""
    cr = ""
    if "\r\n" in text:
        cr = "\r"
    before, after = list(lines[:at]), lines[at:]
    added = [line + cr for line in new]
    if cr and at and not after:
        before[-1] = before[-1].removesuffix(cr) + cr
        added[-1] = added[-1].removesuffix(cr)
    return "\n".join([*before, *added, *after])


def at_end_of_section(text: str, end: int, block: Sequence[str], *, joined: bool) -> str:
    """Return the text with a block where a section ends; it goes on with what stands there only if `joined`."""
    if joined:
        return _insert(text, end, block)
    return _insert(text, end, ["", *block])


def as_section(text: str, reader: Reader, heading: str, block: Sequence[str]) -> str:
    """Return the text with a new section at its end, but never in a block that nobody closes."""
    lines = text.split("\n")
    at = len(lines)
    if reader.fence:
        at = reader.opened
    while at > reader.start and not lines[at - 1].strip():
        at -= 1
    if at > reader.start:
        return _insert(text, at, ["", heading, "", *block])
    return _insert(text, at, [heading, "", *block])


def _insert(text: str, at: int, block: Sequence[str]) -> str:
    lines = text.split("\n")
    new = list(block)
    follows = next((line for line in lines[at:] if line.strip()), "")
    if markdown.indentation(follows) >= len(INDENT):
        new.append(_APART)
    if at == len(lines) or lines[at].strip():
        new.append("")
    return with_lines(text, lines, at, new)
