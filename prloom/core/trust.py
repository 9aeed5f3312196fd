"""Decide whether an author's text may be read by plugins and agents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prloom.core.text import naming
from prloom.model.event import Author, Event
from prloom.model.kinds import TRUST_LEVELS, Permission


@dataclass(frozen=True)
class Policy:
    """Who is trusted: authors from `minimum` up, the logins in `users`, and the bots in `bots`: as `x` or `x[bot]`."""

    minimum: Permission = "write"
    users: tuple[str, ...] = ()
    bots: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trusted:
    """The text may be read."""


@dataclass(frozen=True)
class Held:
    """The text may not be read before a person approves it."""

    reason: str


@dataclass(frozen=True)
class Unknown:
    """The author's permission has to be looked up."""

    login: str


Judgement = Trusted | Held | Unknown

_BOT = "[bot]"
_TRUSTED = Trusted()
_RANKS = {level: rank for rank, level in enumerate(TRUST_LEVELS)}


def judge(event: Event, policy: Policy) -> Judgement:
    """Return whether the event's author is trusted, as far as the event says.

    An event without an author speaks for the operator: only programs on this machine can write one.
    """
    author = event.author
    if author is None:
        return _TRUSTED
    if author.bot:
        return _bot(author, policy)
    if policy.users and named(author.login, policy.users):
        return _TRUSTED
    if author.trust is None:
        return Unknown(author.login)
    return rank(author.login, author.trust, policy)


def rank(login: str, permission: str, policy: Policy) -> Trusted | Held:
    """Return whether a permission that was looked up is enough."""
    if _RANKS.get(permission, -1) >= _RANKS[policy.minimum]:
        return _TRUSTED
    if permission not in _RANKS:
        has = f"the permission '{naming.printable(permission)}', which prloom does not know"
    elif permission == "none":
        has = "no permission here"
    else:
        has = f"{permission} permission"
    return Held(f"{login} has {has}; at least {policy.minimum} is required")


def named(login: str, logins: Iterable[str]) -> bool:
    """Whether a login is among those that the operator listed; forges ignore the case of ASCII letters.

    Only of those: folding the case of all letters would take the Kelvin sign for a k, and one account for another.
    """
    return any(
        login == each or (login.isascii() and each.isascii() and login.lower() == each.lower()) for each in logins
    )


def is_bot(login: str, bots: Iterable[str]) -> bool:
    """Whether the login of an account that the forge calls a bot is among those that the operator listed.

    GitHub writes the login of an app's account as `x[bot]` in one place, and as `x` in another: both are the same bot.
    """
    return named(bot_name(login), map(bot_name, bots))


def bot_name(login: str) -> str:
    """Return the login of a bot without the end that only some places show."""
    if login.lower().endswith(_BOT):
        return login[: -len(_BOT)]
    return login


def _bot(author: Author, policy: Policy) -> Trusted | Held:
    if is_bot(author.login, policy.bots):
        return _TRUSTED
    return Held(f"{author.login} is a bot that is not listed in trust.bots")


def unknown(login: str, why: str) -> Held:
    """Return the judgement for an author whose permission could not be looked up: not trusted yet."""
    return Held(f"the permission of {login} is not known: {why}")
