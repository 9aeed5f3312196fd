"""Carry out an action on GitHub: what has no text is done again harmlessly, what has one is left to `posting`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
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

from .posting import Posting
from .sansio import errors, graphql, json_access, pulls, reply_target, requests
from .sansio.reply_target import ReplyTarget
from .source import ApiReader


async def deliver(
    ctx: BridgeContext, source: ApiReader, graphql: str, action: Action, miss: Callable[[int], None]
) -> Delivered | Refused:
    """Carry out one action; whatever GitHub says to it is the answer. `miss` is told where a comment is gone."""
    if action.target.target != reply_target.TARGET:
        return Refused(f"the github bridge does not deliver to {action.target.target!r}")
    where = reply_target.read(action.target.token, ctx.plan.pr if ctx.plan else None)
    if where is None:
        return Refused("the target's token does not name a pull request; use the event's reply_to")
    posting = Posting(ctx, source, action.id, where)
    try:
        return await _Carrier(ctx, source, graphql, where, posting).carry_out(action)
    except HttpError as error:
        posting.missed = error.trouble == "gone"
        return errors.refused(error, ctx.now, unsure=posting.unsure)
    finally:
        if posting.missed:
            miss(where.pr)


@dataclass
class _Carrier:
    ctx: BridgeContext
    source: ApiReader
    graphql: str
    where: ReplyTarget
    posting: Posting

    async def carry_out(self, action: Action) -> Delivered | Refused:
        match action.payload:
            case Comment(message=message):
                return await self.posting.say(message)
            case InlineComment():
                return await self.posting.say_at_line(action.payload)
            case Review():
                return await self.posting.review(action.payload)
            case _:
                return await self._change(action.payload)

    async def _change(self, payload: Payload) -> Delivered | Refused:
        """Do what has no words, so that twice is as good as once."""
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
                return await self._ask(requests.plain(payload, self.source.repository, self.where.pr))
            case UpsertPlan():
                return Refused("the github bridge does not store plans; each plan is in its own folder")
            case _:
                return Refused("this version of the github bridge does not support this payload")

    async def _ask(self, ask: requests.ApiRequest) -> Delivered:
        await self._send(ask)
        return Delivered()

    async def _send(self, ask: requests.ApiRequest) -> Json:
        return (await self.source.http.request(ask.method, ask.url, body=ask.body)).json()

    async def _remove_labels(self, labels: Sequence[str]) -> Delivered | Refused:
        for label in labels:
            try:
                await self.source.http.request("DELETE", self.source.repository.label(self.where.pr, label))
            except HttpError as error:
                if not (error.trouble == "gone" and errors.mentions(error, "label")):
                    raise
        return Delivered()

    async def _assign(self, users: Sequence[str]) -> Delivered | Refused:
        """Assign people; GitHub leaves out whom it cannot assign, and says nothing."""
        answer = await self._send(requests.assign(self.source.repository, self.where.pr, users))
        there = {json_access.text(each, "login").lower() for each in json_access.items(answer, "assignees")}
        missing = [user for user in users if user.lower() not in there]
        if missing:
            return Refused(f"GitHub does not allow you to assign these users here: {', '.join(missing)}")
        return Delivered()

    async def _set_milestone(self, title: str) -> Delivered | Refused:
        found = requests.milestone(await self.source.all(self.source.repository.milestones()), title)
        if found is None:
            return Refused(
                f"there is no milestone {title!r}; create it on GitHub, then run `prloom retry` for this action"
            )
        return await self._ask(requests.set_milestone(self.source.repository, self.where.pr, found))

    async def _react(self, reaction: str) -> Delivered | Refused:
        ask = requests.react(self.source.repository, self.where, reaction)
        if isinstance(ask, Refused):
            return ask
        return await self._ask(ask)

    async def _merge(self, wanted: Merge) -> Delivered | Refused:
        """Merge the commit that was decided on, or that an earlier attempt was about; only without either the head.

        GitHub itself compares it with the head as it merges, so nothing that is pushed meanwhile is merged.
        """
        answer = (await self.source.get(self.source.repository.pull(self.where.pr))).json()
        now = pulls.summary(answer)
        if now is None or now.state == "merged":
            return Delivered()
        if now.state == "closed":
            return Refused("the pull request is closed; reopen it to merge it")
        commit = wanted.commit or now.head
        if now.head == commit and pulls.conflict(answer):
            text = f"it conflicts with {now.base}; resolve the conflict, then run `prloom retry` for this action"
            return Refused(text, commit=commit)
        try:
            return await self._ask(requests.merge(self.source.repository, now.number, wanted.method, commit))
        except HttpError as error:
            refused = errors.merge(error, commit, self.ctx.now)
            return dataclasses.replace(refused, commit=commit)

    async def _resolve(self) -> Delivered | Refused:
        root = self.where.thread
        if root is None:
            return Refused("there is no thread to resolve; resolve_thread needs the reply_to of a comment on a line")
        after: str | None = None
        while True:
            answer = await self._graph(graphql.threads(self.source.repository.full_name, self.where.pr, after))
            if isinstance(answer, Refused):
                return answer
            thread = graphql.find(answer, root)
            after = graphql.next_page(answer)
            if thread is not None or after is None:
                break
        if thread is None or thread.resolved:  # what is gone is settled
            return Delivered()
        answer = await self._graph(graphql.resolve(thread.id))
        if isinstance(answer, Refused):
            return answer
        return Delivered()

    async def _graph(self, question: Json) -> Json:
        """Ask in GraphQL; return the answer, or the refusal that a 200 may hide."""
        answer = await self.source.http.request("POST", self.graphql, body=question)
        found = answer.json()
        problem = graphql.problem(found)
        if problem is None:
            return found
        kind, words = problem
        return errors.graph(kind, " ".join(filter(None, (words, errors.sso(answer.headers)))))
