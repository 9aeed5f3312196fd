"""What prloom remembers of its own posts on a pull request, outside the plan's worktree."""

from __future__ import annotations

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
