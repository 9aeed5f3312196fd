"""Write the prompt for the designer of a plan, and read the plan from its answer."""

from __future__ import annotations

from prloom.core.plans import plan_file
from prloom.core.prompts import prompt_text
from prloom.core.text import forge_words, markdown
from prloom.errors import AgentError

_FENCES = frozenset(("```", "~~~"))


def design_prompt(
    *, request: str, plan: str | None, fence: str, repository_context: str | None, plan_path: str | None = None
) -> str:
    """Return the prompt for a designer; `plan` is the plan as it is now, where there is one.

    A designer that talks with the operator writes the plan into the file `plan_path`.

    `fence` is a fresh random token, see `prompt_text.render`, whose errors it raises.
    """
    texts = {
        "request": prompt_text.shown(request),
        "plan": prompt_text.shown(plan),
        "plan_path": prompt_text.clean(plan_path or ""),
        "repository_context": prompt_text.clean(repository_context or "").strip(),
    }
    return prompt_text.render("design.md.j2", fence=fence, texts=texts)


def read_plan(message: str) -> str:
    """Return the plan in a designer's final message; what stands before its title, such as front matter, is left out.

    The plan becomes the text of a pull request, so it closes no issue: a person who edits it may have it do so.

    Raises AgentError where there is no title, or no TODO.
    """
    lines = message.replace("\r\n", "\n").split("\n")
    levels = [markdown.heading(line)[0] for line in lines]
    if 1 not in levels:
        raise AgentError("the designer's answer has no plan: it has no line such as `# <title>`")
    start = levels.index(1)
    kept = list(markdown.trimmed([line.rstrip() for line in lines[start:]]))
    opened_before = [line for line in lines[:start] if line.strip()[:3] in _FENCES]
    if len(opened_before) % 2 and kept and kept[-1].strip() in _FENCES:
        kept = list(markdown.trimmed(kept[:-1]))
    text = forge_words.muted("\n".join(kept)) + "\n"
    if not plan_file.todos(text):
        raise AgentError("the designer's answer has no TODO: it has no `- [ ]` item under `## TODO`")
    return text
