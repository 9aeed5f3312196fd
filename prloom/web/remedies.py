"""Decide what a page offers for each thing that needs a person: the buttons that do what its commands do."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import split
from typing import Final, Literal, NamedTuple
from urllib.parse import urlencode

from prloom.engine.views.dashboard_schema import Need

InputField = Literal["", "reason", "text"]
Fields = tuple[tuple[str, str], ...]

NEVER_READ: Final = "No plugin and no agent looks at it any more."
EVERY_PLAN: Final = "All plans are resumed, also those that you have paused."
STRUCK_OUT: Final = "The TODO is struck out and not worked on any more."


class Button(NamedTuple):
    """A form of one button: the action, what it is about, and whether more has to be said or confirmed first."""

    action: str
    label: str
    fields: Fields
    question: str = ""
    input_field: InputField = ""


class PageLink(NamedTuple):
    """A link to the page where one reads before one decides."""

    label: str
    address: str


def of(need: Need) -> tuple[Button | PageLink, ...]:
    """Return what can be done about a need, the most likely first; nothing where only its command helps."""
    return tuple(_of(need))


def _of(need: Need) -> Iterator[Button | PageLink]:
    about = (("plan", need.plan or ""), *(("id", each) for each in need.ids))
    match need.kind:
        case "held" | "draft" | "withheld":
            yield PageLink("Read", _reading(need))
        case "confirm":
            yield Button("allow", "Allow", about)
            yield Button("allow-always", "Always", about)
            yield Button("deny", "Deny", about)
        case "question":
            yield Button("answer", "Answer", about, input_field="text")
            yield Button("deny", "Leave it", about)
        case "bridge" | "source" | "plugin" | "settings":
            yield PageLink("Look", "/extensions")
        case _:
            yield from _of_command(need, about)


def _of_command(need: Need, about: Fields) -> Iterator[Button | PageLink]:
    """Yield what the first command of a need does."""
    words = split(need.commands[0]) if need.commands else []
    plan = (("plan", need.plan or ""),)
    match words[1:]:
        case ["todo", _, change, _]:
            chosen = (*plan, *(("todo", each) for each in need.ids))
            if 'asks "' in need.text:
                yield Button("answer", "Answer", chosen, input_field="text")
            label = "Allow"
            if change == "open":
                label = "Open again"
            yield Button("todo", label, (*chosen, ("change", change)))
            yield Button("todo", "Drop", (*chosen, ("change", "drop")), STRUCK_OUT)
        case ["resume"]:
            yield Button("resume", "Resume all", (("all", "yes"),), EVERY_PLAN)
        case ["resume", *_]:
            yield Button("resume", "Resume", plan)
        case ["unblock", *_]:
            yield Button("unblock", "Unblock", plan)
        case ["retry", *_]:
            yield Button("retry", "Try again", about)
            if need.kind == "parked":
                yield Button("drop", "Drop", about, NEVER_READ, input_field="reason")


def _reading(need: Need) -> str:
    asked = {"plan": need.plan or ""}
    if need.author:
        asked["author"] = need.author
    return f"/read?{urlencode(asked)}"
