"""Render payloads as the text that a person finds in the file: quotations that nothing in them can end."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.api import Comment, InlineComment, Json, Payload, React, Refused, Review, marked, marker

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
_C0 = range(0x20)
_SHOWN: dict[int, str | int] = {
    **{sign: 0x2400 + sign for sign in _C0 if sign != ord("\t")},  # Unicode has pictures of them
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), "?"),
    0xFFFD: "?",  # in the file it would mean that the file is not UTF-8
}


def title(text: str) -> str:
    """Return the first line of a text, shortened."""
    first = text.split("\n", 1)[0].strip()
    if len(first) <= _TITLE:
        return first
    return first[: _TITLE - 1].rstrip() + "…"


def text_of(payload: Payload) -> str | Refused:
    """Return the text of the payload, or the refusal of one that a local file cannot show."""
    match payload:
        case Comment(message=text):
            pass
        case InlineComment(path=path, line=line, message=message):
            text = f"{_location(path, line)}: {message}"
        case Review():
            text = _review(payload)
        case React(reaction=reaction):
            text = _REACTIONS.get(reaction, reaction)
        case _:
            return Refused(
                f"a local review file does not support {_kind(payload)}; this needs a pull request on a forge"
            )
    if text.strip():
        return text
    return Refused("the message is empty, so there is nothing to write")


def quotation(action: str, message: str) -> list[str]:
    """Return the message as lines of a quotation that begins with the action's marker.

    Control characters are shown, and the markers of other actions are defused: they would pass for their replies.
    """
    text = message.encode("utf-8", "replace").decode("utf-8")
    lines = [_defused(line) for line in text.splitlines()]
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    return [f"> {marker(action)}", *(f"> {line}" if line.strip() else ">" for line in lines)]


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
        return f"{_location(path, comment.get('line'))}: {indented}"
    return indented


def _location(path: Json, line: Json) -> str:
    if line:
        return f"`{path}:{line}`"
    return f"`{path}`"


def _defused(line: str) -> str:
    shown = line.translate(_SHOWN)
    for of in marked(shown):
        shown = shown.replace(marker(of), f"(prloom:action {of})")
    return shown
