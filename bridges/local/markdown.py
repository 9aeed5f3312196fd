"""Know of Markdown what it takes to find tasks and headings, line by line.

The rules are CommonMark's (https://spec.commonmark.org/0.31.2/). No expression repeats a repetition, so the work grows
with the line and no faster.
"""

from __future__ import annotations

import re

COMMENT_END = "-->"
TAB = 4
"""Columns; also where an indented line is code, and how far a task's text may be from its bullet."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_QUOTE = re.compile(r"[ \t]*>[ \t]?(.*)")
_STRUCTURE = re.compile(
    r"[ \t]*(?:#{1,6}(?:[ \t]|$)|[-*+](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$)|>|<!--|```|~~~|---|\*\*\*|___|===)"
)


def split(text: str) -> tuple[str, ...]:
    """Return the text's lines with their ends, which are those of Markdown and no others."""
    return tuple(_LINE.findall(text))


def indent(line: str) -> int:
    """Return how many columns the line is indented."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(TAB))


def quoted(line: str) -> str | None:
    """Return what a line of a quotation says, or None if it is none."""
    match = _QUOTE.fullmatch(line)
    if match:
        return match[1]
    return None


def is_structure(line: str) -> bool:
    """Whether the line begins something new, and so does not go on with the paragraph before it."""
    return _STRUCTURE.match(line) is not None


def heading(line: str, following: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading, which the line after it may underline; None if it is none."""
    match = _ATX.fullmatch(line)
    if match is not None:
        title = match[2].strip()
        bare = title.rstrip("#")
        return len(match[1]), bare.rstrip() if bare[-1:] in {"", " ", "\t"} else title
    under = _UNDERLINE.fullmatch(following)
    if under is None or not line.strip() or indent(line) >= TAB or is_structure(line):
        return None
    return (1 if under[1].startswith("=") else 2), line.strip()


def opens(line: str) -> str:
    """Return what will end the block that the line opens, of code or a comment of several lines; empty if none."""
    text = line.lstrip(" \t")
    if text.startswith("<!--"):
        if COMMENT_END in text[2:]:
            return ""
        return COMMENT_END
    match = _FENCE.fullmatch(line)
    if match is None or (match[1].startswith("`") and "`" in match[2]):
        return ""
    return match[1]


def closes(line: str, until: str) -> bool:
    """Whether the line ends the block that lasts until this."""
    if until == COMMENT_END:
        return until in line
    text = line.strip(" \t")
    return text.startswith(until) and not text.strip(until[0])
