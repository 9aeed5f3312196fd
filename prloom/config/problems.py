"""Say what is wrong with a configuration: one line a problem, with its place and its remedy."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_SHOWN = 60


class InvalidValue(ValueError):  # noqa: N818 - a finding that becomes a Problem, never an error of its own
    """A value cannot be used: what it is, said so that it follows the key, and what to do now."""

    def __init__(self, what: str, now: str) -> None:
        super().__init__(f"{what}; {now}")
        self.what = what
        self.now = now


class Problem(Struct, frozen=True):
    """One thing wrong: where it was said (a file, a variable, a flag), at which key, what it is, and what to do."""

    origin: str
    key: str
    what: str
    now: str

    def line(self) -> str:
        """Return the problem as one line for people."""
        return f"{self.origin}: {self.what}; {self.now}"


def dotted(path: Iterable[str | int]) -> str:
    """Return a key's path as TOML spells it, quoting what is not a bare key."""
    import json  # noqa: PLC0415 - only a mistake costs it

    spelled = ""
    for part in path:
        if isinstance(part, int):
            spelled += f"[{part}]"
        else:
            if _BARE_KEY.fullmatch(part):
                name = part
            else:
                name = json.dumps(part)
            if spelled:
                spelled += f".{name}"
            else:
                spelled += name
    return spelled


def quoted(value: object) -> str:
    """Return a value as it may stand in an error: on one line and not too long."""
    import json  # noqa: PLC0415 - only a mistake costs it

    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return text[: _LONGEST_SHOWN - 1] + "…"


def nearest(word: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the candidate that was probably meant, or None."""
    from difflib import get_close_matches  # noqa: PLC0415 - 3 ms that only a mistake costs

    folded = {_fold(candidate): candidate for candidate in candidates}
    close = get_close_matches(_fold(word), folded, n=1, cutoff=cutoff)
    if close:
        return folded[close[0]]
    return None


def choices(names: Sequence[str]) -> str:
    """Return the allowed names as a phrase: `one of a, b, c`."""
    if len(names) == 1:
        return names[0]
    return f"one of {', '.join(names)}"


def _fold(word: str) -> str:
    return word.lower().replace("-", "_")
