"""Take secrets out of what agents print, as fast as they print it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from prloom.core.text import secret_scan
from prloom.core.text.secret_scan import MASK

_SIGNS: Final = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"),
    *("AKIA", "ASIA", "xox", "xapp-", "hooks.slack.com", "sk-", "sk_live_", "rk_live_", "AIza", "GOCSPX-", "ya29."),
    *("npm_", "pypi-AgE", "hf_", "eyJ", "PRIVATE KEY"),
)
"""What a text contains at least one of if anything in it has the form of a key, but for those of AWS."""

_AWS: Final = re.compile("aws_?secret", re.IGNORECASE)
_NOT_LETTERS: Final = bytes(byte for byte in range(256) if not chr(byte).isalnum() or byte > 127)  # noqa: PLR2004


class SecretMask:
    """Puts a mask in place of secrets: of values that are known, plain or in disguise, and of what looks like a key."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` are the known values, each by what it is."""
        values = [value for value in secrets.values() if len(value) >= secret_scan.SHORTEST]
        self._values = sorted(values, key=len, reverse=True)
        self._disguises = tuple({each.encode() for value in values for each in secret_scan.disguises(value)})
        self._hex = tuple(secret_scan.hexadecimal(value).encode() for value in values)

    def masked(self, text: str) -> str:
        """Return a text with a mask in place of each secret; the mask alone where one is there in disguise."""
        if len(text) < secret_scan.SHORTEST:
            return text
        for value in self._values:
            text = text.replace(value, MASK)
        if any(sign in text for sign in _SIGNS) or _AWS.search(text):
            for found in secret_scan.key_like(text):
                text = text.replace(found, MASK)
        if self._disguised(text):
            return MASK
        return text

    def _disguised(self, text: str) -> bool:
        if not self._values:
            return False
        letters = text.encode("utf-8", "replace").translate(None, _NOT_LETTERS)
        if any(each in letters for each in self._disguises):
            return True
        lower = letters.lower()
        return any(each in lower for each in self._hex)
