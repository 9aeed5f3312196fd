"""Read the answer of a worker: what became of its TODO, and its words for the commit, the thread and later TODOs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from prloom.core.answers import json_answer
from prloom.core.answers.json_answer import AnswerError, InvalidAnswer
from prloom.core.text import bounds, markdown
from prloom.model.record import JsonValue
from prloom.model.work import NewTodo

WorkerOutcome = Literal["done", "blocked", "nothing_to_do"]
OUTCOMES: tuple[WorkerOutcome, ...] = get_args(WorkerOutcome)

KEY = "outcome"
"""The key by which the answer is found in what an agent says."""

LONGEST_TEXT = 20_000
"""Characters of a summary, a question, a commit message, notes or a TODO's context that are kept."""

MOST_TODOS = 20
"""Further TODOs that one answer may have."""

# prloom finds a TODO's commit by its trailers, so none may come from an agent; git unfolds what is indented below one.
_TRAILER = re.compile(r"[ \t]*prloom-[a-z0-9-]*[ \t]*:", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class WorkAnswer:
    """What a worker says of its TODO. A text that it left out is empty; `todos` are further ones that it proposes."""

    outcome: WorkerOutcome
    summary: str = ""
    commit_message: str = ""
    question: str = ""
    todos: tuple[NewTodo, ...] = ()
    notes: str = ""


def read(value: JsonValue) -> WorkAnswer | InvalidAnswer:
    """Return the answer, or the first thing that is wrong with it. What prloom does not know is passed over."""
    return json_answer.read(value, _read)


def _read(found: Mapping[str, JsonValue]) -> WorkAnswer:
    outcome = cast("WorkerOutcome", json_answer.choice(found, KEY, OUTCOMES))
    summary = json_answer.text(found, "summary", LONGEST_TEXT)
    question = json_answer.text(found, "question", LONGEST_TEXT)
    if outcome == "blocked" and not (question or summary):
        raise AnswerError("`outcome` is blocked, but neither `question` nor `summary` says by what")
    return WorkAnswer(
        outcome=outcome,
        summary=summary,
        commit_message=_commit_message(json_answer.text(found, "commitMessage", LONGEST_TEXT)),
        question=question,
        todos=tuple(_todo(each, n) for n, each in enumerate(json_answer.objects(found, "todos", MOST_TODOS), start=1)),
        notes=json_answer.text(found, "notes", LONGEST_TEXT),
    )


def _commit_message(text: str) -> str:
    """Return the message without trailers of prloom's own."""
    return "\n".join(markdown.trimmed([line for line in text.split("\n") if not _TRAILER.match(line)]))


def _todo(raw: Mapping[str, JsonValue], number: int) -> NewTodo:
    full = markdown.one_line(json_answer.text(raw, "title", LONGEST_TEXT))
    if not full:
        raise AnswerError(f"entry {number} of `todos` has no `title`")
    context = json_answer.text(raw, "context", LONGEST_TEXT)
    if len(full) > bounds.TITLE:  # the whole of it is still what the next worker reads
        context = f"{full}\n\n{context}".strip()
    return NewTodo(title=bounds.title(full), context=context)
