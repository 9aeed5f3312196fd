"""Read GitHub's answers: fields, authors and permissions, and what a refusal means for an action.

Many fields are null that should not be, so each function returns something for whatever is missing. But an answer
of 200 that is not at all what was requested is an error: nothing follows from it, as from a 502.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from prloom.api import PERMISSIONS, Answer, Author, HttpError, Json, Refused, moment

GHOST = "ghost"
"""The login that GitHub shows for an account that is gone."""

_OTHER_NAMES = {"push": "write", "pull": "read"}
"""GitHub's rights that have another name than prloom's permissions; all others are called as those are."""
RETRY_SOON = timedelta(seconds=30)
"""After which to retry what GitHub is still computing."""
RETRY_LATER = timedelta(minutes=5)
"""After which to retry what a person has to end first."""

NOT_ACCEPTED = (
    "GitHub does not accept the token (401); write another into the file that GITHUB_TOKEN_FILE names, or run "
    "`gh auth login`, or set GITHUB_TOKEN and start prloom again"
)

_LONGEST = 400
_LONGEST_NUMBER = 15
_SSO = re.compile(r"\brequired\b[^,]*?\burl=(https://[!-~]{1,1000})")
_NOT_ALLOWED, _CONFLICT = 405, 409
_MERGED_LATER = ("status check", "base branch was modified")
_NEVER_MERGED = ("not allowed", "draft", "rule violations", "protected branch", "approving review", "changes requested")
"""What GitHub's answer to a merge mentions where time alone will change nothing, unless it mentions the above too."""


def value_at(value: Json, *path: str) -> Json:
    """Return the value at the end of the path, or None."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        else:
            value = None
    return value


def text(value: Json, *path: str) -> str:
    """Return a text, empty where there is none."""
    found = value_at(value, *path)
    if isinstance(found, str):
        return found
    return ""


def number(value: Json, *path: str) -> int | None:
    """Return a whole number, or None where there is none."""
    found = value_at(value, *path)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return None


def time(text: str) -> datetime | None:
    """Return the time in a text, or None where it is not a time."""
    try:
        return moment(text)
    except ValueError:
        return None


def items(value: Json, *path: str) -> Sequence[Json]:
    """Return the objects of a list, empty where there is none."""
    found = value_at(value, *path)
    if isinstance(found, list):
        return [each for each in found if isinstance(each, Mapping)]
    return []


def page(answer: Answer, *path: str) -> list[Mapping[str, Json]]:
    """Return the items of a page of a list, of which each has an id; raises HttpError where the answer is none."""
    found = value_at(answer.json(), *path)
    if not isinstance(found, list):
        raise unexpected(answer, "is not a list")
    listed = [each for each in found if isinstance(each, Mapping) and number(each, "id") is not None]
    if len(listed) < len(found):
        raise unexpected(answer, "is a list with items that have no id")
    return listed


def with_id(answer: Answer) -> Mapping[str, Json]:
    """Return the object of an answer, such as a comment, which has an id; raises HttpError where the answer is none."""
    found = answer.json()
    if not isinstance(found, Mapping) or number(found, "id") is None:
        raise unexpected(answer, "has no id")
    return found


def part(answer: Answer, *path: str) -> Mapping[str, Json]:
    """Return the object at the end of the path; raises HttpError where the answer has none."""
    found = value_at(answer.json(), *path)
    if not isinstance(found, Mapping):
        raise unexpected(answer, f"has no {path[-1]}")
    return found


def unexpected(answer: Answer, what: str) -> HttpError:
    """Return the error that an answer of 200 is not what was requested: so a write may have taken effect, or not."""
    found = f"{urlsplit(answer.url).path}: the answer {what}"
    said = " ".join(text(answer.json(), "message").split())[:_LONGEST]
    return HttpError(": ".join(filter(None, (found, said))), trouble="unknown", status=answer.status)


def tail_number(url: str, after: str = "/") -> int | None:
    """Return the number at the end of an address (`…/issues/7`), or of what else has one `after` something; or None."""
    last = url.rpartition(after)[2]
    if last.isascii() and last.isdigit() and len(last) <= _LONGEST_NUMBER:
        return int(last)
    return None


def short_sha(sha: str) -> str:
    """Return the short form of a commit's name."""
    return sha[:12]


def author(user: Json) -> Author:
    """Return an account as an author. A login that ends in `[bot]` proves nothing; its type does."""
    return Author(text(user, "login") or GHOST, bot=text(user, "type") == "Bot")


def graphql_author(actor: Json) -> Author:
    """Return an actor as an author, with the login as REST writes it: GraphQL leaves out the end of a bot's."""
    login, is_bot = text(actor, "login"), text(actor, "__typename") == "Bot"
    if login and is_bot:
        login = f"{login.removesuffix('[bot]')}[bot]"
    return Author(login or GHOST, bot=is_bot)


