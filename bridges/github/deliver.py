"""Carry out an action on GitHub: one without text may be done twice; `posting` posts texts once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prloom.api import (
    Action,
    AddLabels,
    AssignUsers,
    BridgeContext,
    ClosePr,
    Comment,
    Delivered,
    HttpError,
    InlineComment,
    Json,
    Merge,
    Payload,
    React,
    Refused,
    RemoveLabels,
    RequestReviewers,
    ResolveThread,
    Review,
    SetMilestone,
    UpsertPlan,
)

from . import paging
from .api_reader import ApiReader
from .posting import Posting
from .sansio import answers, endpoints, pulls, requests
from .sansio.endpoints import ReviewThread
from .sansio.requests import ApiRequest, ReplyTarget


async def deliver(
    ctx: BridgeContext, reader: ApiReader, action: Action, note_missing: Callable[[int], None]
) -> Delivered | Refused:
    """Carry out one action, and return GitHub's answer. `note_missing` is called where a comment is gone."""
    if action.target.target != requests.TARGET:
        return Refused(f"the github bridge does not deliver to {action.target.target!r}")
    pr = None
    if ctx.plan is not None:
        pr = ctx.plan.pr
    where = requests.read_token(action.target.token, pr)
    if where is None:
        return Refused("the target's token does not name a pull request; use the event's reply_to")
    posting = Posting(ctx, reader, action.id, where)
    try:
        return await _Delivery(ctx, reader, where, posting).carry_out(action)
    except HttpError as error:
        posting.missed = error.trouble == "gone"
        return answers.refusal(error, ctx.now, unsure=posting.unsure)
    finally:
        if posting.missed:
            note_missing(where.pr)


