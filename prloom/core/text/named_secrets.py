"""Mask in a setting what its name says is a secret: `--token=…`, `PASSWORD=…`, `X-Api-Key: …`.

Only settings are looked through so: in what people write, "token: see the documents" is no secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from prloom.core.text import secret_scan
from prloom.core.text.secret_scan import MASK
from prloom.model import secret_names

_NAME: Final = re.compile(
    r"(?P<name>--?[A-Za-z][\w.-]{0,80}(?=[\s=:\"'])|(?<![\w-])[A-Za-z_][\w.-]{0,80})[\"']?"
    r"(?P<between>\s{0,3}[=:]\s{0,3}|\s{1,3})[\"']?(?:(?:Bearer|Basic|Token)\s{1,3})?",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(r"[^\s\"'&;,|]{1,2000}")
_HEADER: Final = "AUTHORIZATION"
_ELSEWHERE: Final = re.compile(r".*[_.-](?:ENV|FILE|PATH|DIR)", re.IGNORECASE | re.DOTALL)
"""The name of a setting that says where a secret is."""
_NO_SECRET: Final = re.compile(r"[/~.$<{%(].*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[\d.]+|\*+", re.DOTALL)
"""A path, what is filled in later, the name of a variable, a number."""
_SHORTEST: Final = 6
_SHORTEST_APART: Final = 12
"""Characters of a secret after `=` or an option, and after what may stand between words of a text as well."""


def masked(value: object, key: str = "") -> object:
    """Return a value of the configuration with a mask in place of the secrets in its texts; `key` is its own name."""
    match value:
        case str() if key and _is_secret(key) and _may_be_secret(value, _SHORTEST):
            return MASK
        case str():
            return secret_scan.masked(_with_masks(value))
        case list() | tuple():
            return _masked_words(list(value), key)
        case Mapping():
            return {name: masked(each, str(name)) for name, each in value.items()}
    return value


def _masked_words(words: list[object], key: str) -> list[object]:
    """Return the words of a list, such as a command line, in which the name of a secret may stand before it."""
    found: list[object] = []
    option = ""
    for word in words:
        name = key
        if option and isinstance(word, str) and not word.startswith("-"):
            name = option
        found.append(masked(word, name))
        option = ""
        if isinstance(word, str) and word.startswith("-") and "=" not in word:
            option = word
    return found


def _with_masks(text: str) -> str:
    parts, end = [], 0
    for found in _NAME.finditer(text):
        value = _VALUE.match(text, found.end())
        if value is not None and found.start() >= end and _names_secret(found["name"], found["between"], value[0]):
            parts += [text[end : found.end()], MASK]
            end = value.end()
    return "".join([*parts, text[end:]])


def _names_secret(name: str, between: str, value: str) -> bool:
    if not between.strip() and not name.startswith("-"):
        return False
    shortest = _SHORTEST_APART
    if "=" in between or name.startswith("-"):
        shortest = _SHORTEST
    return _is_secret(name) and _may_be_secret(value, shortest)


def _is_secret(name: str) -> bool:
    if _ELSEWHERE.fullmatch(name) is not None:
        return False
    return name.upper() == _HEADER or secret_names.is_secret_variable(name)


def _may_be_secret(value: str, shortest: int) -> bool:
    return len(value) >= shortest and _NO_SECRET.fullmatch(value) is None
