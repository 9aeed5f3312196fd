"""Path templates, as the description writes them, and which one a path is of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from urllib.parse import unquote

LONG = {"ref", "branch", "basehead"}
"""Parameters that may contain slashes."""


@cache
def pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    text = "".join(
        f"(?P<{part}>{'.+' if part in LONG else '[^/]+'})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    return re.compile(text)


def find(path: str, templates: Iterable[str]) -> tuple[str, Mapping[str, str]] | None:
    """Return the template that says most about the path, and what its parameters are; None: there is none."""
    matches = [(template, match) for template in templates if (match := pattern(template).fullmatch(path))]
    matches = [(template, match) for template, match in matches if numbers_are_numbers(match.groupdict())]
    if not matches:
        return None
    template, match = min(matches, key=lambda found: (len(found[1].groupdict()), -len(found[0])))
    return template, {name: unquote(text) for name, text in match.groupdict().items()}


def numbers_are_numbers(params: Mapping[str, str]) -> bool:
    return all(text.isdigit() for name, text in params.items() if name.endswith(("_id", "_number")))
