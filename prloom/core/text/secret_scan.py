"""Look for secrets in what is about to be posted, and take them out of what agents print.

A secret is a value that is known, or a text of a form that keys have: those that their issuers document or that secret
scanners agree on. Every repetition is bounded, so that the work grows with the length of the text and no faster.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping

from prloom.core.text import rendered
from prloom.model import record, secret_names
from prloom.model.action import Action
from prloom.model.record import JsonValue

SHORTEST = 12
"""Letters and digits that a value must have to be taken for a secret: shorter ones occur by chance."""

MASK = "[secret]"
"""Stands where a secret was."""


_ALONE = r"(?<![A-Za-z0-9])"
_PEM_HEAD = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^A-Za-z0-9]|\\n){0,20}"
_PEM_FIELDS = r"(?:[A-Za-z-]{1,30}: [^\n]{0,99}\n[> \t\r\n]{0,9}){0,5}"
_PEM_BODY = r"([A-Za-z0-9+/=]{40}[A-Za-z0-9+/=>\s\\]{0,20000})"
_AWS_NAME = r"(?i:aws_?secret(?:_?access)?(?:_?key)?)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
_FORMS = {
    what: re.compile(pattern)  # where the pattern has a group, that part has to look like dice
    for what, pattern in {
        "a GitHub token": secret_names.GITHUB_TOKEN + r"([A-Za-z0-9_]{30,255})",
        "a GitLab token": secret_names.GITLAB_TOKEN + r"([A-Za-z0-9_-]{20,255})",
        "an AWS access key": _ALONE + r"A(?:KIA|SIA)(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}(?![A-Z0-9])",
        "an AWS secret key": _AWS_NAME + r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        "a Slack token": r"(?:xox[abeoprs]|xapp)-([A-Za-z0-9-]{20,255})",
        "a Slack webhook": r"hooks\.slack\.com/services/T[A-Z0-9]{5,20}/B[A-Z0-9]{5,20}/([A-Za-z0-9]{16,64})",
        "an Anthropic key": _ALONE + r"sk-ant-(?:[a-z]{2,8}\d\d-)?([A-Za-z0-9_-]{20,255})",
        "an OpenAI key": _ALONE + r"sk-(?:proj|svcacct|admin|or-v1)-([A-Za-z0-9_-]{20,255})",
        "an API key": _ALONE + r"sk-([A-Za-z0-9]{32,255})",
        "a Stripe key": _ALONE + r"[rs]k_live_([A-Za-z0-9]{20,255})",
        "a Google key": r"(?:AIza|GOCSPX-|ya29\.)([A-Za-z0-9_-]{28,255})",
        "an npm token": _ALONE + r"npm_([A-Za-z0-9]{36})",
        "a PyPI token": r"pypi-AgE([A-Za-z0-9_-]{50,255})",
        "a Hugging Face token": _ALONE + r"hf_([A-Za-z0-9]{34})",
        "a JSON web token": r"(?<![\w-])eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.([\w-]{20,1000})",
        "a private key": _PEM_HEAD + _PEM_FIELDS + _PEM_BODY,
    }.items()
}
_DISTINCT, _CLASSES = 8, 2
_NOT_PLAIN = 6

# What is invisible in a text that is rendered, but for line ends.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_TAG = re.compile(r"<[^<>]{0,200}>")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
# A password with an `@` ends before the path or the query; one with a `?` or a `#` ends at the first `@`.
_IN_URL = re.compile(r"://[^/@\s:]{0,200}:([^/?#\s]{8,500}|[^/@\s]{8,500})@")

_SIGNS = (
    *secret_names.GITHUB_SIGNS,
    *secret_names.GITLAB_SIGNS,
    *("AKIA", "ASIA", "xox", "xapp-", "hooks.slack.com", "sk-", "sk_live_", "rk_live_", "AIza", "GOCSPX-", "ya29."),
    *("npm_", "pypi-AgE", "hf_", "eyJ", "PRIVATE KEY"),
)
"""What a text contains at least one of if anything in it has the form of a key, but for those of AWS."""

_AWS = re.compile("aws_?secret", re.IGNORECASE)
_NOT_LETTERS = bytes(byte for byte in range(256) if not chr(byte).isalnum() or byte > 127)  # noqa: PLR2004


def environment_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets of an environment, each by what it is: values of variables that are named for one.

    A path is none, nor is what is so short or so plain that it could stand in any text.
    """
    found = {}
    for name, value in environ.items():
        named = secret_names.is_secret_variable(name) and not value.startswith(("/", "~", "."))
        if named and _is_long(value):
            found[f"the value of {name}"] = value.strip()
        for number, password in enumerate(_IN_URL.findall(value) if "@" in value else ()):
            if _is_long(password):
                found[f"the password in {name}{f' ({number + 1})' if number else ''}"] = password
    return found


