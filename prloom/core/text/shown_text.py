"""Show text from outside as it is: what a screen would obey or hide is written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

# Control characters, format characters (bidirectional overrides, zero width, tags), surrogates, line separators.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks that show nothing: fillers and selectors, with which text can be smuggled past a reader.
_BLANK = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0, *range(0xE0100, 0xE01F0)},
)

JOINERS: Final = "\u200c\u200d"
"""Two format characters that are spelling: Persian, Hindi, Malayalam and emoji are written with them."""
# They join or part what stands before them, a letter or sign of such a script; elsewhere, and in a row, they only hide.
# U+FFFD stands for what was hidden.
_HIDING_JOINER: Final = re.compile(f"(?<![\u0300-\u200b\u200e-\ufffc\U00010000-\U0010ffff])[{JOINERS}]")

_MOST_MARKS = 6
"""How many combining marks a letter may have: Burmese and pointed Hebrew need as many, more cover other lines."""
_MARK_CATEGORIES = frozenset({"Mn", "Me"})


class _Shown(dict[int, str]):
    """What each character is shown as; filled in as characters are met."""

    def __missing__(self, code: int) -> str:
        if _is_hidden(code):
            self[code] = _escape(code)
        else:
            self[code] = chr(code)
        return self[code]


_KEPT = {ord(joiner): joiner for joiner in JOINERS}
_SHOWN_IN_LINE = _Shown(_KEPT | {ord("\n"): " ", ord("\t"): " "})
_SHOWN_IN_BLOCK = _Shown(_KEPT | {ord("\n"): "\n", ord("\t"): "    "})


def clean(text: str) -> str:
    r"""Return text from outside on one line, with what a terminal would obey or hide shown as `\x1b` and the like.

    So are combining marks after the first few of a letter, which would be painted over other lines, and those of none.
    """
    return _shown(text, _SHOWN_IN_LINE)


def clean_block(text: str, *, prefix: str = "") -> str:
    """Return text from outside with its lines kept, else as `clean` does.

    A prefix before each line shows where the text begins and ends, so that it cannot pass for prloom's own words.
    """
    return "\n".join(f"{prefix}{line}".rstrip() for line in _shown(text, _SHOWN_IN_BLOCK).split("\n"))


Word: TypeAlias = str | tuple[str, ...]
"""A word of a command; or an option of it with its value, as a tuple. An empty tuple is no word."""


def to_run(*words: Word) -> str:
    """Return a command to copy, between backquotes; see `command`."""
    return f"`{command(*words)}`"


def any_to_run(commands: Sequence[Sequence[Word]], most: int = 5) -> str:
    """Return commands of which a person is to choose one, the first of them, and how many more there are."""
    shown = ", ".join(to_run(*words) for words in commands[:most])
    if len(commands) > most:
        return f"{shown}, or for one of {len(commands) - most} more plans"
    return shown


def command(*words: Word) -> str:
    """Return a command to copy: each name from outside is one quoted word in it, whatever it holds.

    Where a name begins with `-`, the options come before the names, and `--` before that name.
    """
    names = [word for word in words if isinstance(word, str)]
    first = next((number for number, name in enumerate(names) if name.startswith("-")), None)
    if first is not None:
        options = [word for word in words if not isinstance(word, str)]
        words = (*names[:first], *options, "--", *names[first:])
    return " ".join(["prloom", *map(_shell_word, _flat(words))])


def option(name: str, value: str) -> tuple[str, ...]:
    """Return an option with its value as one word of a command; no word where there is no value."""
    if value:
        return (name, value)
    return ()


def _flat(words: Iterable[Word]) -> Iterator[str]:
    for word in words:
        if isinstance(word, str):
            yield word
        else:
            yield from word


def _shell_word(text: str) -> str:
    r"""Return a text as a word that a shell reads as that text, and that looks the same on a terminal.

    What would be hidden is written as bytes in `$'\x1b'`, which bash, zsh and ksh know; without a quote or a backslash
    in it, that is also one word to `shlex`.
    """
    from shlex import quote  # noqa: PLC0415 - only where something is to be done

    if clean(text) == text:
        return quote(text)
    return f"$'{''.join(map(_in_shell_quotes, text))}'"


def _in_shell_quotes(char: str) -> str:
    if char not in "'\\" and clean(char) == char:
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def without_hiding_joiners(text: str, escape: Callable[[str], str]) -> str:
    """Return the text with those joiners escaped that are no spelling; what stands before them has to be visible."""
    return _HIDING_JOINER.sub(lambda found: escape(found[0]), text)


def _shown(text: str, table: _Shown) -> str:
    shown = _with_few_marks(_with_plain_newlines(text)).translate(table)
    return without_hiding_joiners(shown, lambda joiner: _escape(ord(joiner)))


def _with_plain_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_few_marks(text: str) -> str:
    if text.isascii():
        return text
    from unicodedata import category  # noqa: PLC0415 - most text is ASCII

    marks = {char for char in set(text) if category(char) in _MARK_CATEGORIES}
    if not marks:
        return text
    parts, count = [], _MOST_MARKS
    for char in text:
        if char == "\n":
            count = _MOST_MARKS
        elif char in JOINERS:
            pass  # it shows nothing: marks after it are painted over the same letter
        elif char not in marks:
            count = 0
        elif count < _MOST_MARKS:
            count += 1
        else:
            parts.append(_escape(ord(char)))
            continue
        parts.append(char)
    return "".join(parts)


def _is_hidden(code: int) -> bool:
    if chr(code).isprintable():
        return code in _BLANK
    from unicodedata import category  # noqa: PLC0415 - only for what is not printable anyway

    return category(chr(code)) in _HIDDEN_CATEGORIES


def _escape(code: int) -> str:
    if code <= 0xFF:  # noqa: PLR2004 - the last code that \x can spell
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - likewise \u
