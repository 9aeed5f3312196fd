"""Tell what GitHub's refusals mean for an action."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from prloom.api import HttpError, Json, Refused

from . import json_access

SOON = timedelta(seconds=30)
"""When to come again to what GitHub is still working out."""
LATER = timedelta(minutes=5)
"""When to come again to what a person has to end first."""

REJECTED = (
    "GitHub does not accept the token (401); write another into the file that GITHUB_TOKEN_FILE names, or run "
    "`gh auth login`, or set GITHUB_TOKEN and start prloom again"
)

_LONGEST = 400
_SSO = re.compile(r"\brequired\b[^,]*?\burl=(https://[!-~]{1,1000})")
_NOT_ALLOWED, _CONFLICT = 405, 409
_MERGED_LATER = ("status check", "base branch was modified")
_NEVER_MERGED = ("not allowed", "draft", "rule violations", "protected branch", "approving review", "changes requested")
"""What GitHub's answer to a merge mentions where time alone will change nothing, unless it mentions the above too."""


def said(error: HttpError) -> str:
    """Return GitHub's own words in one line, with the link that they come with, or the error's where it said none."""
    return _words(error) or str(error)


def explained(error: HttpError) -> str:
    """Return the error with GitHub's own words, where it said any."""
    words = _words(error)
    if words:
        return f"{error}: {words}"
    return str(error)


def _words(error: HttpError) -> str:
    answer = _json(error.body)
    errors = json_access.at(answer, "errors")
    if isinstance(errors, list):
        more = [_problem(each) for each in errors]
    else:
        more = []
    words = [json_access.text(answer, "message"), *more]
    text = " ".join(" ".join(filter(None, words)).split())
    links = (sso(error.headers), _block(answer))
    return " ".join(filter(None, (text[:_LONGEST], *links)))


def sso(headers: Mapping[str, str]) -> str:
    """Return how the token is let into an organisation with single sign-on, where GitHub asks for that; else nothing.

    The header is `x-github-sso: required; url=…` (docs.github.com, "Authenticating to the REST API").
    """
    found = _SSO.search(headers.get("x-github-sso", ""))
    if found:
        return f"Authorize the token for single sign-on: {found[1]}"
    return ""


def _block(answer: Json) -> str:
    """Return why and where GitHub says that it has blocked a repository, as with 451."""
    url = json_access.text(answer, "block", "html_url")
    reason = json_access.text(answer, "block", "reason") or "blocked"
    if url.startswith("https://") and url.isprintable() and " " not in url:
        return f"({reason}: {url})"
    return ""


def mentions(error: HttpError, *words: str) -> bool:
    """Whether GitHub's answer has one of these words."""
    text = error.body.lower()
    return any(word in text for word in words)


def draft(error: HttpError) -> bool:
    """Whether the account's own draft review stands in the way."""
    return mentions(error, "pending review")


def refused(error: HttpError, now: datetime, *, unsure: bool) -> Refused:
    """Return the refusal of an action. `unsure`: an earlier attempt may have arrived, and nobody has looked yet."""
    wait = None
    if error.retry_at:
        wait = max(error.retry_at - now, timedelta())
    match error.trouble:
        case "limited":
            return Refused(f"GitHub's limit: {error}", retryable=True, retry_after=wait, unknown=unsure)
        case "unauthorized":
            return Refused(f"{REJECTED} ({error})", retryable=True, retry_after=LATER, unknown=unsure)
        case "forbidden":
            return Refused(f"GitHub does not allow it: {said(error)}", unknown=unsure)
        case "gone":
            return Refused(
                f"it is no longer on GitHub, or the token has no access to it: {explained(error)}", unknown=unsure
            )
        case "refused":
            again = error.status == _CONFLICT
            return Refused(
                f"GitHub refuses it: {said(error)}",
                retryable=again,
                retry_after=SOON if again else None,
                unknown=unsure,
            )
        case _:
            return Refused(explained(error), retryable=True, retry_after=wait, unknown=True)


def merge(error: HttpError, commit: str, now: datetime) -> Refused:
    """Return the refusal of a merge of this commit.

    405 stands for everything that keeps GitHub from merging: what it still works out, as right after a push, and what
    it waits for are tried again; what the repository's rules forbid is not.
    """
    if error.status == _CONFLICT:
        return Refused(
            f"the pull request has new commits, and {json_access.short(commit)} is no longer its head ({said(error)}); "
            "read the new commits, then request the merge again"
        )
    if error.status != _NOT_ALLOWED:
        return refused(error, now, unsure=False)
    if mentions(error, "merge queue"):
        return Refused(f"the base branch has a merge queue; add the pull request to it on GitHub ({said(error)})")
    waits = mentions(error, *_MERGED_LATER)
    if not waits and mentions(error, *_NEVER_MERGED):
        return Refused(f"GitHub refuses it: {said(error)}")
    return Refused(f"GitHub cannot merge it yet: {said(error)}", retryable=True, retry_after=SOON)


def graph(kind: str, text: str) -> Refused:
    """Return the refusal of an action by an error in an answer of GraphQL."""
    if kind == "RATE_LIMITED":
        return Refused(f"GitHub's limit: {text}", retryable=True, retry_after=LATER)
    if kind in {"FORBIDDEN", "NOT_FOUND", "INSUFFICIENT_SCOPES", "UNPROCESSABLE"}:
        return Refused(f"GitHub refuses it ({kind}): {text}")
    return Refused(f"GitHub could not do it: {kind} {text}".strip(), retryable=True)


def _problem(error: Json) -> str:
    if isinstance(error, str):
        return error
    named = (json_access.text(error, "field"), json_access.text(error, "code"))
    return json_access.text(error, "message") or " ".join(filter(None, named))


def _json(body: str) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
