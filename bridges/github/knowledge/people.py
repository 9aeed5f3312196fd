"""Know who wrote something, and what they may do."""

from __future__ import annotations

from prloom.api import Author, Json

from . import fields

GHOST = "ghost"
"""Whom GitHub names where an account is gone."""

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
_FLAGS = (("admin", "admin"), ("maintain", "maintain"), ("push", "write"), ("triage", "triage"), ("pull", "read"))


def author(user: Json) -> Author:
    """Return an account as an author. A login that ends in `[bot]` proves nothing; its type does."""
    return Author(fields.text(user, "login") or GHOST, bot=fields.text(user, "type") == "Bot")


def permission(answer: Json) -> str:
    """Return the role that `/collaborators/{user}/permission` tells; that of an organisation's own role by its rights.

    `permission` alone says write for maintain, and read for triage.
    """
    role = fields.text(answer, "role_name")
    if role in ROLES:
        return role
    for flag, name in _FLAGS:
        if fields.at(answer, "user", "permissions", flag) is True:
            return name
    old = fields.text(answer, "permission")
    return old if old in ROLES else "none"
