"""Know who wrote something, and what they may do."""

from __future__ import annotations

from typing import NamedTuple

from prloom.api import Author, Json

from . import json_access

GHOST = "ghost"
"""Whom GitHub names where an account is gone."""

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
_FLAGS = (("admin", "admin"), ("maintain", "maintain"), ("push", "write"), ("triage", "triage"), ("pull", "read"))


class Account(NamedTuple):
    """Whose a token is: a login, or where GitHub does not tell, whether an App's (whose login only Apps can have)."""

    login: str | None
    app: bool = False


def account(user: Json) -> Account:
    """Return the account that `/user` tells."""
    return Account(json_access.text(user, "login") or None)


def unnamed(*, app: bool) -> Account:
    """Return an account of which GitHub does not tell the login: that of an App, or any."""
    return Account(None, app=app)


def wrote(account: Account | None, user: Json) -> bool:
    """Whether an account may have written what is the user's: one that nobody knows may have written anything."""
    if account is None or account.login is None:
        return account is None or not account.app or author(user).bot
    return json_access.text(user, "login").lower() == account.login.lower()


def is_author(account: Account, author: Author) -> bool:
    """Whether it is known that the account is the author's; of an App only that it is a bot's."""
    if account.login is None:
        return account.app and author.bot
    return author.login.lower() == account.login.lower()


def author(user: Json) -> Author:
    """Return an account as an author. A login that ends in `[bot]` proves nothing; its type does."""
    return Author(json_access.text(user, "login") or GHOST, bot=json_access.text(user, "type") == "Bot")


def permission(answer: Json) -> str:
    """Return the role that `/collaborators/{user}/permission` tells; that of an organisation's own role by its rights.

    `permission` alone says write for maintain, and read for triage.
    """
    role = json_access.text(answer, "role_name")
    if role in ROLES:
        return role
    for flag, name in _FLAGS:
        if json_access.at(answer, "user", "permissions", flag) is True:
            return name
    old = json_access.text(answer, "permission")
    if old in ROLES:
        return old
    return "none"
