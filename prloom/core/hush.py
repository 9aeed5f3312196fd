"""Keep an agent's words from moving anybody but the one whom they answer: no mention of others, no command to a bot.

An agent quotes what it has read, and whoever wrote that may have wanted just this. So in what an agent says a name
after `@` notifies nobody but the one who is answered, and no line begins with `/command`, which bots and forges obey.
Plugins say what they mean: their words are left alone.

Names in code notify nobody, and decorators stand there: they stay. Where it is in doubt what is code, nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_COMMAND = re.compile(r"[ \t]*(?=/[A-Za-z][\w-]*(?:[^\w/.-]|$))")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HTML = re.compile(r"<[A-Za-z/!?]")
_MENTION = re.compile(r"https?://\S+|(?<!\w)@([\w-]+(?:/[\w.-]+)?)")
_NOTHING = "\u200b"  # has no width, and ends a name before it begins


def hush(text: str, *, to: str | None) -> str:
    """Return the text as it reads, without its effects; `to` is the login of the one who is answered."""
    lines = [_without_command(line) for line in _LINE.findall(text)]
    if _HTML.search(text):  # in it Markdown's rules of what is code are others
        return "".join(_without_mentions(line, to) for line in lines)
    return "".join(block if code else _without_mentions_in(block, to) for block, code in _blocks(lines))


def _without_command(line: str) -> str:
    """Return the line with a backslash before its command, which Markdown does not show."""
    parts = [
        (part, _COMMAND.match(part)) for part in line.splitlines(keepends=True)
    ]  # at characters that bots may obey
    return "".join(f"{found[0]}\\{part[found.end() :]}" if found else part for part, found in parts)


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Take the lines apart into blocks of code between fences, their fences included, and what is between those."""
    fence = ""
    marked = []
    for line in lines:
        found = _FENCE.match(line)
        mark = found[1] if found else ""
        marked.append((line, bool(fence or mark)))
        if not fence:
            fence = mark
        elif mark.startswith(fence) and not line.strip().strip(mark[0]):
            fence = ""
    for code, group in groupby(marked, key=lambda each: each[1]):
        yield "".join(line for line, _ in group), code


def _without_mentions_in(block: str, to: str | None) -> str:
    """Return what is between blocks of code without mentions, a paragraph at a time."""
    found: list[str] = []
    for _, group in groupby(_LINE.findall(block), key=lambda line: not line.strip()):
        lines = list(group)
        parts = [_parts(line) for line in lines]
        if None in parts or any("\\`" in line for line in lines):  # a span may go on in the next line, or be none
            found += [_without_mentions(line, to) for line in lines]
        else:
            said = (each for line in parts for each in line or ())
            found += [part if code else _without_mentions(part, to) for part, code in said]
    return "".join(found)


def _parts(line: str) -> Sequence[tuple[str, bool]] | None:
    """Take a line apart: each part, and whether it is code between equal runs of backticks; None where one is alone."""
    pieces = re.split(r"(`+)", line)
    closing: dict[int, int] = {}
    ends: dict[str, int] = {}
    for place in range(len(pieces) - 2, 0, -2):
        if pieces[place] in ends:
            closing[place] = ends[pieces[place]]
        ends[pieces[place]] = place
    parts = []
    place = 0
    while place < len(pieces):
        end = closing.get(place, place)
        if place % 2 and end == place:
            return None
        parts.append(("".join(pieces[place : end + 1]), end > place))
        place = end + 1
    return parts


def _without_mentions(text: str, to: str | None) -> str:
    return _MENTION.sub(lambda found: _mention(found, to), text)


def _mention(found: re.Match[str], to: str | None) -> str:
    name: str | None = found[1]
    if name is None or (to is not None and name.rstrip("-").casefold() == to.casefold()):
        return found[0]
    return f"@{_NOTHING}{name}"
