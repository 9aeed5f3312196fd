"""Put payloads into words: what a person finds in the file."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.api import Comment, InlineComment, Json, Payload, React, Refused, Review

_TITLE = 80
_VERDICTS = {"approve": "Approved.", "request_changes": "Changes requested.", "comment": ""}
# The reactions by the names that GitHub's API gives them.
_REACTIONS = {
    "+1": "👍",
    "-1": "👎",
    "laugh": "😄",
    "confused": "😕",
    "heart": "❤️",
    "hooray": "🎉",
    "rocket": "🚀",
    "eyes": "👀",
}


def title(text: str) -> str:
    """Return the first line of a text, shortened."""
    first = text.split("\n", 1)[0].strip()
    if len(first) <= _TITLE:
        return first
    return first[: _TITLE - 1].rstrip() + "…"


def message(payload: Payload) -> str | Refused:
    """Return what the payload says, or why a local file cannot do it."""
    match payload:
        case Comment(message=text):
            said = text
        case InlineComment(path=path, line=line, message=text):
            said = f"{_place(path, line)}: {text}"
        case Review():
            said = _review(payload)
        case React(reaction=reaction):
            said = _REACTIONS.get(reaction, reaction)
        case _:
            return Refused(
                f"a local review file does not support {_kind(payload)}; this needs a pull request on a forge"
            )
    if said.strip():
        return said
    return Refused("the message is empty, so there is nothing to write")


def _kind(payload: object) -> str:
    config = getattr(payload, "__struct_config__", None)
    return str(getattr(config, "tag", None) or type(payload).__name__)


def _review(review: Review) -> str:
    comments = [f"- {_comment(comment)}" for comment in review.comments]
    parts = (_VERDICTS.get(review.verdict, ""), review.summary.strip(), "\n".join(comments))
    return "\n\n".join(part for part in parts if part)


def _comment(comment: Mapping[str, Json]) -> str:
    text = str(comment.get("message") or comment.get("body") or "").strip()
    indented = "\n".join(f"  {line}" if line.strip() else "" for line in text.splitlines()).strip()
    path = comment.get("path")
    if path:
        return f"{_place(path, comment.get('line'))}: {indented}"
    return indented


def _place(path: Json, line: Json) -> str:
    if line:
        return f"`{path}:{line}`"
    return f"`{path}`"
