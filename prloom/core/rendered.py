"""Read a Markdown text as people see it once a forge has rendered it: without markup, comments and entities."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 1 << 17
"""Characters that are rendered at most: twice as many as a comment on a forge may have."""

_MARKUP = frozenset("&<[\\*_`~%")
_MOST_LAYERS = 3


def readings(source: str) -> tuple[str, ...]:
    """Return what a text says: as written, with its entities resolved, as an address says it, and as it is seen."""
    if _MARKUP.isdisjoint(source):
        return (source,)
    resolved = _resolved(source)
    # An address need not be in a link of Markdown's: one in HTML, or alone, is followed as well.
    seen = "".join(_visible(source[:LONGEST]))
    return tuple(dict.fromkeys((source, resolved, unquote(resolved), seen)))


def _resolved(source: str) -> str:
    """Return the text with its entities resolved, those of entities too."""
    for _ in range(_MOST_LAYERS):
        text = html.unescape(source)
        if text == source:
            break
        source = text
    return source


def _visible(source: str) -> Iterator[str]:
    parser = _parser()
    for token in parser.parse(source):
        if token.type == "inline":
            yield from _inline(token.children or ())
        elif token.type == "html_block":  # the rules of what is a tag are those of a line
            for each in parser.parseInline(token.content):
                yield from _inline(each.children or ())
        else:
            yield token.content
        yield "\n"


def _inline(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield what is seen of a line, and after it the addresses in it, in which anything may be written as well."""
    addresses = []
    for token in tokens:
        address = token.attrGet("href") or token.attrGet("src")
        if address is not None:
            addresses += [f"\n{address}", f"\n{unquote(str(address))}"]
        if token.children:
            yield from _inline(token.children)
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif token.type != "html_inline":
            yield token.content
    yield from addresses


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only what is about to be posted needs it

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])
