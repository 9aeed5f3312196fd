"""Write the prompt of a triage run: the job, the events as data that cannot pass for orders, and the answer's form.

Every text from outside is between two lines that carry a token which its author cannot have known. What is not such
a text is prloom's own, or the operator's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from prloom.core import markdown, plan_file
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.model.record import Json

if TYPE_CHECKING:
    from jinja2 import Template

LONGEST_TEXT = 20_000
"""Characters of a body, a diff hunk or a list of TODOs that are shown; of a longer one the middle is left out."""

LONGEST_PROMPT = 400_000
"""Characters that the texts of one batch share: where there are many events, each text is cut sooner."""

SHORTEST_TEXT = 1_000
"""Characters that a text is given in any case."""

_LONGEST_FACT = 1_000
_FENCE = re.compile(r"[A-Za-z0-9_-]{16,}")
_LINE_BREAKS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Control characters; those that turn the reading direction; and those that are invisible, in which a text can hide
# another one from the person who approves it. Joiners and variation selectors stay, one at a time: scripts and emoji
# are written with them, and each one after the first of its kind says nothing but what is hidden.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<=[\u200c\u200d])[\u200c\u200d]|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)


@dataclass(frozen=True)
class _EventView:
    """An event as the template shows it: one-line facts, and its texts by name."""

    number: int
    facts: str
    texts: tuple[tuple[str, str], ...]


def triage_prompt(
    *,
    plan: Plan,
    plan_text: str,
    events: Sequence[Event],
    answer_path: str,
    fence: str,
    repository_context: str | None,
) -> str:
    """Return the prompt for one batch of events of a plan.

    `fence` is a fresh random token of at least 16 letters, digits, '-' or '_'. Should one of the texts hold it all the
    same, another one is derived from it and from the texts. `repository_context` is the operator's, and not fenced.
    Raises ValueError for a batch without events, or a token that could be guessed.
    """
    if not events:
        raise ValueError("a triage prompt needs at least one event")
    if not _FENCE.fullmatch(fence):
        raise ValueError("the fence of a prompt is a random token of at least 16 letters, digits, '-' or '_'")
    limit = min(max(LONGEST_PROMPT // (2 * len(events)), SHORTEST_TEXT), LONGEST_TEXT)
    views = [_event_view(number, event, limit) for number, event in enumerate(events, start=1)]
    facts, todos = _facts({"id": plan.id, "branch": plan.branch, "pull request": plan.pr}), _todos(plan_text)
    context = _clean(repository_context or "").strip()
    path = _clean(answer_path)
    texts = [facts, todos, path, context]
    texts += [text for event in views for text in (event.facts, *(text for _, text in event.texts))]
    return _template().render(
        plan_facts=facts,
        todos=todos,
        events=views,
        answer_path=path,
        fence=_unbroken(fence, texts),
        repository_context=context,
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - a fifth of the start-up, for the first prompt

    # Markdown, not HTML: escaping would show an agent other text than was written.
    environment = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - see above
    return environment.from_string(files("prloom.core").joinpath("templates", "triage.md.j2").read_text("utf-8"))


def _event_view(number: int, event: Event, limit: int) -> _EventView:
    context = event.context
    facts = {
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "author": event.author.login if event.author else "the operator",
        "created": event.created_at,
        "url": event.url,
        "file": context.get("file", context.get("path")),
        "line": context.get("line"),
        "side": context.get("side"),
    }
    texts = {"title": event.title, "diff hunk": context.get("diffHunk"), "body": event.body}
    cut = {name: _cut(_clean(text), limit) for name, text in texts.items() if isinstance(text, str)}
    return _EventView(number, _facts(facts), tuple((name, text) for name, text in cut.items() if text.strip()))


def _facts(facts: Mapping[str, Json]) -> str:
    """Return facts as lines of `name: JSON`: a value from outside cannot become a second line."""
    return "\n".join(f"{name}: {_literal(name, value)}" for name, value in facts.items() if value is not None)


def _literal(name: str, value: Json) -> str:
    if not isinstance(value, str):
        return json.dumps(value if isinstance(value, int | float) else str(value))[:_LONGEST_FACT]
    if name == "id":  # to the letter, for the answer has to name it
        return json.dumps(value, ensure_ascii=_clean(value) != value)
    return json.dumps(_cut(_clean(value), _LONGEST_FACT), ensure_ascii=False)


def _todos(plan_text: str) -> str:
    lines = [f"- [{'x' if todo.done else ' '}] {markdown.one_line(todo.title)}" for todo in plan_file.todos(plan_text)]
    return _cut(_clean("\n".join(lines)), LONGEST_TEXT)


def _clean(text: str) -> str:
    """Return the text with plain line ends, and without invisible characters."""
    return _UNSEEN.sub("", _LINE_BREAKS.sub("\n", text))


def _cut(text: str, limit: int) -> str:
    """Return the text, or its two ends: a log and a diff hunk say at their end what they are about."""
    left_out = len(text) - limit
    if left_out <= 0:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… prloom left out {left_out} characters here …]\n{text[-half:]}"


def _unbroken(fence: str, texts: Iterable[str]) -> str:
    """Return a fence that occurs in none of the texts."""
    whole = "\n".join(texts).casefold()
    while fence.casefold() in whole:
        fence = sha256(f"{fence}\n{whole}".encode("utf-8", "surrogatepass")).hexdigest()
    return fence
