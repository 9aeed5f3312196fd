"""Find and take apart what agents answer: one JSON object, of whose form nothing can be trusted."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from prloom.core.text import markdown
from prloom.errors import PrloomError
from prloom.model.record import JsonValue

A = TypeVar("A")

LONGEST_ANSWER = 1024 * 1024
"""Characters of an agent's final message that are searched for its answer."""

# What a hostile text may cost: places where an object may begin, and characters that are parsed in vain. A text nested
# so deep that the parser gives up (it does not say where) counts as _DEEP characters.
_MOST_TRIES = 5000
_MOST_WORK = 16 * LONGEST_ANSWER
_DEEP = LONGEST_ANSWER // 8
# In a valid answer nothing but an object matches this: in its strings the quotes are escaped.
_OBJECT = re.compile(r'\{\s*"')


_SHOWN = 40


@dataclass(frozen=True)
class InvalidAnswer:
    """An answer that cannot be used, and why, in one sentence that the agent may be shown."""

    problem: str


class AnswerError(PrloomError):
    """The reason why an answer cannot be used, on its way to an `InvalidAnswer`."""


def find(text: str, key: str) -> JsonValue:
    """Return the last JSON object in the text that has this key, or None; it may have prose and fences around it."""
    decoder = json.JSONDecoder()
    text = text[-LONGEST_ANSWER:]
    found: JsonValue = None
    end, work = 0, _MOST_WORK
    for start in deque((match.start() for match in _OBJECT.finditer(text)), maxlen=_MOST_TRIES):
        if start < end or work < 0:  # a part of the object before, or of a text that nobody can read
            continue
        try:  # on a copy of the rest: an error counts all lines before the place that it happened in
            value, length = decoder.raw_decode(text[start:])
        except json.JSONDecodeError as error:
            work -= error.pos
        except (ValueError, RecursionError):
            work -= _DEEP
        else:
            end = start + length
            if key in value:
                found = value
    return found


def read(value: JsonValue, parse: Callable[[Mapping[str, JsonValue]], A]) -> A | InvalidAnswer:
    """Return the answer that is parsed from an object, or the first thing that is wrong with it."""
    try:
        return parse(fields(value))
    except AnswerError as problem:
        return InvalidAnswer(str(problem))


def fields(value: JsonValue) -> Mapping[str, JsonValue]:
    """Return the answer's fields; raise AnswerError for anything but an object."""
    if isinstance(value, Mapping):
        return value
    raise AnswerError("there is no answer: neither a file nor a JSON object in the final message")


def choice(answer: Mapping[str, JsonValue], key: str, allowed: tuple[str, ...]) -> str:
    """Return the field's word, one of those that are allowed; raise AnswerError."""
    found = answer.get(key)
    if isinstance(found, str) and found in allowed:
        return found
    raise AnswerError(f"`{key}` must be one of {', '.join(allowed)}, but it is {_brief(found)}")


def text(answer: Mapping[str, JsonValue], key: str, longest: int) -> str:
    """Return the field as clean text, cut; empty where it is missing or null. Raise AnswerError for another type."""
    found = answer.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise AnswerError(f"`{key}` must be a text or null, but it is {_brief(found)}")
    clean = "\n".join(markdown.clean(found[: 2 * longest]))
    if len(clean) <= longest:
        return clean
    return clean[: longest - 1] + "…"


def objects(answer: Mapping[str, JsonValue], key: str, most: int) -> tuple[Mapping[str, JsonValue], ...]:
    """Return the objects of the field's list, none where it is missing or null; raise AnswerError."""
    found = answer.get(key)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise AnswerError(f"`{key}` must be a list, but it is {_brief(found)}")
    if len(found) > most:
        raise AnswerError(f"`{key}` has {len(found)} entries, and at most {most} are allowed")
    for number, each in enumerate(found, start=1):
        if not isinstance(each, Mapping):
            raise AnswerError(f"entry {number} of `{key}` must be an object, but it is {_brief(each)}")
    return tuple(found)


def _brief(value: JsonValue) -> str:
    """Return a value as a message shows it: a short one to the letter, of a longer one the type."""
    match value:
        case None:
            return "missing or null"
        case bool() | int() | float():
            return json.dumps(value)
        case str() if len(value) <= _SHOWN:
            return json.dumps(value)
        case str():
            return "a long text"
        case list():
            return "a list"
        case _:
            return "an object"
