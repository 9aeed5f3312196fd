"""Know by their names which variables hold secrets, and by their beginnings the tokens of forges."""

from __future__ import annotations

import re

GITHUB_SIGNS = ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")
GITLAB_SIGNS = ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-")
"""What the tokens of a forge begin with."""

GITHUB_TOKEN = f"(?:{'|'.join(GITHUB_SIGNS)})"
GITLAB_TOKEN = f"(?:{'|'.join(GITLAB_SIGNS)})"
"""How one begins, as a regular expression."""

_FORGE_TOKEN = re.compile(rf"(?:{GITHUB_TOKEN}|{GITLAB_TOKEN})[A-Za-z0-9_-]{{8}}")

_FORGE_WORDS = frozenset({"GITHUB", "GH", "GITLAB", "GL", "GITEA", "FORGEJO", "CODEBERG", "BITBUCKET", "GIT"})
_FORGE_VARIABLE = re.compile(r"(?:CI_JOB|CI_REGISTRY|CI_DEPLOY|ACTIONS|PRLOOM)_.*", re.DOTALL)
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
    return not _FORGE_WORDS.isdisjoint(_WORD.findall(name.upper()))


def is_forge_secret(name: str) -> bool:
    """Whether a variable of this name holds a forge's token or the like, or a secret of prloom's own."""
    forge = is_forge_variable(name) or _FORGE_VARIABLE.match(name.upper()) is not None
    return forge and is_secret_variable(name)


def holds_forge_token(value: str) -> bool:
    """Whether a variable's value holds a forge's token, whatever the variable is called."""
    return _FORGE_TOKEN.search(value) is not None
