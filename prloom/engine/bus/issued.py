"""What prloom issued for a pull request, kept in the main checkout: it outlives the plan's worktree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from prloom.core import issued
from prloom.core.issued import Posts
from prloom.engine.bus import entries
from prloom.engine.bus.ledger import Clock
from prloom.model import record
from prloom.model.decision import Decision
from prloom.model.event import Event
from prloom.model.issued import IssuedPost
from prloom.model.plan import Plan
from prloom.model.position import START
from prloom.storage import envelope, paths
from prloom.storage.folder import Folder
from prloom.storage.journal import Journal


class IssuedPosts:
    """The file of one pull request; a plan without one has no file. Nothing is read before it is needed.

    `top` is the `prloom/.local` of the main checkout. `plugins` are the keys of the plugins that may have issued posts
    of which nothing is remembered.
    """

    def __init__(self, top: Folder, plan: Plan, clock: Clock, plugins: Sequence[str] = ()) -> None:
        self._top = top
        self._clock = clock
        self._plugins = plugins
        self._name = paths.issued_posts(plan.forge, plan.pr) if plan.forge and plan.pr is not None else None
        self._posts: Posts | None = None

    def apply(self, decision: Decision) -> None:
        """Remember the posts that a decision issues, before any of them is delivered."""
        if self._name is not None and decision.actions:
            self.add(issued.issued(decision))

    def add(self, lines: Sequence[IssuedPost]) -> None:
        """Remember what is not remembered yet, on disk when this returns."""
        posts = self.posts()
        fresh = [line for line in lines if line.action_id not in (posts.found if line.found else posts.issued)]
        if not fresh or self._name is None:
            return
        with self._top.make_sub(paths.ISSUED) as folder:
            Journal(folder, self._name).append_block(envelope.encode_lines("issued", fresh, record.iso(self._clock())))
        for line in fresh:
            posts.add(line)

    def knows(self, action_id: str) -> bool:
        """Whether an action of this id was ever issued for the pull request."""
        return action_id in self.posts().issued

    def find(self, own: Mapping[str, Event], others: Sequence[Event]) -> None:
        """Remember prloom's own posts among the events of a poll, by action, beside which the `others` came."""
        if self._name is not None:
            self.add(issued.found(own, others, self.posts(), self._plugins))

    def answer(self, event: Event) -> IssuedPost | None:
        """Return the post by which prloom has answered the event already, or None."""
        return issued.answer(event, self.posts(), self._plugins)

    def posts(self) -> Posts:
        """Return what is remembered."""
        if self._posts is None:
            self._posts = self._read()
        return self._posts

    def _read(self) -> Posts:
        posts = Posts()
        with ExitStack() as closing:
            folder = None if self._name is None else self._top.sub(paths.ISSUED)
            if folder is None or self._name is None:
                return posts
            closing.enter_context(folder)
            journal, cursor = Journal(folder, self._name), START
            while True:
                batch = journal.read(cursor)
                for line in filter(None, (entries.issued(entry.line) for entry in batch.entries)):
                    posts.add(line)
                if batch.cursor == cursor:
                    return posts
                cursor = batch.cursor
