"""Say in one line each what the panes list, and what the keys act on there. All text is safe for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prloom.cli.output import dashboard_text, terminal
from prloom.engine.views import dashboard_words
from prloom.engine.views.dashboard_schema import Dashboard, Need, PlanLine, Wait, Working

PANES = ("needs", "working", "waiting", "plans")


class Subject(NamedTuple):
    """What a row is about: of these, those that it has.

    `events` are ids of events, `actions` ids of actions, `request` is a run's call or question that waits for a person.
    """

    key: str
    plan: str | None
    events: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    todo: str | None = None
    run: str | None = None
    request: str | None = None
    need: Need | None = None
    wait: Wait | None = None


class Row(NamedTuple):
    """A line of a pane, and what it is about."""

    subject: Subject
    text: str


_OF_EVENTS = frozenset({"held", "parked", "brake"})
_OF_ACTIONS = frozenset({"failed", "withheld", "draft"})
_OF_TODOS = frozenset({"blocked", "proposed"})
_OF_REQUESTS = frozenset({"confirm", "question"})


def of(shown: Dashboard) -> dict[str, list[Row]]:
    """Return the rows of each pane."""
    return {
        "needs": [Row(need_subject(each), _need(each)) for each in shown.needs],
        "working": [Row(_working_subject(each), _working(each)) for each in shown.working],
        "waiting": [Row(_waiting_subject(each), _waiting(each)) for each in shown.waiting],
        "plans": [Row(Subject(f"plan {each.id}", each.id), _plan(each)) for each in shown.plans],
    }


def titles(shown: Dashboard) -> dict[str, str]:
    """Return the title of each pane, with how many rows it has."""
    return {
        "needs": f"Needs you ({len(shown.needs)})",
        "working": f"Working ({len(shown.working)})",
        "waiting": dashboard_text.waiting_title(shown),
        "plans": f"Plans ({len(shown.plans)})",
    }


def matching(rows: Sequence[Row], words: str) -> list[Row]:
    """Return the rows that contain each of some words, in whatever case."""
    wanted = words.lower().split()
    return [row for row in rows if all(word in row.text.lower() for word in wanted)]


def need_subject(need: Need) -> Subject:
    """Return what an entry is about."""
    todo = "todo " in need.key.rpartition("/")[2]
    subject = Subject(need.key, need.plan, need=need)
    if need.kind in _OF_REQUESTS:
        return subject._replace(request=need.ids[0])
    if need.kind in _OF_TODOS or todo:
        return subject._replace(todo=next(iter(need.ids), None))
    if need.kind in _OF_ACTIONS or (need.kind == "brake" and need.commands[0].startswith("prloom retry ")):
        return subject._replace(actions=need.ids)
    if need.kind in _OF_EVENTS:
        return subject._replace(events=need.ids)
    return subject


def _working_subject(each: Working) -> Subject:
    key = f"working {each.plan} {each.run or each.stage} {each.agent}"
    return Subject(key, each.plan or None, todo=each.todo, run=each.run)


def _waiting_subject(wait: Wait) -> Subject:
    subject = Subject(f"waiting {wait.kind} {wait.plan} {wait.id}", wait.plan, wait=wait)
    match wait.kind:
        case "deferred":
            return subject._replace(events=(wait.id,))
        case "todo":
            return subject._replace(todo=wait.id)
        case "action":
            return subject._replace(actions=(wait.id,))
        case _:
            return subject


def _need(need: Need) -> str:
    return _joined(age(need.age_ms), need.plan or "", need.kind, need.text)


def _working(each: Working) -> str:
    told = (each.title or "", dashboard_words.step(each), *dashboard_words.efforts(each))
    return _joined(age(each.age_ms), each.plan or "repository", each.stage, each.agent or "", *told)


def _waiting(wait: Wait) -> str:
    since, end = "", ""
    if wait.age_ms is not None:
        since = f"for {terminal.age(wait.age_ms)}"
    if wait.ends_in_ms is not None:
        end = f"in {age(wait.ends_in_ms, units=2) or 'a moment'}"
    return _joined(wait.plan or "repository", since, end, wait.reason, wait.text, wait.kind)


def _plan(plan: PlanLine) -> str:
    todos = ""
    if plan.todos:
        todos = f"{plan.done}/{plan.todos}"
    return _joined(plan.id, dashboard_words.state(plan), todos, *dashboard_words.counts(plan), plan.title)


def _joined(*parts: str) -> str:
    return terminal.clean("  ".join(part for part in parts if part))


def age(milliseconds: int | None, *, units: int = 1) -> str:
    """Return a span in its largest units; nothing where it is not known, or less than a second."""
    if milliseconds is None or milliseconds < 1000:  # noqa: PLR2004 - a second
        return ""
    return terminal.age(milliseconds, units=units)
