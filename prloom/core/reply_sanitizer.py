"""Keep an agent's words from moving anybody but the one whom they answer: no mention of others, no command to a bot.

An agent quotes what it has read, and whoever wrote that may have wanted just this. So in what an agent says a name
after `@` notifies nobody but the one who is answered, and no line begins with `/command`, which bots and forges obey.
An image is fetched as soon as somebody looks at the reply, and its address can carry what the agent has read to
whoever owns the host: one of another host than the forge's is shown as text and a link. It is what readers see that
counts: `&#64;name` is a mention, and a name may go on after an entity or a tag. Plugins say what they mean: their words
are left alone.

Names in code notify nobody, and decorators stand there: they stay. Where it is in doubt what is code, nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_COMMAND = re.compile(r"[ \t]*(?=/[A-Za-z][\w-]*(?:[^\w/.-]|$))")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})")
_FENCE_WITHIN = re.compile(r"[ \t>*+\-\d.)]+(?:`{3}|~{3})")  # a list or a quote, which may end the code too
_HTML = re.compile(r"<[A-Za-z/!?]")
_NOTHING = "\u200b"  # has no width, and ends a name, or what would begin an image, before it begins
# Of an address only what Markdown cannot end it at: what follows a bracket, a bar or a backtick is a text of its own.
_ADDRESS = (
    r"(?<![A-Za-z])https?://[A-Za-z0-9.-]+\.[A-Za-z0-9]+(?::\d+)?/(?:(?!&#|&[A-Za-z]{2,31};)[\w.~:/?#@!$&+,;=%-])*"
)
_AT = r"(?:@|&#(?:0*64|[xX]0*40)(?:;|(?!;))|&commat;)"
# In HTML an entity needs no semicolon, so `&amp@name` is a mention, where `p@name` is a part of an address.
_MENTION = re.compile(
    rf"{_ADDRESS}|(?P<before>&[A-Za-z0-9]{{2,31}}(?=@)|(?<![A-Za-z0-9]))(?P<at>{_AT})(?=[^\s{_NOTHING}])"
    r"(?P<name>[\w-]+(?:/[\w.-]+)?)?(?=(?P<more>[&<\\]?))"
)
_IMAGE = re.compile(
    r"!\[[^\[\]\n<>]{0,300}\]\(https://(?P<host>[A-Za-z0-9.-]{1,253})/[\w./?=%~-]{0,500}\)|!(?=\[)"
    r"|<(?=/?(?:img|image|picture|source|video|audio|track|svg|object|embed|iframe|input|link|style)\b)",
    re.IGNORECASE,
)


def sanitize(text: str, *, to: str | None, host: str | None = None) -> str:
    """Return the text as it reads, without its effects.

    `to` is the login of the one who is answered, `host` the forge's, of which images are shown.
    """
    quiet = partial(_quiet, to=to, host=host)
    lines = [_without_command(line) for line in _LINE.findall(text)]
    blocks = _blocks(lines)
    # With HTML beside it, Markdown's rules of what is code are others.
    if blocks is None or any(_HTML.search(block) for block, code in blocks if not code):
        return "".join(quiet(line) for line in lines)
    return "".join(block if code else _quiet_paragraphs(block, quiet) for block, code in blocks)


def _quiet(text: str, *, to: str | None, host: str | None) -> str:
    mute = _MENTION.sub(lambda found: _mention(found, to), text)
    return _IMAGE.sub(lambda found: _image(found, host), mute)


def _without_command(line: str) -> str:
    """Return the line with a backslash before its command, which Markdown does not show."""
    parts = [
        (part, _COMMAND.match(part)) for part in line.splitlines(keepends=True)
    ]  # at characters that bots may obey
    return "".join(f"{found[0]}\\{part[found.end() :]}" if found else part for part, found in parts)


def _blocks(lines: Iterable[str]) -> Sequence[tuple[str, bool]] | None:
    """Take the lines apart into blocks of code between fences, their fences included, and what is between those.

    None where a fence stands in a list or a quote: the code then ends where that does.
    """
    fence = ""
    marked = []
    for line in lines:
        if not fence and _FENCE_WITHIN.match(line):
            return None
        found = _FENCE.match(line)
        mark = ""
        if found:
            mark = found["mark"]
        marked.append((line, bool(fence or mark)))
        if not fence:
            fence = mark
        elif mark.startswith(fence) and not line.strip().strip(mark[0]):
            fence = ""
    return [("".join(line for line, _ in group), code) for code, group in groupby(marked, key=lambda each: each[1])]


def _quiet_paragraphs(block: str, quiet: Callable[[str], str]) -> str:
    """Return what is between blocks of code without its effects, a paragraph at a time."""
    found: list[str] = []
    for _, group in groupby(_LINE.findall(block), key=lambda line: not line.strip()):
        lines = list(group)
        parts = [_parts(line) for line in lines]
        if None in parts or any("\\`" in line for line in lines):  # a span may go on in the next line, or be none
            found += [quiet(line) for line in lines]
        else:
            said = (each for line in parts for each in line or ())
            found += [part if code else quiet(part) for part, code in said]
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


def _mention(found: re.Match[str], to: str | None) -> str:
    if found["at"] is None:  # a web address
        return found[0]
    name = found["name"] or ""
    answered = to is not None and name.rstrip("-").casefold() == to.casefold()
    if answered and found["at"] == "@" and not found["more"]:
        return found[0]
    return f"{found['before']}{found['at']}{_NOTHING}{name}"


def _image(found: re.Match[str], host: str | None) -> str:
    shown = found["host"]
    if shown is not None and host is not None and shown.casefold() == host.casefold():
        return found[0]
    return f"{found[0][0]}{_NOTHING}{found[0][1:]}"
