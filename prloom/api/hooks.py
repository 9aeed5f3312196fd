"""Find the hook point that a name means, and say what a name that means none comes to."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

from prloom.errors import ExtensionError
from prloom.model.hook_points import HOOKS

_FOLDED: Final = {name.lower(): name for name in HOOKS}
_WORD: Final = re.compile(r"[A-Z][a-z]+")


def canonical(name: str) -> str | None:
    """Return the hook point that a name means (`beforeTriage` or `before_triage`), or None."""
    if name in HOOKS:
        return name
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
    if camel in HOOKS:
        return camel
    return None


def nearest(name: str) -> str | None:
    """Return the known hook point that an unknown name most resembles, or None."""
    close = difflib.get_close_matches(_folded(name), _FOLDED, n=1, cutoff=0.5)
    if close:
        return _FOLDED[close[0]]
    return None


def unknown(where: str, names: Iterable[object]) -> tuple[str, ...]:
    """Return a warning for each name that is no hook point; `where` says where the names are written.

    Raises ExtensionError where a guard may be meant: nothing would call it, so all that it is to refuse would pass. A
    name that resembles no guard's may be a hook point of a later version.
    """
    warnings = []
    for name in names:
        if not isinstance(name, str):
            raise ExtensionError(
                f"{where}: {name!r} is not the name of a hook point; write a text, such as 'beforeTriage'"
            )
        if canonical(name) is not None:
            continue
        problem = f"{where}: no hook point is named {name!r}"
        guards = _guards_meant(name)
        if guards:
            meant = " or ".join(map(repr, guards))
            raise ExtensionError(f"{problem}, and a guard that is never called refuses nothing; did you mean {meant}?")
        close = nearest(name)
        if close is None:
            warnings.append(f"{problem}; docs/writing-a-plugin.md lists them")
        else:
            warnings.append(f"{problem}; did you mean {close!r}?")
    return tuple(warnings)


def _guards_meant(name: str) -> tuple[str, ...]:
    """Return the guard that an unknown name most resembles, or else those that guard what it names: `beforeTool`."""
    guards = [each for each, kind in HOOKS.items() if kind == "guard"]
    close, folded = nearest(name), _folded(name)
    if close in guards:
        return (close,)
    return tuple(each for each in guards if any(word.lower() in folded for word in _WORD.findall(each)))


def _folded(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