def _is_long(value: str) -> bool:
    plain = _OTHER.sub("", value)
    return len(plain) >= SHORTEST and len(set(plain)) >= _NOT_PLAIN


def in_action(action: Action, secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Return what secrets an action would publish, in words that say what they are and not what they say."""
    return in_text("\n".join(texts(action)), secrets)


def texts(action: Action) -> Iterator[str]:
    """Yield every text that an action would publish."""
    payload = record.without(record.to_wire(action)["payload"], "type")
    return (text for value in payload.values() for text in _texts(value))


def in_text(text: str, secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Return what secrets are in a text: as they are, as a reader sees them, or known ones in disguise."""
    views = _views(text)
    found = [what for what, value in secrets.items() if any(_holds(view, value) for view in views)]
    if found:  # the form of a known value need not be reported as well
        return tuple(found)
    return tuple(dict.fromkeys(what for view in views for what, _ in _key_like(view)))


def in_source(text: str, secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Return what secrets are in a program's text, which is not rendered: the same at a hundredth of the time."""
    clean = _UNSEEN.sub("", text)
    letters = _OTHER.sub("", clean)
    found = [what for what, value in secrets.items() if _is_among(letters, value)]
    return tuple(found) or tuple(dict.fromkeys(what for what, _ in _key_like(clean)))


def _views(text: str) -> tuple[str, ...]:
    """Return the text without what is invisible: as it is written, without tags, and as it is once it is rendered."""
    clean = _UNSEEN.sub("", text)
    readings = (_UNSEEN.sub("", each) for each in rendered.readings(clean))  # an entity may stand for what is not seen
    return tuple(dict.fromkeys((*readings, _TAG.sub("", clean))))


def masked(text: str, secrets: Mapping[str, str] | None = None) -> str:
    """Return a text with a mask in place of the secrets in it; where one is in disguise, the mask alone."""
    for value in sorted((secrets or {}).values(), key=len, reverse=True):
        text = text.replace(value, MASK)
    for _, found in tuple(_key_like(text)):
        text = text.replace(found, MASK)
    if in_text(text, secrets or {}):
        return MASK
    return text


def masked_document(value: JsonValue) -> JsonValue:
    """Return a JSON document with a mask in place of the secrets in its texts."""
    match value:
        case str():
            return masked(value)
        case dict():
            return {name: masked_document(each) for name, each in value.items()}
        case list() | tuple():
            return [masked_document(each) for each in value]
    return value


def key_like(text: str) -> tuple[str, ...]:
    """Return the parts of a text that have the form of a key."""
    return tuple(found for _, found in _key_like(text))


def _key_like(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text that have the form of a key, each after what it is."""
    for what, pattern in _FORMS.items():
        for match in pattern.finditer(text):
            if not pattern.groups or _is_random(match[1]):
                yield what, match[0]


def _is_random(key: str) -> bool:
    """Whether it looks like dice, and not like words or a row of `x` in an example."""
    classes = (any(map(str.isdigit, key)), any(map(str.isupper, key)), any(map(str.islower, key)))
    return len(set(key)) >= _DISTINCT and sum(classes) >= _CLASSES


def _holds(text: str, value: str) -> bool:
    """Whether a text has a value's letters and digits in their order, or those of its usual encodings."""
    return _is_among(_OTHER.sub("", text), value)


def _is_among(letters: str, value: str) -> bool:
    return any(each in letters for each in disguises(value)) or hexadecimal(value) in letters.lower()


def hexadecimal(value: str) -> str:
    """Return the value's bytes in hexadecimal; a variable of the environment need not be valid UTF-8."""
    return value.encode("utf-8", "surrogatepass").hex()


def disguises(value: str) -> Iterator[str]:
    """Yield the value's letters and digits: as they are, backwards, and as Base64 at each place of a byte in three."""
    yield _OTHER.sub("", value)
    yield _OTHER.sub("", value)[::-1]
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + value.encode("utf-8", "surrogatepass")).decode()
        # The first and the last letters depend on what stands beside the value.
        yield _OTHER.sub("", coded.rstrip("=")[before + 1 if before else 0 : -2])


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield every text in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


class SecretMask:
    """Puts a mask in place of secrets: of values that are known, plain or in disguise, and of what looks like a key."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` are the known values, each by what it is."""
        values = [value for value in secrets.values() if len(value) >= SHORTEST]
        self._values = sorted(values, key=len, reverse=True)
        self._disguises = tuple({each.encode() for value in values for each in disguises(value)})
        self._hex = tuple(hexadecimal(value).encode() for value in values)

    def masked(self, text: str) -> str:
        """Return a text with a mask in place of each secret; the mask alone where one is there in disguise."""
        if len(text) < SHORTEST:
            return text
        for value in self._values:
            text = text.replace(value, MASK)
        if any(sign in text for sign in _SIGNS) or _AWS.search(text):
            for found in key_like(text):
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
