"""Read JSON with comments and trailing commas, as some agent programs allow it in their settings."""

from __future__ import annotations

import json
import re
from typing import Final

from prloom.model.record import JsonObject

_STRING: Final = r'"(?:\\.|[^"\\])*+"'
_COMMENT: Final = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMA: Final = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)


def read(text: str) -> JsonObject:
    """Return the object that a text holds; an empty one where it holds none."""
    for ignored in (_COMMENT, _COMMA):
        text = ignored.sub(lambda found: found[1] or " ", text)
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if isinstance(found, dict):
        return found
    return {}
