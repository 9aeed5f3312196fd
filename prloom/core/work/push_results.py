"""Read what git says of a push or a fetch that failed: a lost race, a refusal, missing rights, or no way there.

The lines are those of git-push(1), "OUTPUT", and of the servers that people use; git is run in English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from prloom.core.text.naming import mask_credentials, printable

Cause = Literal["lost_race", "refused", "denied", "unreachable", "unknown"]

_LOST_RACE = re.compile(
    r"stale info|fetch first|non-fast-forward|cannot lock ref|failed to update ref|already exists|is at \w+ but exp"
)
_REFUSED = re.compile(
    r"hook declined|protected branch|GH\d{3}|deny updating|shallow update not allowed|refusing to|prohibited|"
    r"not allowed to (?:push|force)|push declined|internal server error"
)
_DENIED = re.compile(
    r"error: 40[1345]|Authentication failed|could not read (?:Username|Password)|Permission (?:to|denied)|"
    r"[Rr]epository not found|does not appear to be a git repository|access denied|not allowed to upload|"
    r"Host key verification failed|insufficient permission|terminal prompts disabled",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"Could not resolve host|Connection (?:refused|timed out|reset|closed)|Operation timed out|Network is unreachable|"
    r"error: (?:429|5\d\d)|early EOF|hung up unexpectedly|took longer than|SSL|unable to access|RPC failed|"
    r"Could not read from remote repository",
    re.IGNORECASE,
)
_RULE = re.compile(r"GH\d{3}|protected branch|repository rule|push declined due to", re.IGNORECASE)
_NAMES = re.compile(r"'refs/\S*?' exists; cannot create 'refs/\S*?'")
_BRANCHES = re.compile(r"'refs/heads/(\S+?)' exists; cannot create 'refs/heads/(\S+?)'")
_MISSING = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_REMOTE = re.compile(r"^remote: *(?:error: *|fatal: *)?(.*\S)", re.MULTILINE)
_REJECTED = re.compile(r"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_SOME = "failed to push some refs"  # stands below every push that was rejected
_LONGEST = 300


@dataclass(frozen=True)
class Failure:
    """Why a push or a fetch failed, by its kind and in one line; `retryable` if the same may succeed later."""

    cause: Cause
    reason: str

    @property
    def retryable(self) -> bool:
        """Whether to try again later; after a lost race, once the remote's commits are there."""
        return self.cause in {"lost_race", "unreachable", "unknown"}


def is_by_rule(failure: Failure) -> bool:
    """Whether the forge refuses a push for its rules, such as that commits must be signed: only a person can help."""
    return _RULE.search(failure.reason) is not None


def read(out: str, err: str) -> Failure:
    """Return why a push failed, by what `git push --porcelain` wrote to its two outputs."""
    summary = next(iter(_REJECTED.findall(out)), "")
    names = name_conflict(err)
    if summary and names is not None:
        return Failure("refused", printable(mask_credentials(names), _LONGEST))
    said = [each for each in _REMOTE.findall(err) if _is_reason(each)]
    lines = [line for line in err.splitlines() if line.startswith(("fatal:", "error:", "ssh:")) and _SOME not in line]
    text = "; ".join(filter(None, (summary, *(said[:2] or lines[:1])))) or "git gave no reason"
    reason = printable(mask_credentials(text), _LONGEST)
    return Failure(_cause(summary, err), reason)


def name_conflict(err: str) -> str | None:
    """Return which two refs git cannot have beside each other, if it failed because of that: `a` beside `a/b`."""
    branches = _BRANCHES.search(err)
    if branches is not None:
        there, wanted = branches.groups()
        return f"it has a branch {there}, and git cannot have {wanted} beside it; rename one of them, or delete {there}"
    found = _NAMES.search(err)
    return found[0] if found is not None else None


def is_missing(err: str) -> bool:
    """Whether a fetch failed because the remote has no such branch."""
    return _MISSING.search(err) is not None


def _cause(summary: str, err: str) -> Cause:
    if summary:
        if _REFUSED.search(summary):
            return "refused"
        if _LOST_RACE.search(summary):
            return "lost_race"
        return "refused"
    if _REFUSED.search(err):
        return "refused"
    if _DENIED.search(err):
        return "denied"
    if _UNREACHABLE.search(err):
        return "unreachable"
    return "unknown"


def _is_reason(line: str) -> bool:
    """Whether a line of the server's says more than a rule or the progress of its work."""
    return bool(re.search("[A-Za-z]{3}", line)) and not re.match(r"(?:Resolving|Counting|Compressing|Processing)", line)
