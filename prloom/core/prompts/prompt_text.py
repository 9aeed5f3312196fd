"""Prepare texts from outside for a prompt: without invisible characters, cut, and between marks that nobody can forge.

Every text from outside is between two lines that carry a token which its author cannot have known.
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

from prloom.model.event import Event
from prloom.model.record import Json

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST_TEXT = 20_000
"""Characters of a body, a diff hunk or a list of TODOs that are shown; of a longer one the middle is left out."""

LONGEST_PROMPT = 400_000
"""Characters that the texts of one batch share: where there are many events, each text is cut sooner."""

SHORTEST_TEXT = 1_000
"""Characters that a text is given in any case."""

_FOLDER = files("prloom.core.prompts").joinpath("templates")
_LONGEST_FACT = 1_000
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")
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
class EventView:
    """An event as the template shows it: one-line facts, and its texts by name."""

    number: int
    facts: str
    texts: tuple[tuple[str, str], ...]


def render(
    name: str,
    *,
    fence: str,
    texts: Mapping[str, str],
    events: Sequence[EventView] = (),
    lists: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """Return the prompt that the template of this name makes of clean texts, lists of them, and events.

    `fence` is a fresh random token of at least 16 letters, digits, '-' or '_'. Should one of the texts hold it all the
    same, another one is derived from it and from the texts. Raises ValueError for a token that could be guessed.
    """
    if not _TOKEN.fullmatch(fence):
        raise ValueError("the fence of a prompt is a random token of at least 16 letters, digits, '-' or '_'")
    lists = lists or {}
    outer = [*texts.values(), *(text for each in lists.values() for text in each)]
    outer += [text for event in events for text in (event.facts, *(text for _, text in event.texts))]
    return _templates().get_template(name).render(texts, **lists, events=events, fence=_unbroken(fence, outer))


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - a fifth of the start-up, for the first prompt

    # Markdown, not HTML: escaping would show an agent other text than was written.
    return Environment(
        loader=FunctionLoader(lambda name: _FOLDER.joinpath(name).read_text("utf-8")),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - see above
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def event_views(events: Sequence[Event]) -> tuple[EventView, ...]:
    """Return the events as a template shows them, numbered from 1; many share the space of one."""
    limit = min(max(LONGEST_PROMPT // (2 * max(len(events), 1)), SHORTEST_TEXT), LONGEST_TEXT)
    return tuple(_event_view(number, event, limit) for number, event in enumerate(events, start=1))


def _event_view(number: int, event: Event, limit: int) -> EventView:
    context = event.context
    about = {
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "author": event.author.login if event.author else "the operator",
        "created": event.created_at,
        "url": event.url,
        "file": context.get("file", context.get("path")),
        "line": context.get("line"),
        "side": context.get("side"),
        "commit": context.get("commit"),
    }
    texts = {"title": event.title, "diff hunk": context.get("diffHunk"), "body": event.body}
    visible = {name: cut(clean(text), limit) for name, text in texts.items() if isinstance(text, str)}
    return EventView(number, facts(about), tuple((name, text) for name, text in visible.items() if text.strip()))


def facts(about: Mapping[str, Json]) -> str:
    """Return facts as lines of `name: JSON`: a value from outside cannot become a second line."""
    return "\n".join(f"{name}: {_literal(name, value)}" for name, value in about.items() if value is not None)


def _literal(name: str, value: Json) -> str:
    if not isinstance(value, str):
        return json.dumps(value if isinstance(value, int | float) else str(value))[:_LONGEST_FACT]
    if name == "id":  # to the letter, for the answer has to name it
        return json.dumps(value, ensure_ascii=clean(value) != value)
    return json.dumps(cut(clean(value), _LONGEST_FACT), ensure_ascii=False)


def with_files(prompt: str, files: Sequence[str]) -> str:
    """Return a prompt that names files to look at, if there are any."""
    if not files:
        return prompt
    named = "".join(f"\n- {name}" for name in files)
    return f"{prompt}\n\nFiles to look at:{named}"


def shown(text: str | None, limit: int = LONGEST_TEXT) -> str:
    """Return a text as a prompt shows it: cleaned, stripped and cut; empty where there is none."""
    return cut(clean(text or "").strip("\n"), limit)


def clean(text: str) -> str:
    """Return the text with plain line ends, and without invisible characters."""
    return _UNSEEN.sub("", _LINE_BREAKS.sub("\n", text))


def cut(text: str, limit: int) -> str:
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
