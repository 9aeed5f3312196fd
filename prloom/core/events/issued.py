"""Decide which events prloom has answered already, which TODOs are open, and which conversations they resolve."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prloom.core.delivery import outbox
from prloom.core.events import acknowledgements
from prloom.core.plans.plan_file import TodoItem
from prloom.model.action import Action, ResolveThread
from prloom.model.decision import Decision, Thread, Todo
from prloom.model.event import Event
from prloom.model.kinds import DONE, TRIAGE
from prloom.model.state import IssuedPost, IssuedTodo

_OWNERS = (TRIAGE, acknowledgements.OWNER)
_ORDINALS = 16
"""How many actions of one event and one owner are tried to find the event that a post answers."""


@dataclass
class Posts:
    """What is remembered of one pull request: the actions that were issued, and the posts that were found on it.

    `answered` holds the posts by the event that they answer. `loose` are posts, by action, of which that is not known.
    `todos` are the TODOs that were ever added to the plan, and `asked` those by the events that requested them.
    """

    issued: dict[str, IssuedPost] = field(default_factory=dict)
    found: dict[str, IssuedPost] = field(default_factory=dict)
    answered: dict[str, IssuedPost] = field(default_factory=dict)
    loose: dict[str, IssuedPost] = field(default_factory=dict)
    todos: dict[str, IssuedTodo] = field(default_factory=dict)
    asked: dict[str, Todo] = field(default_factory=dict)

    def add(self, line: IssuedPost | IssuedTodo) -> None:
        """Remember one more line."""
        if isinstance(line, IssuedTodo):
            self.todos[line.todo.id] = line
            self.asked |= dict.fromkeys(line.todo.event_ids, line.todo)
            return
        action = line.action_id
        if line.found:
            kept = self.found
        else:
            kept = self.issued
        kept[action] = line
        post = self.found.get(action)
        if post is None:
            return
        self.loose.pop(action, None)
        known = self.issued.get(action, post)
        if known.event_id is not None and known.ended:
            self.answered[known.event_id] = post
        elif action not in self.issued:
            self.loose[action] = post


def posts_of_decision(decision: Decision) -> tuple[IssuedPost, ...]:
    """Return what is to be remembered of a decision: its actions that have words, and so will be posts."""
    ended = {change.event_id for change in decision.changes if change.state in DONE}
    return tuple(
        IssuedPost(action_id=action.id, event_id=action.related_event_id, ended=action.related_event_id in ended)
        for action in decision.actions
        if action.has_words
    )


def todos_of_decision(decision: Decision, posts: Posts) -> tuple[IssuedTodo, ...]:
    """Return what is to be remembered of a decision's TODOs: those that it adds, and those that have ended."""
    over = (*decision.todos_done, *decision.todos_dropped)
    lines = (
        *(IssuedTodo(todo=todo) for todo in decision.todos),
        *(IssuedTodo(todo=posts.todos[todo_id].todo, ended=True) for todo_id in over if todo_id in posts.todos),
    )
    return tuple(line for line in lines if posts.todos.get(line.todo.id) != line)


def open_todos(posts: Posts) -> tuple[Todo, ...]:
    """Return the TODOs that have not ended, in the order in which they were added."""
    return tuple(line.todo for line in posts.todos.values() if not line.ended)


def found_posts(
    own: Mapping[str, Event], others: Sequence[Event], posts: Posts, plugins: Sequence[str]
) -> tuple[IssuedPost, ...]:
    """Return what is to be remembered of prloom's own posts in a poll, by action, beside which the `others` came.

    The event that a post answers is the one from which the id of its action was derived.
    """
    unknown = own.keys() - posts.issued.keys()
    answers: dict[str, str] = {}
    for event in others if unknown else ():
        answers |= {action: event_id for action, event_id in _derived_actions(event, plugins) if action in unknown}
    return tuple(
        IssuedPost(
            action_id=action,
            event_id=answers.get(action),
            ended=action in answers,
            found=True,
            thread=_thread(event),
            written_at=event.written_at,
            url=event.url,
        )
        for action, event in own.items()
        if action not in posts.found
    )


