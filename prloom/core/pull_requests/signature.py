"""Say on a pull request that a machine writes there, for whom, with which agent, and what it can be asked."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from prloom.core.text import markdown
from prloom.model.action import Comment, InlineComment, Payload, Review

HELP = "Ask it in a comment: `/prloom help` lists what it understands."


def line(text: str, agents: Sequence[str]) -> str:
    """Return the one line that introduces prloom, with these agents; empty for an empty text."""
    if not text.strip():
        return ""
    speaker = markdown.escaped_comments(markdown.one_line(text)).rstrip(".")
    names = " and ".join(markdown.escaped_comments(markdown.one_line(each)) for each in agents)
    return f"*{', with '.join(filter(None, (speaker, names)))}.* {HELP}"


def short(text: str) -> str:
    """Return what stands below each later post: who writes, as far as the first comma; empty for an empty text."""
    name = markdown.escaped_comments(markdown.one_line(text)).partition(",")[0].strip().rstrip(".")
    if not name:
        return ""
    return f"*— {name}*"


def signed(payload: Payload, mark: str) -> Payload:
    """Return what is posted with the short signature below its words; without words, or a signature, as it is."""
    match payload:
        case Comment(message=words) | InlineComment(message=words) if mark and words.strip():
            return replace(payload, message=f"{words.rstrip()}\n\n{mark}")
        case Review(summary=words) if mark and words.strip():
            return replace(payload, summary=f"{words.rstrip()}\n\n{mark}")
        case _:
            return payload


def agents(worked: Sequence[str], chosen: str, model: str | None) -> tuple[str, ...]:
    """Return the agents that have worked, or the one that will; the chosen one is shown with its model."""
    names = tuple(dict.fromkeys(worked)) or (chosen,)
    if chosen == "auto":
        chosen = names[-1]
    shown = (f"{name} ({model})" if model and name == chosen else name for name in names)
    return tuple(name for name in shown if not name.startswith("auto"))
