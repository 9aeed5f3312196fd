"""Write the prompt for the review of a change: the TODO and the diff as data, and the answer's form."""

from __future__ import annotations

from prloom.core.prompts import prompt_text, worker_prompt
from prloom.core.prompts.worker_prompt import TodoText

LONGEST_DIFF = 400_000
"""Characters of a diff that are shown; of a longer one the middle is left out, and the prompt says so."""


def review_prompt(
    *,
    plan_title: str,
    plan_text: str,
    todo: TodoText,
    diff: str,
    fence: str,
    summary: str = "",
    earlier: str | None = None,
    repository_context: str | None = None,
    answer_path: str | None = None,
) -> str:
    """Return the prompt for a reviewer.

    `summary` is what the worker says of its change, `earlier` the review that rejected the one before. `fence` is a
    fresh random token, see `prompt_text.render`, whose errors it raises.
    """
    texts = {
        "todo": worker_prompt.todo_text(todo),
        "plan": worker_prompt.plan(plan_title, plan_text),
        "diff": prompt_text.shown(diff, LONGEST_DIFF),
        "summary": prompt_text.shown(summary),
        "earlier": prompt_text.shown(earlier),
        "answer_path": prompt_text.clean(answer_path or ""),
        "repository_context": prompt_text.clean(repository_context or "").strip(),
    }
    return prompt_text.render("review.md.j2", fence=fence, texts=texts)
