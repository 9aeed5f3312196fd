"""Parse a Markdown text as a forge does: what people see of it once it is rendered, and where code is in it."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LONGEST_COMMENT = 1 << 16
"""Characters that a comment on a forge may have; in a longer text no code is looked for."""

LONGEST = 2 * LONGEST_COMMENT
"""Characters that are rendered at most."""

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line of Markdown with its end."""

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


def is_closed(source: str) -> bool:
    """Whether what follows the text after an empty line is no part of anything in it, such as a block of code."""
    if len(source) > LONGEST:
        return False
    tokens = _parser().parse(f"{source}\n\n# end")
    return [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"] and not tokens[-1].level


def code_ranges(source: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a text that are code: fenced blocks with their fences, and spans between backticks.

    They are in order. Where it is in doubt whether a forge takes something for code, it is left out.
    """
    if len(source) > LONGEST_COMMENT or not ("`" in source or "~~~" in source):
        return ()
    lines = LINE.findall(source)
    starts = [0, *accumulate(map(len, lines))]
    found: list[tuple[int, int]] = []
    for token in _locating_parser().parse(source):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "fence":
            found.append((starts[first], starts[min(end, len(lines))]))
        elif token.type == "inline":
            found += _located(token, lines[first:end], starts[first:end])
    return tuple(found)


def _located(token: Token, lines: Sequence[str], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the spans of code in a paragraph, a heading or a cell, whose lines these are."""
    spans = [child.meta["span"] for child in token.children or () if child.type == "code_inline"]
    if any(_is_in_address(token.content, start) for start, _ in spans):
        return  # forges make a link of an address, and may take a backtick for a part of it
    contents = token.content.split("\n")
    ends = list(accumulate(len(content) + 1 for content in contents))
    for start, end in spans:
        first, last = bisect_right(ends, start), bisect_left(ends, end)
        columns = _column(lines, contents, first), _column(lines, contents, last)
        if columns[0] is not None and columns[1] is not None:
            begins = starts[first] + columns[0] + start - (ends[first] - len(contents[first]) - 1)
            stops = starts[last] + columns[1] + end - (ends[last] - len(contents[last]) - 1)
            yield begins, stops


def _is_in_address(content: str, start: int) -> bool:
    """Whether what begins here may belong to a web address, which goes on until a space."""
    word = content[max(content.rfind(space, 0, start) for space in " \n\t") + 1 : start]
    return "://" in word or "www." in word.lower()


def _column(lines: Sequence[str], contents: Sequence[str], number: int) -> int | None:
    """Return where in its line a line of a block's content begins; None where that is not certain."""
    if number >= len(lines):
        return None
    line, content = lines[number].rstrip(), contents[number].rstrip()
    if line.endswith(content):
        return len(line) - len(content)
    if line.count(content) == 1:
        return line.index(content)
    return None


@cache
def _locating_parser() -> MarkdownIt:
    """Return a parser that notes where in the content of its block each span of code is."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only what is about to be posted needs it
    from markdown_it.rules_inline import backtick  # noqa: PLC0415 - likewise

    def located_backtick(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
        start, before = state.pos, len(state.tokens)
        matched = backtick(state, silent)
        if len(state.tokens) > before:
            state.tokens[-1].meta = {"span": (start, state.pos)}
        return matched

    parser = MarkdownIt("commonmark").enable("table")
    parser.inline.ruler.at("backticks", located_backtick)
    return parser
