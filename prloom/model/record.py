"""The base of every stored value: frozen, camelCase on disk, tolerant of fields it does not know."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec.structs import fields as fields_of

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, or lists and string-keyed mappings of these."""

JsonObject: TypeAlias = Mapping[str, object]
"""A JSON object of which nothing but that is known."""

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""The same for code that takes JSON from outside apart: mypy checks that it looks before it reads."""

R = TypeVar("R", bound="Record")
T = TypeVar("T")

# When msgspec (0.22) first meets a kind it works out how to read it, and two threads that do so at once end the process
# by a segmentation fault. So the first reading of a kind is one at a time.
_converted: set[type] = set()
_first_conversion = threading.Lock()


class Timestamp(datetime):
    """A time in UTC with milliseconds: a datetime in memory, and its text on disk, in `--json` and in messages."""

    __slots__ = ()

    @classmethod
    def of(cls, moment: datetime) -> Timestamp:
        """Return an aware time as a timestamp; what is less than a millisecond is cut off."""
        at = moment.astimezone(UTC)
        milliseconds = at.microsecond // 1000
        return cls(at.year, at.month, at.day, at.hour, at.minute, at.second, milliseconds * 1000, UTC)

    @classmethod
    def read(cls, text: str) -> Timestamp:
        """Return the time that a text names, which `moment` can read; raises ValueError."""
        at = cls.fromisoformat(text)
        if at.tzinfo is UTC and not at.microsecond % 1000:  # as prloom writes it
            return at
        try:
            return cls.of(at if at.tzinfo else at.replace(tzinfo=UTC))
        except OverflowError as error:  # a zone leads out of the years that a datetime knows
            raise ValueError(f"Invalid time: {text!r}") from error

    def __str__(self) -> str:
        """Return the time as `iso` writes it."""
        return iso(self)


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A frozen value that is written as one JSON object; unknown fields are ignored when it is read.

    JSON has no cycles, so the garbage collector need not look at records: there may be thousands of them. The modules
    of those that every command reads, such as `model/state`, do without `from __future__ import annotations`: msgspec
    would compile the text of each field's type, which takes as long as reading twenty plans.
    """


def to_wire(record: Record) -> dict[str, Json]:
    """Return the record as JSON builtins; its own optional fields that are None are left out."""
    return {key: value for key, value in to_builtins(record).items() if value is not None}


def to_builtins(value: object) -> Json:
    """Return records, and what contains some, as JSON builtins."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=encode_timestamp)


def encode_timestamp(value: object) -> str:
    """Return the text of a timestamp: the `enc_hook` of everything that writes records."""
    if isinstance(value, Timestamp):
        return iso(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")  # as msgspec itself says it


def _decode_timestamp(kind: type, value: object) -> Timestamp:
    """Return the timestamp that a text names: the `dec_hook` of everything that reads records."""
    if kind is Timestamp and isinstance(value, str):
        return Timestamp.read(value)
    raise ValueError(f"Expected a time, got `{type(value).__name__}`")


def sparse(record: Record) -> msgspec.Struct:
    """Return what `to_wire` does, but for an encoder, which knows records: so it is as quick to make as to write."""
    if record.__struct_config__.omit_defaults:
        return record
    twin, values = _twin(type(record))
    return twin(*values(record))


@cache
def _twin(kind: type[Record]) -> tuple[type[msgspec.Struct], Callable[[Record], Iterable[Json]]]:
    """Return a kind with the same fields, of which those that are None are not written, and what gets the values.

    msgspec leaves out all that is as its default says, or nothing; so for the others the default is what nothing is.
    """
    fields, no_default = fields_of(kind), object()
    field_specs = [(field.encode_name, Any, None if field.default is None else no_default) for field in fields]
    twin = msgspec.defstruct(kind.__name__, field_specs, omit_defaults=True, gc=False)
    return twin, _getter([field.name for field in fields])


def _getter(names: Sequence[str]) -> Callable[[Record], Iterable[Json]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: [getattr(record, name) for name in names]  # for attrgetter gives no tuple of one


def from_wire(kind: type[R], value: Json) -> R:
    """Return the value as a record of this kind; raises msgspec.ValidationError, whose text names the field."""
    if kind in _converted:
        return msgspec.convert(value, kind, dec_hook=_decode_timestamp)
    with _first_conversion:
        try:
            return msgspec.convert(value, kind, dec_hook=_decode_timestamp)
        finally:
            _converted.add(kind)


def decode(kind: type[T], content: bytes) -> T:
    """Return the value of this kind that JSON holds; raises msgspec.ValidationError or msgspec.DecodeError."""
    if kind in _converted:
        return msgspec.json.decode(content, type=kind, dec_hook=_decode_timestamp)
    with _first_conversion:
        try:
            return msgspec.json.decode(content, type=kind, dec_hook=_decode_timestamp)
        finally:
            _converted.add(kind)


def text_at(fields: Mapping[str, Json], key: str) -> str | None:
    """Return the string at the key of a JSON object, or None."""
    found = fields.get(key)
    if isinstance(found, str):
        return found
    return None


def is_encodable(text: str) -> bool:
    """Whether a text can be stored as UTF-8; one with half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the mapping less these keys."""
    return {key: value for key, value in mapping.items() if key not in keys}


def iso(moment: datetime) -> str:
    """Return an aware time as `2026-11-21T06:54:50.288Z` (UTC, milliseconds), the form of every time on disk."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unix_ms(moment: datetime) -> int:
    """Return an aware time as Unix time in milliseconds."""
    return int(moment.timestamp() * 1000)


def moment(text: str) -> datetime:
    """Return the aware time that an ISO 8601 text names (UTC if it names no zone); raises ValueError."""
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo:
        return parsed
    return parsed.replace(tzinfo=UTC)


def read_time(text: str | None) -> datetime | None:
    """Return the aware time that a text from outside names; None for one that is missing or no time.

    The time of an event is kept as its source wrote it: a malformed one must not lose the event.
    """
    try:
        return None if text is None else moment(text)
    except ValueError:
        return None


SLACK = timedelta(minutes=1)
"""A clock that is put right by less than this is followed without a word."""


def clock_rolled_back(written: datetime | None, now: datetime) -> bool:
    """Whether a time that was `now` once is yet to come by the clock.

    Then what is left of a wait that was named at that time is not known. It is over: early by less than the wait, and
    once, for a new wait counts by the new clock.
    """
    return written is not None and written > now + SLACK


def rolled_back_by(before: datetime, now: datetime) -> timedelta:
    """Return by how much the clock was turned back between two looks at it; nothing where it was not."""
    if before - now > SLACK:
        return before - now
    return timedelta()


class Position(NamedTuple):
    """Where a line stands: the segment's number, from 1, and the offset in bytes. A JSON array of two numbers."""

    segment: int
    offset: int


class Cursor(NamedTuple):
    """How far a reader has come; a JSON array of three numbers that outlives the process.

    `late` is how far it came in the segment before this one: a program that opened the file before a rotation may
    still append its line there, and that line is read too.
    """

    segment: int = 1
    offset: int = 0
    late: int = 0


START = Cursor()
