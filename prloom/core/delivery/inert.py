"""Make text from outside inert Markdown: it reads the same, and does nothing beyond its own place.

No mention in it notifies, no command moves a bot, no image is fetched from another host, no HTML is rendered, no
marker of prloom's can be forged, and nothing that it leaves open reaches the text that follows. It closes no issue and
skips no check when the description that it is in becomes the message of a commit. Code keeps its look.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from prloom.core.delivery import reply_sanitizer
from prloom.core.text import bounds, forge_words, markdown, rendered

_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]{1,2000}>)")
_OWN_MARKER = "<!-- prloom:"
_SHOWN_MARKER = "<\\!-- prloom:"
_MOST_PASSES = 5


def line(text: str, *, longest: int = bounds.TITLE, host: str | None = None) -> str:
    """Return a text as a part of one line. Images are shown of the forge's `host` only."""
    return _inert(bounds.cut(forge_words.muted(markdown.one_line(text)).strip(), longest), host)


def paragraphs(text: str, *, longest: int, host: str | None = None, closes: bool = False) -> str:
    """Return a text of several lines; as a quotation, where something in it would not end with it.

    With `closes` it is a person's, who may mean `Closes #1`.
    """
    if not closes:
        text = forge_words.muted(text)
    lines = markdown.clean(bounds.cut(text, longest))
    found = _inert("\n".join(lines), host)
    if rendered.is_closed(found):
        return found
    return "\n".join(f"> {each}".rstrip() for each in found.split("\n"))


def _inert(text: str, host: str | None) -> str:
    return reply_sanitizer.sanitize(_without_html(text), to=None, host=host)


def _without_html(text: str) -> str:
    """Return the text with its tags as text. What is code is looked for again, since HTML may have hidden it."""
    text = text.replace(_OWN_MARKER, _SHOWN_MARKER)
    for _ in range(_MOST_PASSES):
        escaped = _escaped(text, rendered.code_ranges(text))
        if escaped == text:
            return text
        text = escaped
    return _escaped(text, ())


def _escaped(text: str, code: Sequence[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, end in code:
        parts += [_TAG.sub("&lt;", text[position:start]), text[start:end]]
        position = end
    return "".join([*parts, _TAG.sub("&lt;", text[position:])])
