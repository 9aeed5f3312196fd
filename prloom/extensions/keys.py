"""Name plugins: the keys in the configuration, and the slugs under which Python loads them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_RESERVED = frozenset({"prloom"})  # the owner of what prloom itself does, in logs and in deferrals

PACKAGE = "prloom_plugins"
"""The package, found nowhere on disk, in which plugins are loaded."""


def problem(name: str) -> str | None:
    """Return what is wrong with a plugin's name (one part of a key), or None."""
    if name in _RESERVED:
        return f"the name {name!r} is reserved for prloom; choose another"
    if _PART.fullmatch(name) is None:
        return f"the name {name!r} cannot be used; it is made of letters, digits, '-' and '_', at most 64 of them"
    return None


def slug(key: str) -> str:
    """Return the key as a part of a module's name; two keys may have the same."""
    return key.replace("/", "__").replace("-", "_")


def module_name(key: str) -> str:
    """Return the name of the module as which a plugin is loaded."""
    return f"{PACKAGE}.{slug(key)}"


def resolve(name: str, keys: Iterable[str]) -> str | None:
    """Return the key that a name in the configuration means: the same, or the only one that differs in `-` and `_`."""
    known = set(keys)
    if name in known:
        return name
    alike = [key for key in known if slug(key) == slug(name)]
    if len(alike) == 1:
        return alike[0]
    return None


def nearest(name: str, keys: Iterable[str]) -> str | None:
    """Return the key that was probably meant, or None."""
    import difflib  # noqa: PLC0415 - only a mistake costs it

    close = difflib.get_close_matches(name, sorted(set(keys)), n=1, cutoff=0.6)
    if close:
        return close[0]
    return None
