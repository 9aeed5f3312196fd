"""Turn JSON values into bytes and back, whatever text from outside is in them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from prloom.model import record

_encoder = msgspec.json.Encoder(enc_hook=record.encode_timestamp)


class Unreadable(msgspec.Struct, frozen=True):
    """Bytes that mean nothing to this program, and why; `newer` ones are sound, and mean something to a later one."""

    reason: str
    newer: bool = False


def encode(value: object, *, pretty: bool = False) -> bytes:
    """Return a value of JSON builtins and records as one line of UTF-8 without its newline, or as an indented text.

    Half a surrogate pair (a text cut in the middle of an emoji) has no UTF-8 and becomes U+FFFD.
    """
    try:
        text = _encoder.encode(value)
    except UnicodeEncodeError:
        text = _encoder.encode(_without_lone_surrogates(record.to_builtins(value)))
    if pretty:
        return msgspec.json.format(text, indent=2) + b"\n"
    return text


def encode_lines(values: Sequence[object]) -> bytes:
    """Return values as `encode` makes them, each with its newline: a page in one go, which is a third of the time."""
    try:
        return _encoder.encode_lines(values)
    except UnicodeEncodeError:
        return b"".join(encode(value) + b"\n" for value in values)


def decode(content: bytes) -> dict[str, Any] | Unreadable:
    """Return the JSON object that the bytes are, or why they are none."""
    value = parse(content)
    if isinstance(value, dict | Unreadable):
        return value
    return Unreadable("it is JSON, but not an object")


def parse(content: bytes) -> Any | Unreadable:  # noqa: ANN401 (any JSON value)
    """Return the JSON value that the bytes are, or why they are none."""
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        return Unreadable("it is nested too deeply")
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        if not _is_utf_8(content):
            return Unreadable("it is not UTF-8")
        return _lenient_decode(content, str(error))


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lenient_decode(content: bytes, reason: str) -> Any | Unreadable:  # noqa: ANN401 (any JSON value)
    r"""Read what the strict decoder refuses though the grammar (RFC 8259) allows it: `\ud83d` without its partner."""
    if b"\\ud" not in content.lower():
        return Unreadable(reason)
    import json  # noqa: PLC0415 (hardly ever needed, and status starts without it)

    try:
        return _without_lone_surrogates(json.loads(content, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return Unreadable(reason)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _without_lone_surrogates(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_lone_surrogates(item) for item in value]
        case _:
            return value
