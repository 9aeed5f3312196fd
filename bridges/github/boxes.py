"""Notice that a box of the cockpit was ticked, in a description or in prloom's own comment, and find out who did it.

The lists of a poll show the texts. Who edited one last only GraphQL says: it is asked when a box is newly ticked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from prloom.api import Event, HttpError, Json, iso, ticked

from .api_reader import PollContext
from .sansio import answers, endpoints, requests
from .sansio.comment_kinds import ISSUE_COMMENT
from .sansio.cursor import GithubCursor, PullRequestState
from .sansio.received_posts import Post
from .sansio.requests import ReplyTarget


def note(poll: PollContext, items: Iterable[Json]) -> None:
    """Note the boxes in the descriptions of tracked pull requests that have a cockpit."""
    cockpits = _cockpits(poll)
    for item in items:
        number = answers.number(item, "number")
        _note(poll.cursor, number, item, counts=None in cockpits.get(number or 0, ()))


def note_comments(poll: PollContext, items: Iterable[Json], posts: Iterable[Post]) -> None:
    """Note the boxes in the comments that have a plan's cockpit: anybody can write such boxes, or copy them."""
    cockpits = _cockpits(poll)
    own = {post.key: post.where.pr for post in posts if post.context.get("ownAccount") is True}
    for item in items:
        number = own.get(f"{ISSUE_COMMENT}{answers.number(item, 'id')}")
        begin = answers.text(item, "body").lstrip()
        marks = (mark for mark in cockpits.get(number or 0, ()) if mark is not None)
        _note(poll.cursor, number, item, counts=any(map(begin.startswith, marks)))


def _cockpits(poll: PollContext) -> Mapping[int, Collection[str | None]]:
    """Return where the cockpits of each pull request's plans are: see `TrackedPlan.cockpit`."""
    found: dict[int, set[str | None]] = {}
    for plan in poll.ctx.plans:
        if plan.pr is not None:
            found.setdefault(plan.pr, set()).add(plan.cockpit)
    return found


def _note(cursor: GithubCursor, number: int | None, item: Json, *, counts: bool) -> None:
    """Note the boxes of a text that `counts`; in any other, they are text."""
    state, node = cursor.pull_requests.get(number or 0), answers.text(item, "node_id")
    if state is None or number is None or not node:
        return
    reported = state.boxes.get(node, [])
    boxes: Sequence[str] = ()
    if counts:
        boxes = ticked(answers.text(item, "body"))
    else:
        cursor.boxes_due.pop(node, None)
    if not set(boxes) <= set(reported):
        cursor.boxes_due[node] = number
    elif reported:
        _remember(state, node, boxes)


def _remember(state: PullRequestState, node: str, boxes: Sequence[str]) -> None:
    others = {each: names for each, names in state.boxes.items() if each != node}
    if boxes:
        others[node] = list(boxes)
    state.boxes = others


def due(poll: PollContext) -> Sequence[int]:
    """Return the pull requests in which a box was ticked that is not reported yet."""
    return sorted(set(poll.cursor.boxes_due.values()))


def reported(cursor: GithubCursor) -> Mapping[int, tuple[str, ...]]:
    """Return the boxes that are ticked and reported, by the numbers of their pull requests."""
    found = {
        number: tuple(dict.fromkeys(name for names in state.boxes.values() for name in names))
        for number, state in cursor.pull_requests.items()
    }
    return {number: names for number, names in found.items() if names}


async def read(poll: PollContext, number: int) -> None:
    """Find out who ticked the boxes of a pull request, and report each of them once."""
    for node in [node for node, of in poll.cursor.boxes_due.items() if of == number]:
        answer = await poll.reader.graphql(endpoints.editor_query(node))
        problem = endpoints.graphql_error(answer.json())
        if problem is not None and problem[0] != "NOT_FOUND":
            raise HttpError(f"GitHub does not say who ticked a box of #{number}: {problem[1]}", trouble="unknown")
        text: Json = None
        if problem is None:
            text = answers.part(answer, "data", "node")
        boxes = ticked(answers.text(text, "body"))
        state = poll.cursor.pull_requests[number]
        new = [box for box in boxes if box not in state.boxes.get(node, [])]
        poll.changes.add([_event(number, node, box, text, iso(poll.ctx.now)) for box in new])
        _remember(state, node, boxes)
        del poll.cursor.boxes_due[node]


def _event(number: int, node: str, box: str, text: Json, now: str) -> Event:
    """Return the event of a box: a command of the last editor, or of the author where nobody edited the text."""
    when = answers.text(text, "lastEditedAt")
    role = "editor" if when else "author"  # an editor whose account is gone is null, too
    editor = answers.graphql_author(answers.value_at(text, role))
    return Event(
        id=f"github:box:{node}:{box}:{when or 'opened'}",
        source=requests.TARGET,
        type="box_ticked",
        title=f"{editor.login} ticked {box}",
        body=f"/prloom {box}",
        reply_to=requests.to_target(ReplyTarget(number)),
        context={"box": box},
        author=editor,
        created_at=when or now,
        pr=number,
    )
