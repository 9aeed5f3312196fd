"""Know as much of Markdown as it takes to find a plan's parts, and to keep text from outside from becoming one.

The rules are CommonMark's (https://spec.commonmark.org/0.31.2/). Nothing here uses an expression whose work could grow
faster than the text. What is escaped reads the same when it is rendered, and `unescaped` undoes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

COMMENT_END = "-->"

_CODE_INDENT = 4
_SHORTEST_FENCE = 3
FENCE_BEGINS = frozenset("`~<")
_DEEPEST_HEADING = 6
_LIST_BULLETS = frozenset("-*+")
_AFTER_NUMBER = frozenset(".)")
_MOST_DIGITS = 9
_GAPS = frozenset(("\t", *(" " * count for count in range(1, _CODE_INDENT + 1))))
"""What may stand between the bullet and the box: one more space would make it code."""
_BOX_MARKS = " xXbB-"
_BOXES = frozenset(f"[{mark}]" for mark in _BOX_MARKS)

_LINE_BREAKS = dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)])
# They turn the reading direction of what follows, so that a text looks like another than it is.
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_CLEAN: dict[int, str | None] = {**_CONTROLS, **_BIDI, **_LINE_BREAKS, ord("\n"): "\n", ord("\t"): "\t"}

_BULLETS = " \t>*+-.)0123456789"
_COMMENT_OPENS = re.compile(r"<(\\*)!--")
_COMMENT_CLOSES = re.compile(r"--(\\*)>")
_OPENS_ESCAPED = re.compile(r"<\\(\\*)!--")
_CLOSES_ESCAPED = re.compile(r"--\\(\\*)>")


def fence(line: str) -> str:
    """Return the mark that will end the block which this line opens; empty if it opens none.

    A fenced block of code ends with its fence, a comment of more than one line with `-->`.
    """
    body = line.lstrip(" ")
    if body[:1] not in FENCE_BEGINS or len(line) - len(body) >= _CODE_INDENT:
        return ""
    if body.startswith("<!--") and COMMENT_END not in body:
        return COMMENT_END
    for mark in ("`", "~"):
        rest = body.lstrip(mark)
        length = len(body) - len(rest)
        if length >= _SHORTEST_FENCE and not (mark == "`" and mark in rest):
            return mark * length
    return ""


def closes(line: str, mark: str) -> bool:
    """Whether the line ends the block that ends with this mark."""
    if mark == COMMENT_END:
        return mark in line
    body = line.strip()
    return body.startswith(mark) and not body.strip(mark[0]) and len(line) - len(line.lstrip(" ")) < _CODE_INDENT


def heading(line: str) -> tuple[int, str]:
    """Return a heading's level and text; level 0 if the line is none."""
    body = line.lstrip(" ")
    if body[:1] != "#":
        return 0, ""
    rest = body.lstrip("#")
    level = len(body) - len(rest)
    if not 1 <= level <= _DEEPEST_HEADING or len(line) - len(body) >= _CODE_INDENT or rest[:1] not in {"", " ", "\t"}:
        return 0, ""
    text = rest.strip()
    unclosed = text.rstrip("#")
    return level, unclosed.rstrip() if unclosed[-1:] in {"", " ", "\t"} else text


def checkbox(line: str) -> int | None:
    """Return where in the line of a `- [ ] ` item the mark between the brackets stands; None if it is no such item.

    An item may be numbered, as in `1. [ ] ` and `1) [ ] `, and indented as far as one likes.
    """
    body = line.lstrip(" \t")
    marker = _list_marker(body)
    box = body[marker:].lstrip(" \t")
    gap = body[marker : len(body) - len(box)]
    if not marker or gap not in _GAPS or box[:3] not in _BOXES or box[3:4] not in {"", " ", "\t"}:
        return None
    return len(line) - len(box) + 1


def indentation(line: str) -> int:
    """Return the column in which a line's text begins; a tab goes on to the next multiple of four."""
    column = 0
    for each in line:
        if each == "\t":
            column += _CODE_INDENT - column % _CODE_INDENT
        elif each == " ":
            column += 1
        else:
            break
    return column


def is_code(line: str) -> bool:
    """Whether a line that follows no paragraph is indented so far that it is code."""
    return indentation(line) >= _CODE_INDENT


def _list_marker(body: str) -> int:
    """Return the length of the bullet or the number that begins an item of a list; 0 if there is none."""
    if body[:1] in _LIST_BULLETS:
        return len(body[:1])
    start = body[: _MOST_DIGITS + 1]
    digits = len(start) - len(start.lstrip("0123456789"))
    if digits and start[digits : digits + 1] in _AFTER_NUMBER:
        return digits + len(".")
    return 0


def heading_text(text: str) -> str:
    """Return one line for use as a heading: hashes at its end would be taken for the heading's own."""
    body = text.rstrip("#")
    if body == text:
        return text
    return f"{body}\\{text[len(body) :]}"


def plain_heading(text: str) -> str:
    """Undo `heading_text`."""
    body = text.rstrip("#")
    if body != text and body.endswith("\\"):
        return body[:-1] + text[len(body) :]
    return text


def code(text: str) -> str:
    """Return one line as a span of code, whatever backquotes it holds."""
    ticks = "`"
    while ticks in text:
        ticks += "`"
    pad = ""
    if "`" in text:
        pad = " "
    return f"{ticks}{pad}{text}{pad}{ticks}"


def clean(text: str) -> tuple[str, ...]:
    """Return the text's lines without control characters, spaces at their ends, and empty lines around them."""
    valid = text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    return trimmed([line.rstrip() for line in valid.translate(_CLEAN).split("\n")])


def one_line(text: str) -> str:
    """Return the text as one line, with single spaces between its words."""
    return " ".join(" ".join(clean(text)).split())


def trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without the empty ones at the start and the end."""
    full = [number for number, line in enumerate(lines) if line]
    if full:
        return tuple(lines[full[0] : full[-1] + 1])
    return ()


def escaped(line: str) -> str:
    """Return a line that is neither heading, nor rule, nor checkbox, nor begins or ends a comment."""
    line = escaped_comments(line)
    body = line.lstrip()
    if _is_structure(body.lstrip("\\")):
        return f"{line[: len(line) - len(body)]}\\{body}"
    return line


def unescaped(line: str) -> str:
    """Undo `escaped`."""
    body = line.lstrip()
    if body.startswith("\\") and _is_structure(body.lstrip("\\")):
        line = line[: len(line) - len(body)] + body[1:]
    return unescaped_comments(line)


def escaped_comments(text: str) -> str:
    """Return the text with a backslash in all that begins or ends a comment; one more where there are some."""
    return _COMMENT_CLOSES.sub(r"--\\\1>", _COMMENT_OPENS.sub(r"<\\\1!--", text))


def unescaped_comments(text: str) -> str:
    """Undo `escaped_comments`."""
    if "\\" not in text:
        return text
    return _OPENS_ESCAPED.sub(r"<\1!--", _CLOSES_ESCAPED.sub(r"--\1>", text))


def _is_structure(body: str) -> bool:
    text = body.lstrip(_BULLETS)
    box = text[:1] == "[" and text[1:2] in _BOX_MARKS and text[2:3] == "]"
    rule = bool(body) and (not body.strip("=") or not body.strip("-"))
    return box or rule or body.startswith("#")
