"""Decide who may allow an agent's call by a comment, and write what people are told of such requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from msgspec.structs import replace

from prloom.core.delivery import reply_sanitizer
from prloom.core.text import markdown
from prloom.model.event import Event
from prloom.model.permission import Choice, PermissionRequest
from prloom.model.state import OpenEvent

ALWAYS = "--always"
"""The word by which a request is allowed together with all later calls of the tool for the plan."""

NEEDS_COMMENT = "A trusted person must write this in a comment, or run `prloom allow` on the operator's machine."

LONGEST_ANSWER = 8000
"""Characters of an answer that the agent is shown."""

_ANSWER_HERE = "The next comment here by a trusted person is the answer."

_ANSWER_ELSEWHERE = (
    "Answer with `w` in `prloom top`, or in `prloom web`. You can also write an item under `## ready`; "
    "while a worker runs, it counts once you have run `prloom approve`."
)

_LISTED = 10
_LONGEST_VALUE = 200


def comment_problem(event: Event, *, vouched: bool) -> str | None:
    """Return why a comment must not decide about a request, or None.

    An event without an author is a line that any program on the machine may have written, an agent's too. Only the text
    of a vouched one was approved, and not its author; and a bot is no person.
    """
    if event.author is None:
        return NEEDS_COMMENT
    if vouched:
        return "Only a trusted person can allow or deny this."
    if event.author.bot:
        return "A bot cannot allow or deny this."
    return None


def readable(opened: OpenEvent, event: Event, operator: str) -> OpenEvent:
    """Return an event as the rules for answers see it.

    What the operator wrote into the plan's folder while an agent ran there is held until the operator approves it: then
    it is the operator's own word.
    """
    if event.author is None and opened.vouched and opened.approved_by == operator:
        return replace(opened, vouched=False)
    return opened


def answer_text(event: Event) -> str:
    """Return what an event says, as an answer. A title is a bridge's ("ann commented"), unless it is all there is."""
    said = event.body.strip() or event.title.strip()
    return said[:LONGEST_ANSWER]


def question_key(run: str, question: str, options: Sequence[str]) -> str:
    """Return what is the same whenever a run asks this question."""
    asked = json.dumps([run, question, *options])
    return f"{run}/{hashlib.sha256(asked.encode()).hexdigest()}"


def question_id(key: str, number: int) -> str:
    """Return the id of the request of a question that a run asks for the `number`th time, from 0."""
    return f"ask-{hashlib.sha256(f'{key} {number}'.encode()).hexdigest()[:8]}"


def question_text(request: str, question: str, options: Sequence[str], *, in_file: bool) -> str:
    """Return the comment that asks a question, on a pull request or in the plan's file."""
    how = _ANSWER_HERE
    if in_file:
        how = _ANSWER_ELSEWHERE
    quoted = [f"> {line}" for line in markdown.clean(question)]
    lines = [f"An agent asks ({markdown.code(request)}):", "", *quoted]
    if options:
        lines += ["", *(f"- {markdown.one_line(option)}" for option in options)]
    text = markdown.escaped_comments("\n".join([*lines, "", how]))
    return reply_sanitizer.sanitize(text, to=None)


def request_text(request: PermissionRequest) -> str:
    """Return a request in one line of Markdown."""
    tool = markdown.code(markdown.one_line(request.tool))
    return f"{markdown.code(request.id)}: {tool}, in run {markdown.code(request.run)}"


def which_text(requests: Sequence[PermissionRequest]) -> str:
    """Return the reply to a command that names no request that waits."""
    if not requests:
        return "No call of a tool waits to be allowed."
    lines = [f"- {request_text(each)}" for each in requests[:_LISTED]]
    return "\n".join(["Name one of the requests that wait, as in `/prloom allow ID`:", "", *lines])


def decided_text(request: PermissionRequest, choice: Choice) -> str:
    """Return the reply to a command that has decided a request."""
    done = {
        "allow": "Allowed",
        "allow_always": "Allowed, with all later calls for this pull request",
        "deny": "Denied",
        "timeout": "Denied",
    }
    return f"{done[choice]}: {request_text(request)}."


def arguments_line(request: PermissionRequest) -> str:
    """Return the arguments of a call for a person, in one line."""
    parts = [f"{name}={_short(value)}" for name, value in request.arguments.items()]
    return ", ".join(parts)


def _short(value: object) -> str:
    text = markdown.one_line(repr(value))
    if len(text) <= _LONGEST_VALUE:
        return text
    return f"{text[:_LONGEST_VALUE]}… ({len(text)} characters)"
