"""Tell from the name of an environment variable whether it holds a secret, or a forge's: the one list of such names."""

from __future__ import annotations

import re

FORGES = frozenset({"GITHUB", "GH", "GITLAB", "GL", "GITEA", "FORGEJO", "CODEBERG", "BITBUCKET", "GIT"})
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


def is_secret(name: str) -> bool:
    """Whether a variable of this name usually holds a secret."""
    upper = name.upper()
    words = _WORD.findall(upper)
    if upper in _ORDINARY:
        return False
    return "CONNECTION_STRING" in upper or any(_is_secret_word(word) for word in words)


def _is_secret_word(word: str) -> bool:
    return word in _SECRET_WORDS or (word.endswith(_SECRET_ENDS) and word not in _ORDINARY_WORDS)


def is_forges(name: str) -> bool:
    """Whether a variable of this name has to do with a forge."""
    return not FORGES.isdisjoint(_WORD.findall(name.upper()))


def is_forge_secret(name: str) -> bool:
    """Whether a variable of this name holds a forge's token or the like, or a secret of prloom's own."""
    return is_secret(name) and (is_forges(name) or _OF_FORGES.match(name.upper()) is not None)
