"""Write and read the messages of prloom's commits: a person's words or an agent's, and trailers that are prloom's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prloom.core.text import forge_words

PREFIX = "Prloom-"
PLAN, TODO, ROUND = "Prloom-Plan", "Prloom-Todo", "Prloom-Round"
EVENT, APPROVED_BY = "Prloom-Event", "Prloom-Vouched-By"

_SUBJECT = 100  # characters
_BODY = 10_000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_FORGED = re.compile(r"^\s*prloom[\s_-]*\w[\w -]*:", re.IGNORECASE)
_LINE = re.compile(r"(Prloom-[A-Z][A-Za-z-]*): (.+)")
_UNSAFE = re.compile(r"[^!-~]+")


@dataclass(frozen=True, kw_only=True)
class Trailers:
    """What a commit of prloom says of its origin: the plan, the TODO, the events behind it, and who approved them."""

    plan: str
    todo: str
    round: int = 1
    events: tuple[str, ...] = ()
    approved_by: tuple[str, ...] = ()


def write(text: str | None, *, title: str, trailers: Trailers) -> str:
    """Return the message of a commit: the worker's text, or the TODO's title where it is empty, and the trailers.

    What a worker wrote as a trailer of prloom is left out, and so are control characters; a long subject is cut.
    """
    own = clean(text or "") or clean(title) or f"Work on {_value(trailers.todo)}"
    subject, _, body = own.partition("\n")
    if len(subject) > _SUBJECT:
        body = f"{subject}\n{body}"
        subject = f"{subject[: _SUBJECT - 1].rstrip()}…"
    parts = [subject, body.strip("\n")[:_BODY].rstrip(), "\n".join(_lines(trailers))]
    return "\n\n".join(part for part in parts if part) + "\n"


def clean(text: str) -> str:
    """Return a worker's text without control characters, what forges would obey, and lines like prloom's trailers."""
    plain = forge_words.muted(_CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    lines = [line.rstrip() for line in plain.split("\n")]
    kept = [line for line in lines if not _FORGED.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def read(message: str) -> Mapping[str, tuple[str, ...]]:
    """Return prloom's trailers of a commit's message: the values by name, in order; empty where it has none."""
    last = message.rstrip().rpartition("\n\n")[2]
    found: dict[str, tuple[str, ...]] = {}
    for line in last.splitlines():
        match = _LINE.fullmatch(line)
        if match:
            found[match[1]] = (*found.get(match[1], ()), match[2])
    return found


def is_of(message: str, *, plan: str, todo: str, round_: int | None = None) -> bool:
    """Whether a commit's message says that it does this TODO of this plan, in this round if one is given.

    Plans may have TODOs of one id, and the base of one plan the commits of others.
    """
    found = read(message)
    in_round = round_ is None or found.get(ROUND, ("1",)) == (str(round_),)
    return found.get(PLAN) == (_value(plan),) and found.get(TODO) == (_value(todo),) and in_round


def todo_of(message: str, *, plan: str) -> str | None:
    """Return the TODO of this plan that a commit does, as its message says; None where it does none."""
    found = read(message)
    if found.get(PLAN) != (_value(plan),) or len(found.get(TODO, ())) != 1:
        return None
    return found[TODO][0]


def is_prlooms(message: str) -> bool:
    """Whether a commit's message has the trailers of prloom."""
    found = read(message)
    return PLAN in found and TODO in found


def _lines(trailers: Trailers) -> Sequence[str]:
    lines = [f"{PLAN}: {_value(trailers.plan)}", f"{TODO}: {_value(trailers.todo)}"]
    if trailers.round > 1:
        lines.append(f"{ROUND}: {trailers.round}")
    lines += [f"{EVENT}: {_value(each)}" for each in dict.fromkeys(trailers.events)]
    lines += [f"{APPROVED_BY}: {_value(each)}" for each in dict.fromkeys(trailers.approved_by)]
    return lines


def _value(text: str) -> str:
    """Return a value for a trailer: one line, printable, without spaces."""
    return _UNSAFE.sub("_", text)[:200]
