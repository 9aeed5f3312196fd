"""Write the prompt of a triage run: the job, the events as data that cannot pass for orders, and the answer's form.

What is not between the marks of `prompt_text` is prloom's own, or the operator's.
"""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core.plans import plan_file
from prloom.core.plans.plan_reader import BOXES
from prloom.core.prompts import prompt_text
from prloom.core.text import markdown
from prloom.model.event import Event
from prloom.model.plan import Plan


def triage_prompt(
    *,
    plan: Plan,
    plan_text: str,
    head: str | None,
    events: Sequence[Event],
    answer_path: str,
    fence: str,
    repository_context: str | None,
) -> str:
    """Return the prompt for one batch of events of a plan, whose branch is at the commit `head`.

    `fence` is a fresh random token, see `prompt_text.render`. `repository_context` is the operator's, and not fenced.
    Raises ValueError for a batch without events, or a token that could be guessed.
    """
    if not events:
        raise ValueError("a triage prompt needs at least one event")
    texts = {
        "plan_facts": prompt_text.facts({"id": plan.id, "branch": plan.branch, "head": head, "pull request": plan.pr}),
        "todos": _todos(plan_text),
        "answer_path": prompt_text.clean(answer_path),
        "repository_context": prompt_text.clean(repository_context or "").strip(),
    }
    return prompt_text.render("triage.md.j2", fence=fence, texts=texts, events=prompt_text.event_views(events))


def _todos(plan_text: str) -> str:
    lines = [f"- [{BOXES[todo.state]}] {markdown.one_line(todo.title)}" for todo in plan_file.todos(plan_text)]
    return prompt_text.shown("\n".join(lines))
