"""Recognize the first line of an item, also where other signs stand in the place of spaces and of the hyphen."""

from __future__ import annotations

import re

# What is typed or pasted in the place of a space and a hyphen, and looks the same.
_OTHER_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"
_SPACE = rf"[ \t{_OTHER_SPACES}]"
_BULLET = r"[-*+\u2010-\u2015\u2212]|[0-9]{1,9}[.)]"
_ITEM = re.compile(
    rf"(?P<before>[ \t]*)(?P<bullet>{_BULLET})(?P<gap>{_SPACE}+)"
    rf"\[(?P<mark>[ xX{_OTHER_SPACES}])\](?:{_SPACE}(?P<text>.*))?"
)
_ITEM_TEXT = re.compile(
    rf"(?:{_BULLET}|[\u2022\u2023\u2043\u25e6\u25aa\u00b7])?{_SPACE}*"
    rf"(?:[\[\uff3b]{_SPACE}*[\]\uff3d]|[\u2610\u25a1])(?![(\[:]).*\w.*"
)
_LEADING = re.compile(rf"[ \t{_OTHER_SPACES}{_INVISIBLE}]*")


def match(line: str) -> re.Match[str] | None:
    """Return the parts of the first line of an item: before, bullet, gap, mark and text; None for another line."""
    return _ITEM.fullmatch(line)


def plain(line: str) -> str:
    """Return the first line of an item without what is invisible before its bullet, and indented by spaces."""
    leading, end = _LEADING.match(line), 0
    if leading:
        end = leading.end()
    plainer = "".join(_as_space(sign) for sign in line[:end]) + line[end:]
    if _ITEM.fullmatch(plainer):
        return plainer
    return line


def _as_space(sign: str) -> str:
    if sign == "\t":
        return sign
    if sign.isspace():
        return " "
    return ""


def looks_like_item(line: str) -> bool:
    """Whether a person may have meant the line as an unchecked item."""
    return _ITEM_TEXT.fullmatch(_LEADING.sub("", line.strip(), count=1)) is not None
