"""Write the prompt of a worker: the TODO, the texts behind it as data, what earlier attempts came to, and the form.

What is not between the marks of `prompt_text` is prloom's own, or the operator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from prloom.core.prompts import prompt_text
from prloom.model.event import Event

LONGEST_CHECK = 1_000
"""Characters of a check's command that are shown."""


class TodoText(Protocol):
    """A TODO as a prompt shows it; an item of the plan and one of a decision both fit."""

    @property
    def id(self) -> str | None:
        """Its id."""

    @property
    def title(self) -> str:
        """What to do, in one line."""

    @property
    def context(self) -> str:
        """What the worker needs to know."""


def worker_prompt(
    *,
    plan_title: str,
    plan_text: str,
    todo: TodoText,
    fence: str,
    head: str | None = None,
    events: Sequence[Event] = (),
    repository_context: str | None = None,
    notes: str = "",
    failure: str | None = None,
    answer: str | None = None,
    history: tuple[str, ...] = (),
    answer_path: str | None = None,
    checks: tuple[str, ...] = (),
) -> str:
    """Return the prompt for one TODO, for a session that begins with it, on a branch that is at the commit `head`.

    `plan_text` is the plan's text without its TODOs, `failure` what the last attempt failed by (a check's output, a
    violation, a review), `history` what those before it came to, oldest first, and `repository_context` the operator's
    `prloom/worker.md`. `answer` is a question of an earlier attempt, with its answer. `fence` is a fresh random token,
    see `prompt_text.render`, whose errors it raises.
    """
    texts = {
        "todo": todo_text(todo, head),
        "plan": plan(plan_title, plan_text),
        "notes": prompt_text.shown(notes),
        "failure": prompt_text.shown(failure),
        "answer": prompt_text.shown(answer),
        "answer_path": prompt_text.clean(answer_path or ""),
        "repository_context": prompt_text.clean(repository_context or "").strip(),
    }
    attempts = tuple(prompt_text.shown(each) for each in history)
    return prompt_text.render(
        "worker.md.j2",
        fence=fence,
        texts=texts,
        events=prompt_text.event_views(events),
        lists={"checks": commands(checks), "history": attempts},
    )


def retry_prompt(*, failure: str, fence: str, answer_path: str | None = None, checks: tuple[str, ...] = ()) -> str:
    """Return the prompt for a session that is resumed, which has the TODO and the rules already."""
    texts = {"failure": prompt_text.shown(failure), "answer_path": prompt_text.clean(answer_path or "")}
    return prompt_text.render("worker_retry.md.j2", fence=fence, texts=texts, lists={"checks": commands(checks)})


def todo_text(todo: TodoText, head: str | None = None) -> str:
    """Return a TODO as lines: its id, its title and the head that it begins on as facts, then its context."""
    about = prompt_text.facts({"id": todo.id, "title": todo.title, "head": head})
    return f"{about}\n\n{prompt_text.shown(todo.context)}".rstrip()


def plan(title: str, text: str) -> str:
    """Return a plan's title and text."""
    return f"{prompt_text.facts({'title': title})}\n\n{prompt_text.shown(text)}".rstrip()


def commands(checks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the operator's commands, each as one line."""
    return tuple(prompt_text.shown(" ".join(check.split()), LONGEST_CHECK) for check in checks)
