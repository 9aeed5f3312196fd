"""Know the logins of common bots, and find the entries of `[trust]` that trust no bot, or only half of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from prloom.core import trust

LOGINS: Final[Mapping[str, tuple[str, ...]]] = {
    "Claude": ("claude[bot]",),
    "Codecov": ("codecov[bot]",),
    "CodeRabbit": ("coderabbitai[bot]",),
    "Codex": ("chatgpt-codex-connector[bot]",),
    "Copilot, as a coding agent": ("copilot-swe-agent[bot]", "Copilot"),
    "Copilot, as a reviewer": ("copilot-pull-request-reviewer[bot]", "Copilot"),
    "Cursor": ("cursor[bot]",),
    "Dependabot": ("dependabot[bot]",),
    "Gemini Code Assist": ("gemini-code-assist[bot]",),
    "GitHub Actions": ("github-actions[bot]",),
    "GitHub code scanning": ("github-advanced-security[bot]",),
    "Mergify": ("mergify[bot]",),
    "pre-commit.ci": ("pre-commit-ci[bot]",),
    "Renovate": ("renovate[bot]",),
}
"""The logins that each bot uses on GitHub; docs/github.md lists them."""

_LOGIN = re.compile(r"[a-z0-9][a-z0-9._-]*(\[bot\])?", re.IGNORECASE)
_ALIKE = 0.85
"""How much alike a mistyped login and the one that was meant are."""


class TrustProblem(NamedTuple):
    """What is wrong with an entry of `[trust]`, and what to do about it."""

    what: str
    fix: str


def problems(users: Sequence[str], bots: Sequence[str]) -> Iterator[TrustProblem]:
    """Yield what is wrong with the logins of `trust.users` and `trust.bots`."""
    for each in users:
        if trust.bot_name(each) != each:
            yield TrustProblem(f"{each} in trust.users is a bot, and trusts nobody", "move it to trust.bots")
    for each in bots:
        meant = _meant(each)
        if not _LOGIN.fullmatch(each):
            yield TrustProblem(
                f"{each} in trust.bots is not a login", "write the login, such as dependabot[bot]; see docs/github.md"
            )
        elif meant is not None:
            yield TrustProblem(f"{each} in trust.bots is not a bot that is known", f"did you mean {meant}?")
    yield from _halves(bots)


def _halves(bots: Sequence[str]) -> Iterator[TrustProblem]:
    """Yield the bots that use several logins of which only some are listed."""
    several = [(name, logins) for name, logins in LOGINS.items() if len(logins) > 1]
    shared = {login for _, logins in several for login in logins if sum(login in each for _, each in several) > 1}
    for name, logins in several:
        missing = [login for login in logins if not trust.is_bot(login, bots)]
        own = [login for login in logins if login not in shared]
        is_meant = any(trust.is_bot(login, bots) for login in own)
        if missing and is_meant:
            yield TrustProblem(
                f"{name}, also writes as {', '.join(missing)}", f"add {', '.join(missing)} to trust.bots"
            )
    for login in sorted(shared):
        others = [each for _, logins in several if login in logins for each in logins if each != login]
        if trust.is_bot(login, bots) and not any(trust.is_bot(each, bots) for each in others):
            names = " or ".join(dict.fromkeys(others))
            yield TrustProblem(f"{login} also writes as {names}", "add what you use of these to trust.bots")


def _meant(entry: str) -> str | None:
    """Return the login of a known bot that a mistyped one may have meant; None for one that is known, or is unlike."""
    from difflib import get_close_matches  # noqa: PLC0415 - only `prloom doctor` needs it

    usual = {trust.bot_name(login).lower(): login for logins in LOGINS.values() for login in logins}
    name = trust.bot_name(entry).lower()
    if name in usual:
        return None
    return next((usual[each] for each in get_close_matches(name, usual, n=1, cutoff=_ALIKE)), None)
