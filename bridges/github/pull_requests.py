"""Read single pull requests: a new one, reviews, conflicts with the base, and comments that were deleted.

GitHub says only of each alone whether it conflicts, and computes that late. No list shows a deletion, and no time moves
with it; but GitHub says of each alone how many comments it has. Where there are fewer than before, the remembered ones
are looked up, first in the list, then each by its number.
"""

from __future__ import annotations

from collections.abc import Sequence

from prloom.api import HttpError, Json

from . import boxes
from .api_reader import PollContext, is_complete
from .sansio import answers, endpoints, pulls, received_posts
from .sansio.comment_kinds import COMMENT_KINDS, NAMES, CommentKind
from .sansio.cursor import PullRequestState
from .sansio.pulls import PullRequestSummary
from .sansio.received_posts import Post

_MERGEABILITY_READS = 10
"""Pull requests that are read for conflicts in one poll; a push to the base concerns all of them."""
_TRIES = 20
"""How often a pull request is read while GitHub has not computed whether it conflicts."""
_MOST_BASES = 5
"""Base branches that are followed; a push to the repository is taken for one to any other."""
_DELETIONS = 5
"""Pull requests that are searched for deleted comments in one poll."""
_MOST_COMMENTS = 30
"""Comments that are requested by their numbers in one search."""


async def read_new(poll: PollContext, number: int, plan: str) -> None:
    """Read all that was written on a pull request before this plan tracked it."""
    reader, cursor = poll.reader, poll.cursor
    try:
        answer = await reader.get(reader.repository.pull(number))
    except HttpError as error:
        if error.trouble != "gone":
            raise
        mark_missing(poll, number, plan)
        return
    item, now = pulls.read_alone(answer, number)
    cursor.remove_missing(number)
    listed = {kind: await reader.all(reader.repository.comments_of(kind, number)) for kind in COMMENT_KINDS}
    state = PullRequestState(plan=plan, head=now.head, base=now.base, state=now.state, updated=now.updated)
    state.conflict, state.fork, state.owner, state.own_etag = False, now.fork, now.owner, answer.etag
    reviews = await _reviews(poll, number, state)
    found = await reader.account.mark_own(reader, received_posts.comments(listed))
    cursor.pull_requests[number] = state
    poll.changes.add(pulls.changes(None, now))
    boxes.note(poll, [item])
    boxes.note_comments(poll, listed["comments"], found)
    poll.changes.add_posts([*found, *reviews], anew=cursor.read_for.pop(number, None) != plan)
    state.counts = {kind: max(count, len(listed[kind])) for kind, count in pulls.counts(item).items()}
    state.last_read["merge"] = cursor.poll_number
    _note_conflict(poll, item, now)
    if now.state == "open":
        cursor.checks_due.append(number)


def mark_missing(poll: PollContext, number: int, plan: str = "") -> None:
    """Note that GitHub does not find a pull request; it has ended once two polls that saw the repository say so.

    A token that loses access to the repository between two requests loses access to one pull request first.
    """
    cursor = poll.cursor
    if number not in poll.missing_before:
        cursor.add_missing(number)
        return
    cursor.remove_missing(number)
    state = cursor.pull_requests.setdefault(number, PullRequestState(plan=plan))
    if state.state != "closed":
        poll.changes.add([pulls.gone_event(number, poll.now)])
    state.state = "closed"
    cursor.reviews_due = [due for due in cursor.reviews_due if due != number]


# ---- reviews


async def read_reviews(poll: PollContext, number: int) -> None:
    """Read the reviews of a pull request."""
    try:
        found = await _reviews(poll, number, poll.cursor.pull_requests[number])
    except HttpError as error:
        if error.trouble != "gone":
            raise
        mark_missing(poll, number)
    else:
        poll.changes.add_posts(found)


async def _reviews(poll: PollContext, number: int, state: PullRequestState) -> list[Post]:
    """Return the reviews of a pull request; none where nothing changed since they were read last.

    A review that comes within the second in which the pull request changed does not change its time: so reviews are
    read once more when that second is long over.
    """
    reader, cursor = poll.reader, poll.cursor
    answer = await reader.get(endpoints.full_pages(f"{reader.repository.pull(number)}/reviews"), state.reviews_etag)
    found: list[Json] = []
    if not answer.unchanged:
        found = await reader.all_from(answer)
    reviews = await reader.account.mark_own(reader, [received_posts.review(item, number) for item in found])
    cursor.reviews_due = [due for due in cursor.reviews_due if due != number]
    if not is_complete(answer, state.updated):
        cursor.reviews_due.append(number)
    if not answer.unchanged:  # the tag is that of one page; a full one looks the same as more follow it
        is_only_page = answer.next_page is None and len(found) < endpoints.PAGE_SIZE
        state.reviews_etag = answer.etag if is_only_page else None
    return reviews


# ---- conflicts with the base


def mergeability_due(poll: PollContext) -> Sequence[int]:
    """Return the pull requests to read for conflicts: also those that changed while no event explains the change."""
    due = poll.cursor.mergeability_due
    poll.cursor.mark_mergeability_due(number for number in poll.changes.unexplained if number not in due)
    poll.changes.unexplained.clear()
    return list(poll.cursor.mergeability_due)[:_MERGEABILITY_READS]