def earlier_answer(event: Event, posts: Posts, plugins: Sequence[str]) -> IssuedPost | None:
    """Return the post by which prloom has answered an event already, or None where none is known."""
    if not posts.found or event.notice:
        return None
    for event_id in _ids(event):
        if event_id in posts.answered:
            return posts.answered[event_id]
    if not posts.loose:
        return None
    derived = (posts.loose[action] for action, _ in _derived_actions(event, plugins) if action in posts.loose)
    return next(derived, None) or next((post for post in posts.loose.values() if _answers_in_thread(post, event)), None)


def requested_todo(event: Event, posts: Posts) -> Todo | None:
    """Return the TODO that an event has requested already, or None where none is known."""
    if not posts.asked or event.notice:
        return None
    return next((posts.asked[event_id] for event_id in _ids(event) if event_id in posts.asked), None)


def _answers_in_thread(post: IssuedPost, event: Event) -> bool:
    """Whether the post is in the thread of an event, after it: then the event was answered there."""
    if post.thread is None or post.thread != _thread(event) or event.written_at is None or post.written_at is None:
        return False
    return event.written_at <= post.written_at


def _thread(event: Event) -> str | None:
    thread = event.context.get("thread")
    if isinstance(thread, str | int):
        return f"{event.source}:{thread}"
    return None


def _ids(event: Event) -> tuple[str, ...]:
    """Return the ids by which the event may have been answered: a bot's edit of its own comment is no new event."""
    older = None
    if event.author is not None and event.author.bot:
        older = event.supersedes
    if older is None:
        return (event.id,)
    return (event.id, older)


def _derived_actions(event: Event, plugins: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the ids of the actions that may have answered an event, each with the id that it was derived from."""
    for event_id in _ids(event):
        for owner in (*_OWNERS, *plugins):
            for ordinal in range(_ORDINALS):
                yield outbox.action_id(event_id, owner, ordinal), event_id


PRLOOM = "prloom"

WaitingTodos = Mapping[str, tuple[Thread, ...]]
"""The TODOs that have not ended, with the conversations that wait for it."""


def ended_todos(waiting: WaitingTodos, items: Sequence[TodoItem]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the waiting TODOs are checked in the plan, and which were dropped there or taken out of it."""
    written = {item.id: item.state for item in items if item.id}
    done = tuple(todo_id for todo_id in waiting if written.get(todo_id) == "done")
    return done, tuple(todo_id for todo_id in waiting if written.get(todo_id, "dropped") == "dropped")


def unknown_todos(
    waiting: WaitingTodos, items: Sequence[TodoItem], remembered: Mapping[str, IssuedTodo]
) -> tuple[Todo, ...]:
    """Return the open TODOs of the plan that are not waited for: those of an older prloom, and those opened again."""
    found = []
    for item in items:
        if item.id is None or item.over or item.id in waiting:
            continue
        if item.id in remembered:
            found.append(remembered[item.id].todo)
        else:
            found.append(Todo(id=item.id, title=item.title, context=item.context, event_ids=item.event_ids))
    return tuple(found)


def resolve_threads(waiting: WaitingTodos, done: Collection[str], dropped: Collection[str] = ()) -> tuple[Action, ...]:
    """Return the actions that resolve the conversations of the TODOs that are done.

    A conversation whose event requested several TODOs is resolved with the last of them.
    """
    over = {*done, *dropped}
    still = {thread.event_id for todo_id, threads in waiting.items() if todo_id not in over for thread in threads}
    threads = {thread.event_id: thread for todo_id in done for thread in waiting[todo_id]}
    return tuple(
        Action(
            id=outbox.action_id(thread.event_id, f"{PRLOOM}/resolve", 0),
            target=thread.target,
            payload=ResolveThread(),
            related_event_id=thread.event_id,
        )
        for thread in threads.values()
        if thread.event_id not in still
    )


def rebase_requested(waiting: str | None, dropped: Collection[str], added: Sequence[Todo]) -> bool | None:
    """Return whether a rebase is requested from now on, where that changes: `waiting` is the TODO for it until now."""
    if any(todo.rebase for todo in added):
        return True
    if waiting in dropped:
        return False
    return None
