"""Find the hook point that a name means."""

from __future__ import annotations

import difflib
import re

from prloom.model.hook_points import HOOKS


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
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
    close = difflib.get_close_matches(camel, HOOKS, n=1, cutoff=0.5)
    if close:
        return close[0]
    return None
