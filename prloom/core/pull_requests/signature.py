"""Say on a pull request that a machine writes there, for whom, with which agent, and what it can be asked."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core.text import markdown

HELP = "Ask it in a comment: `/prloom help` lists what it understands."


def line(text: str, agents: Sequence[str]) -> str:
    """Return the one line that introduces prloom, with these agents; empty for an empty text."""
    if not text.strip():
        return ""
    speaker = markdown.escaped_comments(markdown.one_line(text)).rstrip(".")
    names = " and ".join(markdown.escaped_comments(markdown.one_line(each)) for each in agents)
    return f"*{', with '.join(filter(None, (speaker, names)))}.* {HELP}"


def agents(worked: Sequence[str], chosen: str, model: str | None) -> tuple[str, ...]:
    """Return the agents that have worked, or the one that will; the chosen one is shown with its model."""
    names = tuple(dict.fromkeys(worked)) or (chosen,)
    if chosen == "auto":
        chosen = names[-1]
    shown = (f"{name} ({model})" if model and name == chosen else name for name in names)
    return tuple(name for name in shown if not name.startswith("auto"))