def permission(answer: Json) -> str | None:
    """Map the answer of `/collaborators/{user}/permission` to a permission; an organisation's own role by its rights.

    `permission` alone says write for maintain, and read for triage. None where the answer says nothing of these.
    """
    role = text(answer, "role_name")
    if role in PERMISSIONS:
        return role
    rights = value_at(answer, "user", "permissions")
    if isinstance(rights, Mapping):
        granted = {_OTHER_NAMES.get(str(name), str(name)) for name, given in rights.items() if given is True}
    else:
        granted = set[str]()
    if granted.isdisjoint(PERMISSIONS):
        granted = {text(answer, "permission")}
    if granted == {""}:
        return None
    return next((each for each in reversed(PERMISSIONS) if each in granted), PERMISSIONS[0])


def message(error: HttpError) -> str:
    """Return GitHub's own words in one line, with their link, or the error's text where there are none."""
    return _words(error) or str(error)


def describe(error: HttpError) -> str:
    """Return the error with GitHub's own words, where there are any."""
    words = _words(error)
    if words:
        return f"{error}: {words}"
    return str(error)


def _words(error: HttpError) -> str:
    answer = _json(error.body)
    errors = value_at(answer, "errors")
    words = [text(answer, "message")]
    if isinstance(errors, list):
        words += [_problem(each) for each in errors]
    line = " ".join(" ".join(filter(None, words)).split())
    links = (sso_hint(error.headers), _block(answer))
    return " ".join(filter(None, (line[:_LONGEST], *links)))


def sso_hint(headers: Mapping[str, str]) -> str:
    """Return how to authorize the token for an organisation with single sign-on, if GitHub requires that; else nothing.

    The header is `x-github-sso: required; url=…` (docs.github.com, "Authenticating to the REST API").
    """
    found = _SSO.search(headers.get("x-github-sso", ""))
    if found:
        return f"Authorize the token for single sign-on: {found[1]}"
    return ""


def _block(answer: Json) -> str:
    """Return why and where GitHub says that it has blocked a repository, as with 451."""
    url = text(answer, "block", "html_url")
    reason = text(answer, "block", "reason") or "blocked"
    if url.startswith("https://") and url.isprintable() and " " not in url:
        return f"({reason}: {url})"
    return ""


def mentions(error: HttpError, *words: str) -> bool:
    """Whether GitHub's answer has one of these words."""
    body = error.body.lower()
    return any(word in body for word in words)


def is_draft_error(error: HttpError) -> bool:
    """Whether a draft review of the account itself blocks the action."""
    return mentions(error, "pending review")


def refusal(error: HttpError, now: datetime, *, unsure: bool) -> Refused:
    """Return the refusal of an action. `unsure`: an earlier attempt may have arrived; nothing has checked that yet."""
    wait = None
    if error.retry_at:
        wait = max(error.retry_at - now, timedelta())
    match error.trouble:
        case "limited":
            return Refused(f"GitHub's limit: {error}", retryable=True, retry_after=wait, unknown=unsure)
        case "unauthorized":
            return Refused(f"{NOT_ACCEPTED} ({error})", retryable=True, retry_after=RETRY_LATER, unknown=unsure)
        case "forbidden":
            return Refused(f"GitHub does not allow it: {message(error)}", unknown=unsure)
        case "gone":
            return Refused(
                f"it is no longer on GitHub, or the token has no access to it: {describe(error)}", unknown=unsure
            )
        case "refused" if error.status == _CONFLICT:
            return Refused(
                f"GitHub refuses it: {message(error)}", retryable=True, retry_after=RETRY_SOON, unknown=unsure
            )
        case "refused":
            return Refused(f"GitHub refuses it: {message(error)}", unknown=unsure)
        case _:
            return Refused(describe(error), retryable=True, retry_after=wait, unknown=True)


def merge_refusal(error: HttpError, commit: str, now: datetime) -> Refused:
    """Return the refusal of a merge of this commit.

    405 means everything that keeps GitHub from merging: what it still computes, as right after a push, and what
    it waits for are tried again; what the repository's rules forbid is not.
    """
    if error.status == _CONFLICT:
        return Refused(
            f"the pull request has new commits, and {short_sha(commit)} is no longer its head ({message(error)}); "
            "read the new commits, then request the merge again"
        )
    if error.status != _NOT_ALLOWED:
        return refusal(error, now, unsure=False)
    if mentions(error, "merge queue"):
        return Refused(f"the base branch has a merge queue; add the pull request to it on GitHub ({message(error)})")
    waits = mentions(error, *_MERGED_LATER)
    if not waits and mentions(error, *_NEVER_MERGED):
        return Refused(f"GitHub refuses it: {message(error)}")
    return Refused(f"GitHub cannot merge it yet: {message(error)}", retryable=True, retry_after=RETRY_SOON)


def graphql_refusal(kind: str, words: str) -> Refused:
    """Return the refusal of an action by an error in an answer of GraphQL."""
    if kind == "RATE_LIMITED":
        return Refused(f"GitHub's limit: {words}", retryable=True, retry_after=RETRY_LATER)
    if kind in {"FORBIDDEN", "NOT_FOUND", "INSUFFICIENT_SCOPES", "UNPROCESSABLE"}:
        return Refused(f"GitHub refuses it ({kind}): {words}")
    return Refused(" ".join(filter(None, ("GitHub could not do it:", kind, words))), retryable=True)


def _problem(error: Json) -> str:
    if isinstance(error, str):
        return error
    named = (text(error, "field"), text(error, "code"))
    return text(error, "message") or " ".join(filter(None, named))


def _json(body: str) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
