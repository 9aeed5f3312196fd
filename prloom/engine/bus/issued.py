"""What prloom issued for a pull request and the TODOs of its plan, in the main checkout: they outlive the worktree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack

from prloom.core.events import issued
from prloom.core.events.issued import Posts
from prloom.engine.bus import entries
from prloom.engine.bus.event_store import Clock
from prloom.model import record
from prloom.model.decision import Decision, Todo
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.model.record import START
from prloom.model.state import DispatchState, IssuedPost, IssuedTodo
from prloom.storage import envelope, paths
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir


class IssuedPosts:
    """The file of one pull request, or of a branch without one. Nothing is read before it is needed.

    For a branch without a pull request, it keeps only the TODOs: all else is in the worktree, and is lost with it.

    `top` is the `prloom/.local` of the main checkout. `plugins` are the keys of the plugins that may have issued posts
    of which nothing is remembered.
    """

    def __init__(self, top: SafeDir, plan: Plan, clock: Clock, plugins: Sequence[str] = ()) -> None:
        self._top = top
        self._clock = clock
        self._plugins = plugins
        if plan.pr is not None:
            self._forge = plan.forge
        else:
            self._forge = None
        self._name = _file_name(plan)
        self._posts: Posts | None = None

    def apply(self, decision: Decision, _: DispatchState) -> None:
        """Remember the posts and TODOs that a decision issues, before any of them is delivered."""
        if self._name is None:
            return
        if decision.todos or decision.todos_done or decision.todos_dropped:
            self._append(issued.todos_of_decision(decision, self.posts()))
        if self._forge and decision.actions:
            self.add(issued.posts_of_decision(decision))

    def add(self, lines: Sequence[IssuedPost]) -> None:
        """Remember those that are new; they are on disk when this returns."""
        posts = self.posts()
        fresh = [line for line in lines if line.action_id not in (posts.found if line.found else posts.issued)]
        self._append(fresh)

    def open_todos(self) -> tuple[Todo, ...]:
        """Return the TODOs of the plan that have not ended, as far as is known."""
        return issued.open_todos(self.posts())

    def end_todos(self, ended: Collection[str]) -> None:
        """Remember that TODOs have ended that no decision has ended yet."""
        found = [IssuedTodo(todo=todo, ended=True) for todo in self.open_todos() if todo.id in ended]
        self._append(found)

    def forget(self) -> None:
        """Forget all of it."""
        if self._name is None:
            folder = None
        else:
            folder = self._top.sub(paths.ISSUED)
        if folder is not None and self._name is not None:
            with folder:
                if folder.exists(self._name):
                    folder.remove(self._name)
        self._posts = None

    def knows(self, action_id: str) -> bool:
        """Whether an action of this id was ever issued for the pull request."""
        return action_id in self.posts().issued

    def find(self, own: Mapping[str, Event], others: Sequence[Event]) -> None:
        """Remember prloom's own posts among the events of a poll, by action, beside which the `others` came."""
        if self._forge:
            self.add(issued.found_posts(own, others, self.posts(), self._plugins))

    def answer(self, event: Event) -> str | None:
        """Return how prloom has answered the event already, or None where it has not.

        What asked for a TODO once is known by its id only where that is the forge's: in `review.md` the same words may
        ask for the same once more.
        """
        post = issued.earlier_answer(event, self.posts(), self._plugins)
        if post is not None:
            return f"prloom has answered it already: {post.url or post.action_id}"
        todo = None
        if event.source == self._forge:
            todo = issued.requested_todo(event, self.posts())
        if todo is None:
            return None
        return f"prloom has made a TODO of it already: {todo.title}"

    def posts(self) -> Posts:
        """Return what is remembered."""
        if self._posts is None:
            self._posts = self._read()
        return self._posts

    def _append(self, lines: Sequence[IssuedPost | IssuedTodo]) -> None:
        posts = self.posts()
        if not lines or self._name is None:
            return
        kind = entries.NAMES[type(lines[0])]
        with self._top.make_sub(paths.ISSUED) as folder:
            Journal(folder, self._name).append_block(envelope.encode_lines(kind, lines, record.iso(self._clock())))
        for line in lines:
            posts.add(line)

    def _read(self) -> Posts:
        posts = Posts()
        with ExitStack() as closing:
            if self._name is None:
                folder = None
            else:
                folder = self._top.sub(paths.ISSUED)
            if folder is None or self._name is None:
                return posts
            closing.enter_context(folder)
            for entry in JournalReader(folder, self._name).after(START):
                line = entries.issued(entry.line)
                if line is not None:
                    posts.add(line)
        return posts


def _file_name(plan: Plan) -> str | None:
    """Return the name of a plan's file; the repository as a whole has none."""
    if plan.forge and plan.pr is not None:
        return paths.issued_posts(plan.forge, plan.pr)
    if plan.id:
        return paths.issued_todos(plan.branch)
    return None
