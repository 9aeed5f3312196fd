"""Read the answer of the agent that reviews a change before it is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from prloom.core.answers import json_answer
from prloom.core.answers.json_answer import AnswerError, InvalidAnswer
from prloom.core.text import markdown
from prloom.model.record import JsonValue

ReviewVerdict = Literal["approve", "reject"]
VERDICTS: tuple[ReviewVerdict, ...] = get_args(ReviewVerdict)

KEY = "verdict"
"""The key by which the answer is found in what an agent says."""

LONGEST_TEXT = 20_000
"""Characters of a summary or a comment that are kept."""

MOST_COMMENTS = 100
"""Comments that one answer may have."""

_LONGEST_PATH = 1000


@dataclass(frozen=True, kw_only=True)
class LineComment:
    """What the reviewer says of a file or a line of it; `path` is for people and agents to read, never to be opened."""

    path: str
    line: int | None
    body: str


@dataclass(frozen=True, kw_only=True)
class ReviewAnswer:
    """Whether the change may be committed, and why not."""

    verdict: ReviewVerdict
    summary: str = ""
    comments: tuple[LineComment, ...] = ()


def read(value: JsonValue) -> ReviewAnswer | InvalidAnswer:
    """Return the answer, or the first thing that is wrong with it. What prloom does not know is passed over."""
    return json_answer.read(value, _read)


def as_text(review: ReviewAnswer) -> str:
    """Return a review as the worker is shown it: the summary, then each comment with its file and line."""
    lines = [review.summary] if review.summary else []
    for comment in review.comments:
        at = comment.path
        if comment.line is not None:
            at = f"{comment.path}:{comment.line}"
        lines.append(f"{at or 'the change'}: {comment.body}")
    return "\n\n".join(lines)


def _read(found: Mapping[str, JsonValue]) -> ReviewAnswer:
    verdict = cast("ReviewVerdict", json_answer.choice(found, KEY, VERDICTS))
    summary = json_answer.text(found, "summary", LONGEST_TEXT)
    raw = json_answer.objects(found, "comments", MOST_COMMENTS)
    comments = tuple(_comment(each, number) for number, each in enumerate(raw, start=1))
    if verdict == "reject" and not (summary or comments):
        raise AnswerError("`verdict` is reject, but neither `summary` nor `comments` says why")
    return ReviewAnswer(verdict=verdict, summary=summary, comments=comments)


def _comment(raw: Mapping[str, JsonValue], number: int) -> LineComment:
    body = json_answer.text(raw, "body", LONGEST_TEXT)
    if not body:
        raise AnswerError(f"entry {number} of `comments` has no `body`")
    line = raw.get("line")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
        raise AnswerError(f"`line` in entry {number} of `comments` must be a line number or null")
    return LineComment(path=markdown.one_line(json_answer.text(raw, "path", _LONGEST_PATH)), line=line, body=body)