async def follow_bases(poll: PollContext) -> None:
    """After a push to the repository, find out whether it was to a base; then its pull requests are due.

    The list of pull requests shows when the last push was, and not to which branch.
    """
    cursor = poll.cursor
    if not cursor.push_pending:
        return
    opened = cursor.open_pull_requests
    moved = {base for base in {state.base for state in opened.values()} if await _has_moved(poll, base)}
    cursor.mark_mergeability_due(number for number, state in opened.items() if state.base in moved)
    cursor.push_pending = False


async def _has_moved(poll: PollContext, base: str) -> bool:
    """Whether a branch has new commits; one that cannot be followed may have."""
    bases = poll.cursor.bases
    is_full = base not in bases and len(bases) >= _MOST_BASES
    if is_full or not poll.access.allows("branches"):
        return True
    try:
        answer = await poll.reader.get(poll.reader.repository.branch(base))
    except HttpError as error:
        if error.trouble != "gone":  # the branch
            poll.access.deny("branches", error)
        return True
    before, bases[base] = bases.get(base), answers.text(answer.json(), "commit", "sha")
    return before not in {None, bases[base]}


async def read_mergeability(poll: PollContext, number: int) -> None:
    """Read whether a pull request can be merged, and how many comments it has."""
    cursor = poll.cursor
    state = cursor.pull_requests[number]
    state.last_read["merge"] = cursor.poll_number
    try:
        answer = await poll.reader.get(poll.reader.repository.pull(number), state.own_etag)
    except HttpError as error:
        if error.trouble != "gone":
            raise
        cursor.mergeability_due.pop(number, None)
        mark_missing(poll, number)
        return
    if answer.unchanged:
        cursor.remove_missing(number)
        _retry_unknown(poll, number)
        return
    item, now = pulls.read_alone(answer, number)
    cursor.remove_missing(number)
    state.own_etag = answer.etag
    _compare_counts(poll, number, item)
    _note_conflict(poll, item, now)


def _note_conflict(poll: PollContext, item: Json, now: PullRequestSummary) -> None:
    """Note whether a pull request, shown alone, conflicts with its base."""
    cursor = poll.cursor
    if now.state != "open":
        cursor.mergeability_due.pop(now.number, None)
        return
    state = cursor.pull_requests[now.number]
    before, state.conflict = state.conflict, pulls.conflict(item)
    older = state.conflict_event
    if state.conflict and not before:
        event = pulls.conflict_event(now, answers.text(item, "base", "sha"), older)
        poll.changes.add([event])
        state.conflict_event = event.id
    elif state.conflict is False and older is not None:
        poll.changes.add([pulls.resolved_event(now, older)])
        state.conflict_event = None
    _retry_unknown(poll, now.number)


def _retry_unknown(poll: PollContext, number: int) -> None:
    """Read a pull request again, for a while, if GitHub has not computed the conflict; at the end of the queue."""
    tries = poll.cursor.mergeability_due.pop(number, 0)
    if poll.cursor.pull_requests[number].conflict is None and tries < _TRIES:
        poll.cursor.mergeability_due[number] = tries + 1


# ---- deleted comments


def _compare_counts(poll: PollContext, number: int, item: Json) -> None:
    """Compare how many comments a pull request has with how many it had; each kind with fewer is due."""
    counts = poll.cursor.pull_requests[number].counts
    due = poll.cursor.deletions_due
    for kind, count in pulls.counts(item).items():
        if count < counts.get(kind, 0) and kind not in due.setdefault(number, []):
            due[number].append(kind)
        counts[kind] = min(count, counts.get(kind, count))


def deletions_due(poll: PollContext) -> Sequence[int]:
    """Return the pull requests to search for deleted comments in this poll."""
    return list(poll.cursor.deletions_due)[:_DELETIONS]


async def find_deletions(poll: PollContext, number: int) -> None:
    """Find the remembered comments that were deleted; what cannot be requested stays due."""
    reader, cursor = poll.reader, poll.cursor
    due = cursor.deletions_due
    for kind in list(due[number]):
        absent = await _absent_from_list(poll, number, kind)
        requested = [(key, answers.tail_number(key, NAMES[kind].mark)) for key in absent[:_MOST_COMMENTS]]
        # A list may be behind, and lack what was just written.
        gone = [key for key, post in requested if not await reader.exists(reader.repository.comment(kind, post))]
        if gone:  # a token that loses access to the pull request meanwhile gets 404 for each of its comments
            await reader.get(reader.repository.pull(number), cursor.pull_requests[number].own_etag)
        poll.changes.add(received_posts.deleted_event(key, cursor.posts.pop(key), poll.now) for key in gone)
        if len(absent) <= _MOST_COMMENTS:
            due[number].remove(kind)
    if not due[number]:
        del due[number]


async def _absent_from_list(poll: PollContext, number: int, kind: CommentKind) -> list[str]:
    """Return the remembered posts of a kind that the pull request's own list of all of them does not have."""
    found = await poll.reader.all(poll.reader.repository.comments_of(kind, number))
    listed = {f"{NAMES[kind].mark}{answers.number(item, 'id')}" for item in found}
    remembered = (key for key, post in poll.cursor.posts.items() if post.pr == number)
    return [key for key in remembered if received_posts.kind(key) == kind and key not in listed]
