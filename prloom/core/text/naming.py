"""Make safe names of what comes from outside: branches, pull requests, remotes, commits, ids that a person types."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from itertools import chain, count

from prloom.errors import PrloomError
from prloom.model.record import Json

LONGEST = 64
"""The longest id of a plan, in characters; it is the name of a folder and stands in file names."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_DIGEST = 8
_PLAN_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9_-])?")
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_DOTS = re.compile(r"\.\.+")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CREDENTIALS = re.compile(r"://[^/\s]*@")
_NOT_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|\.$|/$")


def plan_id(of: str | int, taken: Container[str] = ()) -> str:
    """Return the id of the plan for a branch (by name) or a pull request (by number); `taken` are those of others.

    A branch whose name is safe as it is keeps it, if that is free. Any other gets its readable part and eight digits of
    its SHA-256, so that different branches have different ids.
    """
    if isinstance(of, int):
        name = f"pr-{of}"
    else:
        name = of
    slug = _slug(name)
    if slug and slug == name and len(slug) <= LONGEST and slug not in taken:
        return slug
    from hashlib import sha256  # noqa: PLC0415 - `prloom status` reads only safe names

    digest = sha256(str(of).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug[: LONGEST - _DIGEST - 1].rstrip('-._') or 'branch'}-{digest}"


def plan_id_of_title(title: str, taken: Container[str]) -> str:
    """Return an id for a new plan with this title: its readable part, with a number where that is taken.

    Letters of other scripts are written in Latin ones.
    """
    slug = _slug(_in_latin(title))[:LONGEST].rstrip("-._") or "plan"
    numbered = (f"{slug[: LONGEST - len(ending)]}{ending}" for ending in (f"-{number}" for number in count(2)))
    return next(each for each in chain((slug,), numbered) if each not in taken)


def check_plan_id(text: str) -> str:
    """Return an id that a person gave; raise PrloomError where it would not be safe as the name of a folder."""
    if _PLAN_ID.fullmatch(text) and ".." not in text and len(text) <= LONGEST:
        return text
    example = _slug(text)[:LONGEST].rstrip("-._") or "my-plan"
    raise PrloomError(
        f"'{printable(text)}' is not a valid id for a plan; use 1 to {LONGEST} of a-z, 0-9, '.', '_' and '-', "
        f"beginning with a letter or a digit, such as '{example}'",
    )


def is_branch_name(text: str) -> bool:
    """Whether git would make a branch of this name (the rules of git-check-ref-format), a leading `-` aside.

    `HEAD` and `@` are none: they mean what is checked out.
    """
    return text not in {"", "@", "HEAD"} and not text.startswith(("/", ".")) and not _NOT_IN_REFS.search(text)


def printable(text: str, longest: int = 120) -> str:
    """Return text from outside as one printable line: control characters are shown, not obeyed; the long is cut."""
    if len(text) <= longest:
        cut = text
    else:
        cut = text[: longest - 1] + "…"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in cut)


def mask_credentials(text: str, mask: str = "…") -> str:
    """Return a text whose addresses name no user, password or token, any of which may hold an `@`."""
    return _CREDENTIALS.sub(f"://{mask}@", text)


def commit_id(value: Json) -> str | None:
    """Return the value if it is the full name of a commit, in lower case; else None."""
    if isinstance(value, str) and _COMMIT.fullmatch(value):
        return value
    return None


def _in_latin(text: str) -> str:
    if text.isascii():
        return text
    from anyascii import anyascii  # noqa: PLC0415 - most titles are ASCII

    # A character of Chinese becomes a word with a capital, such as `Jian`.
    return _FOREIGN.sub(lambda found: _INNER_CAPITAL.sub("-", anyascii(found[0])), unicodedata.normalize("NFC", text))


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode("ascii")
    return _DOTS.sub(".", _UNSAFE.sub("-", plain)).strip("-._")
