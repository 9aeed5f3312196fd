"""The types of events, and what each of them means to prloom: the one place where that is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """What a type of events means.

    `speech`: the body is somebody's own words, and not a log or a report. `commands`: the words may be a command.
    `threaded`: the event stands in a conversation of its own, which can be resolved. `notice`: without an author and a
    body, the event tells only that something happened, and needs no answer. `plan_status`: what the plan
    is from then on.
    """

    speech: bool = False
    commands: bool = False
    threaded: bool = False
    notice: bool = False
    plan_status: str | None = None


DELETED = "comment_deleted"

_COMMENT = Kind(speech=True, commands=True)
_THREAD = Kind(speech=True, commands=True, threaded=True)
_NOTICE = Kind(notice=True)
_REPORT = Kind()

KINDS: Mapping[str, Kind] = {
    "pr_comment": _COMMENT,
    "pr_review": _COMMENT,
    "pr_review_comment": _THREAD,
    "review_feedback": _THREAD,
    "check_failed": _REPORT,
    "merge_conflict": _REPORT,
    "pr_pushed": _NOTICE,
    "pr_closed": Kind(notice=True, plan_status="closed"),
    "pr_merged": Kind(notice=True, plan_status="merged"),
    "pr_reopened": Kind(notice=True, plan_status="active"),
    DELETED: _NOTICE,
    "checks_changed": _NOTICE,
}
"""The types of the sources that prloom knows."""

NOTICES = tuple(name for name, kind in KINDS.items() if kind.notice)
"""Types of events that, without an author and a body, tell only that something happened: they need no answer."""

_SPEECH = ("comment", "discussion", "feedback", "message", "note", "reply", "review")
"""Last words in the names of other types that are somebody's own words, such as `mr_comment`."""


def kind(name: str, *, by_person: bool) -> Kind:
    """Return what a type means. A type of another source is speech if a person wrote the event, or by its name.

    Nobody's event of any other type may be a log, and its first line is no command of the operator's.
    """
    known = KINDS.get(name)
    if known is not None:
        return known
    last_word = name.replace("-", "_").replace(".", "_").rpartition("_")[2]
    spoken = by_person or name.startswith("pr_") or last_word in _SPEECH
    if spoken:
        return _COMMENT
    return _REPORT


FORGE_WORDS = frozenset({"GITHUB", "GH", "GITLAB", "GL", "GITEA", "FORGEJO", "CODEBERG", "BITBUCKET", "GIT"})
"""Words in the names of variables that have to do with a forge."""

_OF_FORGES = re.compile(r"(?:CI_JOB|CI_REGISTRY|CI_DEPLOY|ACTIONS|PRLOOM)_.*", re.DOTALL)
_WORD = re.compile(r"[A-Z0-9]+")
_SECRET_WORDS = frozenset(
    (
        *("TOKEN", "TOKENS", "PAT", "JWT", "SECRET", "SECRETS", "KEY", "KEYS", "CREDENTIAL", "CREDENTIALS", "CREDS"),
        *("PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASS", "PWD", "AUTH", "COOKIE", "SALT", "MNEMONIC"),
        *("DSN", "WEBHOOK", "WEBHOOKS", "CONNSTR"),
    )
)
# Written as one word with what they are for: PGPASSWORD, SSHPASS, NPM_AUTHTOKEN, TS_AUTHKEY.
_SECRET_ENDS = (
    *("TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "SECRET", "CREDENTIALS", "WEBHOOK"),
    *("APIKEY", "AUTHKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY"),
)
_ORDINARY = frozenset({"PWD", "OLDPWD"})
_ORDINARY_WORDS = frozenset({"BYPASS", "COMPASS"})


def is_secret_variable(name: str) -> bool:
    """Whether a variable of this name usually holds a secret."""
    upper = name.upper()
    words = _WORD.findall(upper)
    if upper in _ORDINARY:
        return False
    return "CONNECTION_STRING" in upper or any(_is_secret_word(word) for word in words)


def _is_secret_word(word: str) -> bool:
    return word in _SECRET_WORDS or (word.endswith(_SECRET_ENDS) and word not in _ORDINARY_WORDS)


def is_forge_variable(name: str) -> bool:
    """Whether a variable of this name has to do with a forge."""
    return not FORGE_WORDS.isdisjoint(_WORD.findall(name.upper()))


def is_forge_secret(name: str) -> bool:
    """Whether a variable of this name holds a forge's token or the like, or a secret of prloom's own."""
    return is_secret_variable(name) and (is_forge_variable(name) or _OF_FORGES.match(name.upper()) is not None)
