"""Print the replies that wait until a person sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prloom.cli.output import layout, terminal
from prloom.engine.views.outbox import ReplyDraft


def lines(drafts: Iterable[ReplyDraft]) -> Iterator[str]:
    """Yield where each draft goes, and its whole text."""
    for draft in drafts:
        answers = ""
        if draft.related_event_id is not None:
            answers = f", answers {terminal.clean(draft.related_event_id)}"
        where = f"to {terminal.clean(draft.target)}, plan {terminal.clean(draft.plan)}{answers}"
        yield f"{layout.shown_id(draft.id)}  {where}"
        yield from layout.quoted(words(draft))


def words(draft: ReplyDraft) -> str:
    """Return the text of a draft."""
    text = getattr(draft.payload, "message", None) or getattr(draft.payload, "summary", None)
    return str(text or "")
