"""What prloom remembers of a pull request outside the plan's worktree: its own posts, and the TODOs."""

from __future__ import annotations

from prloom.model.decision import Todo
from prloom.model.record import Record


class IssuedPost(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `issued/<forge>-<pr>.jsonl`: an action that was issued, or a post of an action that was found.

    `event_id` is the event that the action answers, as far as that is known; `ended` says that the event was done with
    the answer. A post that was `found` on the pull request has its `url`, the `thread` that it stands in, and the time
    at which it was written.
    """

    action_id: str
    event_id: str | None = None
    ended: bool = False
    found: bool = False
    thread: str | None = None
    written_at: str | None = None
    url: str | None = None


class IssuedTodo(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the same file of the kind `todo`: a TODO that was added to the plan, or one that `ended`.

    It has ended when its box was checked, or when it was taken out of `plan.md`.
    """

    todo: Todo
    ended: bool = False
