"""Read what agent programs print, trusting nothing about its shape, and decide what a run came to."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from prloom.agents import error_kinds, limits
from prloom.agents.agent import EndedBy, ErrorKind, LimitReport, ProgramEnding, RunResult, TokenUsage
from prloom.model import record
from prloom.model.kinds import RunOutcome
from prloom.model.record import JsonObject

NOTHING: JsonObject = {}


def events(output: str) -> Iterator[JsonObject]:
    """Yield each line that holds a JSON object; pass over everything else (warnings, banners, a torn last line)."""
    for line in output.split("\n"):
        if line.lstrip().startswith("{"):
            event = _decoded(line)
            if isinstance(event, dict):
                yield event


def _decoded(line: str) -> object:
    try:
        # Not msgspec: these are lines of other programs, and some print NaN.
        return cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return None


def obj(event: JsonObject, *keys: str) -> JsonObject:
    """Return the object at the path of keys, or an empty one."""
    for key in keys:
        found = event.get(key)
        if not isinstance(found, dict):
            return NOTHING
        event = found
    return event


def objects(event: JsonObject, key: str) -> tuple[JsonObject, ...]:
    """Return the objects of the list at the key; everything else in it is passed over."""
    found = event.get(key)
    if isinstance(found, list):
        return tuple(item for item in found if isinstance(item, dict))
    return ()


text = record.text_at
"""Returns the string at the key, or None."""


def count(event: JsonObject, key: str) -> int | None:
    """Return the whole number at the key, or None; a truth value is no number."""
    found = event.get(key)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return None


def amount(event: JsonObject, key: str) -> float | None:
    """Return the finite number at the key, or None."""
    found = event.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    if abs(found) <= sys.float_info.max:  # a whole number may be larger
        return float(found)
    return None


# A shell or launcher says so that its child was ended by a signal. Not every code above 128: gemini exits with 145.
_SIGNAL_EXITS = {128 + number: number for number in (1, 2, 3, 6, 9, 11, 15)}
_NOT_STARTED = (126, 127)
_QUOTED = 500
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,127}")
_BY_LIMIT: Mapping[EndedBy, str] = {
    "timeout": "the run exceeded its time limit",
    "silence": "the run printed nothing for longer than the limit",
    "output": "the run printed more than the limit",
}


@dataclass(frozen=True, kw_only=True)
class ParsedOutput:
    """What a program's output says about its run.

    `closed` is whether the program said that it was done (always true for one that never says so); `error` is its last
    complaint, unless the run went well after it.
    """

    message: str = ""
    closed: bool = False
    error: str | None = None
    trouble: ErrorKind | None = None
    retry_at: datetime | None = None
    denials: tuple[str, ...] = ()
    usage: TokenUsage | None = None
    cost_usd: float | None = None
    session_id: str | None = None
    model: str | None = None
    turns: int | None = None


def conclude(reading: ParsedOutput, ending: ProgramEnding) -> RunResult:
    """Return the run's result.

    Success is: ended by itself with exit code 0, and a closing result, and no error, and a final message. Every one of
    these alone was seen to hold in runs that had failed.
    """
    trouble, error = _error_kind(reading, ending)
    retry_at = None
    if trouble == "usage_limit":
        retry_at = _retry_at(reading, ending, error)
    status = _status(trouble)
    return RunResult(
        status=status,
        message=reading.message,
        trouble=trouble,
        error=error,
        retry_at=retry_at,
        denials=reading.denials,
        usage=reading.usage,
        cost_usd=reading.cost_usd,
        session_id=_session_id(reading.session_id),
        model=reading.model,
        turns=reading.turns,
    )


def is_session_id(found: str) -> bool:
    """Whether a text can be the id of a session: it becomes an argument, and must not pass for an option."""
    return _SESSION_ID.fullmatch(found) is not None


def _session_id(found: str | None) -> str | None:
    if found is not None and is_session_id(found):
        return found
    return None


def _status(trouble: ErrorKind | None) -> RunOutcome:
    if trouble is None:
        return "ok"
    if trouble in ("stopped", "lost"):
        return "interrupted"
    if trouble == "usage_limit":
        return "limited"
    if trouble in ("auth", "start"):
        return "unusable"
    return "failed"


def _error_kind(reading: ParsedOutput, ending: ProgramEnding) -> tuple[ErrorKind | None, str | None]:
    """Return what went wrong and how to say it, the most telling reason first."""
    complaint = _complaint(reading, ending)
    match ending.ended_by:
        case "terminated":
            return "stopped", "prloom ended the run"
        case "limit":
            return _refused(ending.refusal)
        case "timeout" | "silence" if ending.refusal is not None:
            return _refused(ending.refusal)
        case "timeout" | "silence" | "output" as limit:
            said = ""
            if complaint:
                said = f"; its last message: {complaint}"
            return reading.trouble or limit, _BY_LIMIT[limit] + said
        case "exit" if ending.refusal is not None and not reading.error and not reading.closed:
            return _refused(ending.refusal)
        case "exit" if reading.error:
            return reading.trouble or error_kinds.of_text(reading.error), complaint
        case "exit":
            if ending.code:
                return _by_code(ending, complaint)
            return _by_word(reading, complaint)


def _refused(refusal: LimitReport | None) -> tuple[ErrorKind, str]:
    """Return the trouble of a run that a limit of the model's server kept from going on: the text is not at fault."""
    said = ""
    if refusal:
        said = f": {_short(refusal.message)}"
    if refusal is not None and refusal.trouble == "rate_limit":
        return "usage_limit", f"the model's server refused every request for a while{said}"
    return "usage_limit", f"the usage limit is reached{said}"


def _by_code(ending: ProgramEnding, complaint: str | None) -> tuple[ErrorKind, str]:
    """Return what an exit code other than 0 means when the output says nothing of it."""
    code = ending.code
    number = -code if code < 0 else _SIGNAL_EXITS.get(code)
    if number is not None:
        return "killed", f"the program was ended by signal {number}, which prloom did not send"
    said = ""
    if complaint:
        said = f": {complaint}"
    if code in _NOT_STARTED:
        return "start", f"the program could not be started{said}"
    return error_kinds.of_text(complaint or ""), f"the program ended with exit code {code}{said}"


def _by_word(reading: ParsedOutput, complaint: str | None) -> tuple[ErrorKind | None, str | None]:
    """Return what is missing from a run that ended with exit code 0 and without an error."""
    if not reading.closed:
        said = ""
        if complaint:
            said = f": {complaint}"
        return "no_result", f"the program ended without reporting a result{said}"
    if not reading.message.strip():
        return "empty", "the program ended successfully, but its final message is empty"
    return None, None


def _complaint(reading: ParsedOutput, ending: ProgramEnding) -> str | None:
    """Return the program's own last word about trouble: from its output, or else the end of its stderr."""
    if reading.error:
        return _short(reading.error)
    lines = [line.strip() for line in ending.stderr.splitlines() if line.strip()]
    if lines:
        return _short(lines[-1])
    return None


def _retry_at(reading: ParsedOutput, ending: ProgramEnding, error: str | None) -> datetime | None:
    """Return when the allowance is there again, as an event of the stream or else the error's words say it."""
    refused = None
    if ending.refusal:
        refused = ending.refusal.retry_at
    return reading.retry_at or refused or limits.reset_time(reading.error or error or "", ending.at)


def _short(message: str) -> str:
    message = message.strip()
    if len(message) <= _QUOTED:
        return message
    return message[:_QUOTED] + " …"