@dataclass
class _Delivery:
    ctx: BridgeContext
    reader: ApiReader
    where: ReplyTarget
    posting: Posting

    async def carry_out(self, action: Action) -> Delivered | Refused:
        match action.payload:
            case Comment(message=message, appends_to=post):
                added = None
                if post is not None:
                    added = await self.posting.append(post, message)
                return added or await self.posting.comment(message)
            case InlineComment():
                return await self.posting.inline_comment(action.payload)
            case Review():
                return await self.posting.review(action.payload)
            case _:
                return await self._change(action.payload)

    async def _change(self, payload: Payload) -> Delivered | Refused:
        """Carry out an action without text, which has the same result when it is done twice."""
        match payload:
            case ResolveThread():
                return await self._resolve()
            case Merge():
                return await self._merge(payload)
            case SetMilestone(milestone=title):
                return await self._set_milestone(title)
            case RemoveLabels(labels=labels):
                return await self._remove_labels(labels)
            case AssignUsers(users=users):
                return await self._assign(users)
            case React(reaction=reaction):
                return await self._react(reaction)
            case AddLabels() | ClosePr() | RequestReviewers():
                return await self._send(requests.idempotent(payload, self.reader.repository, self.where.pr))
            case UpsertPlan():
                return Refused("the github bridge does not store plans; each plan is in its own folder")
            case _:
                return Refused("this version of the github bridge does not support this payload")

    async def _send(self, request: ApiRequest) -> Delivered:
        """Send a request that GitHub answers with what was changed, or with a list of labels."""
        answer = await self.reader.send(request.method, request.url, request.body)
        if not isinstance(answer.json(), list):
            answers.with_id(answer)
        return Delivered()

    async def _remove_labels(self, labels: Sequence[str]) -> Delivered | Refused:
        for label in labels:
            try:
                await self._send(ApiRequest("DELETE", self.reader.repository.label(self.where.pr, label), None))
            except HttpError as error:
                if not (error.trouble == "gone" and answers.mentions(error, "label")):
                    raise
        return Delivered()

    async def _assign(self, users: Sequence[str]) -> Delivered | Refused:
        """Assign people; GitHub omits those that it cannot assign, without an error."""
        request = requests.assign(self.reader.repository, self.where.pr, users)
        answer = answers.with_id(await self.reader.send(request.method, request.url, request.body))
        assigned = {answers.text(each, "login").lower() for each in answers.items(answer, "assignees")}
        missing = [user for user in users if user.lower() not in assigned]
        if missing:
            return Refused(f"GitHub does not allow you to assign these users here: {', '.join(missing)}")
        return Delivered()

    async def _set_milestone(self, title: str) -> Delivered | Refused:
        found = requests.milestone(await self.reader.all(self.reader.repository.milestones()), title)
        if found is None:
            return Refused(
                f"there is no milestone {title!r}; create it on GitHub, then run `prloom retry` for this action"
            )
        return await self._send(requests.set_milestone(self.reader.repository, self.where.pr, found))

    async def _react(self, reaction: str) -> Delivered | Refused:
        request = requests.react(self.reader.repository, self.where, reaction)
        if isinstance(request, Refused):
            return request
        return await self._send(request)

    async def _merge(self, wanted: Merge) -> Delivered | Refused:
        """Merge the commit of the decision, or of an earlier attempt; the head only if there is neither.

        GitHub itself compares it with the head as it merges, so nothing that is pushed meanwhile is merged.
        """
        answer, now = await self.reader.pull(self.where.pr)
        if now.state == "merged":
            return Delivered()
        if now.state == "closed":
            return Refused("the pull request is closed; reopen it to merge it")
        commit = wanted.commit or now.head
        if now.head == commit and pulls.conflict(answer):
            text = f"it conflicts with {now.base}; resolve the conflict, then run `prloom retry` for this action"
            return Refused(text, commit=commit)
        request = requests.merge(self.reader.repository, now.number, wanted.method, commit)
        try:
            merged = await self.reader.send(request.method, request.url, request.body)
            if answers.value_at(merged.json(), "merged") is not True:
                raise answers.unexpected(merged, "does not say that it is merged")
        except HttpError as error:
            refused = answers.merge_refusal(error, commit, self.ctx.now)
            return dataclasses.replace(refused, commit=commit)
        return Delivered()

    async def _resolve(self) -> Delivered | Refused:
        root = self.where.thread
        if root is None:
            return Refused("there is no thread to resolve; resolve_thread needs the reply_to of a comment on a line")
        thread = await self._thread(root)
        if isinstance(thread, Refused):
            return thread
        if thread is None or thread.resolved:  # a thread that is gone needs no resolving
            return Delivered()
        answer = await self._graphql(endpoints.resolve_mutation(thread.id), "resolveReviewThread", "thread")
        if isinstance(answer, Refused):
            return answer
        return Delivered()

    async def _thread(self, root: int) -> ReviewThread | Refused | None:
        """Return the thread that begins with this comment; None where there is none."""
        where = (self.reader.repository.full_name, self.where.pr)
        after: str | None = None
        for _ in range(paging.MOST_PAGES):
            page = await self._graphql(
                endpoints.threads_query(*where, after), "repository", "pullRequest", "reviewThreads"
            )
            if isinstance(page, Refused):
                return page
            thread = endpoints.find_thread(page, root)
            after = endpoints.next_threads_page(page)
            if thread is not None or after is None:
                return thread
        raise HttpError(f"#{self.where.pr}: more than {paging.MOST_PAGES} pages of threads", trouble="unknown")

    async def _graphql(self, query: Json, *path: str) -> Mapping[str, Json] | Refused:
        """Send a GraphQL query; return what is at the path in the answer, or the refusal that a 200 may hide."""
        answer = await self.reader.graphql(query)
        problem = endpoints.graphql_error(answer.json())
        if problem is None:
            return answers.part(answer, "data", *path)
        kind, words = problem
        return answers.graphql_refusal(kind, " ".join(filter(None, (words, answers.sso_hint(answer.headers)))))
