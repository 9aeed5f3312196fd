"""Keep an agent's words from moving anyone but the person whom they answer: no mention of others, no command to a bot.

An agent quotes what it has read, and the author of that may have wanted just this. So in what an agent says a name
after `@` notifies nobody but the one who is answered, and no line begins with `/command`, which bots and forges obey.
An image is fetched as soon as a person looks at the reply, and its address can carry what the agent has read to
the owner of the host: one of another host than the forge's is shown as text and a link. It is what readers see that
counts: `&#64;name` is a mention, and a name may go on after an entity or a tag. Plugins say what they mean: their words
are left alone.

Names in code notify nobody, and may be decorators: they stay. Where it is in doubt what is code, nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from prloom.core.text import rendered

_COMMAND = re.compile(r"[ \t]*(?=/[A-Za-z][\w-]*(?:[^\w/.-]|$))")
_HTML = re.compile(r"<[A-Za-z/!?]")
_MOST_PASSES = 5
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
    text = "".join(_without_command(line) for line in rendered.LINE.findall(text))
    for _ in range(_MOST_PASSES):
        muted = _muted(text, rendered.code_ranges(text), to=to, host=host)
        if muted == text:  # so what was left alone as code is code in what is posted, too
            return text
        text = muted
    return _muted(text, (), to=to, host=host)


def _muted(text: str, code: Sequence[tuple[int, int]], *, to: str | None, host: str | None) -> str:
    """Return the text with its mentions and images muted, but for those in its code."""
    ends = [0, *(end for _, end in code)]
    starts = [*(start for start, _ in code), len(text)]
    outside = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    # With HTML beside it, Markdown's rules of what is code are others.
    if any(_HTML.search(part) for part in outside):
        return _mute_part(text, to, host)
    parts = [_mute_part(outside[0], to, host)]
    for (start, end), part in zip(code, outside[1:], strict=True):
        parts += [text[start:end], _mute_part(part, to, host)]
    return "".join(parts)


def _mute_part(text: str, to: str | None, host: str | None) -> str:
    without_mentions = _MENTION.sub(lambda found: _mention(found, to), text)
    return _IMAGE.sub(lambda found: _image(found, host), without_mentions)


def _without_command(line: str) -> str:
    """Return the line with a backslash before its command, which Markdown does not show."""
    parts = [
        (part, _COMMAND.match(part)) for part in line.splitlines(keepends=True)
    ]  # at characters that bots may obey
    return "".join(f"{found[0]}\\{part[found.end() :]}" if found else part for part, found in parts)


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
