"""Post what has words, once: it carries the mark of its action, and where it may be there already it is looked for."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.api import BridgeContext, Delivered, HttpError, InlineComment, Json, Refused, Review, marker

from .sansio import accounts, errors, json_access, rendering, requests, urls
from .sansio.reply_target import ReplyTarget
from .sansio.requests import ApiRequest
from .source import ApiReader

_GONE = "*(The comment that this answers was deleted.)*\n\n"
_REFUSED = "*(GitHub does not accept replies in the thread that this answers.)*\n\n"
_IN_DRAFT = (
    "your account has a draft review on the pull request, and GitHub put the reply into it; submit or discard the draft"
)
_BEHIND_DRAFT = "your account has a draft review on the pull request; submit or discard it, and the reply is posted"


class Posting:
    """Posts for one action. `unsure` as long as an earlier attempt may have arrived and nobody has looked.

    `missed`: the thread that it was to be posted in is gone.
    """

    def __init__(self, ctx: BridgeContext, source: ApiReader, action: str, where: ReplyTarget) -> None:
        self.unsure = ctx.uncertain
        self.missed = False
        self._source = source
        self._repository = source.repository
        self._action = action
        self._where = where

    async def say(self, message: str) -> Delivered | Refused:
        """Comment in the thread, or in the conversation; there too where the thread is gone."""
        if not message.strip():
            return Refused("the message is empty, so there is nothing to post")
        root = self._where.thread
        earlier = await self._earlier(inline=root is not None)
        if earlier is not None:
            return earlier
        if root is None:
            return await self._converse(message)
        return await self._in_thread(root, message)

    async def say_at_line(self, payload: InlineComment) -> Delivered | Refused:
        """Comment at a line; in the conversation where the line is not in the diff (any more)."""
        if not payload.message.strip():
            return Refused("the message is empty, so there is nothing to post")
        earlier = await self._earlier(inline=True)
        if earlier is not None:
            return earlier
        commit = payload.commit or await self._head()
        ask = requests.inline(self._repository, self._where.pr, commit, payload, self._action)
        try:
            answer = await self._post(ask)
        except HttpError as error:
            refused = _not_beside_code(error)
            if refused is not None:
                return refused
            return await self._converse(rendering.at_line(payload.path, payload.line, payload.message))
        return await self._shown(answer)

    async def review(self, payload: Review) -> Delivered | Refused:
        """Review; where a comment's line is not in the diff, its words go into the review's own text."""
        earlier = await self._earlier_review()
        if earlier is not None:
            return earlier
        commit = payload.commit or await self._head()
        for folded in (False, True):
            ask = requests.review(self._repository, self._where.pr, payload, self._action, commit=commit, folded=folded)
            if isinstance(ask, Refused):
                return ask
            try:
                answer = await self._post(ask)
            except HttpError as error:
                if errors.draft(error):
                    return Refused(_BEHIND_DRAFT, retryable=True, retry_after=errors.LATER)
                if error.trouble != "refused" or folded or not payload.comments or errors.mentions(error, "own pull"):
                    raise
            else:
                return _delivered(answer, "pullrequestreview-")
        raise AssertionError  # pragma: no cover - the second turn returns or raises

    # ---- posting

    async def _converse(self, message: str) -> Delivered:
        body = rendering.body(message, self._action)
        return _delivered(await self._post(requests.comment(self._repository, self._where.pr, body)), "issuecomment-")

    async def _in_thread(self, root: int, message: str) -> Delivered | Refused:
        """Reply beside the comment that begins the thread; in the conversation where that is gone, or takes none."""
        ask = requests.reply(self._repository, self._where, rendering.body(message, self._action))
        try:
            answer = await self._post(ask)
        except HttpError as error:
            refused = _not_beside_code(error)
            if refused is not None:
                return refused
            there = await self._is_there(root)
            if there and error.trouble == "gone":  # GitHub says 404 also to who may not post there
                raise
            self.missed = not there
            return await self._converse((_REFUSED if there else _GONE) + message)
        return await self._shown(answer)

    async def _is_there(self, comment: int) -> bool:
        """Whether GitHub shows a comment on a line."""
        try:
            await self._source.get(self._repository.post("inline", comment))
        except HttpError as error:
            if error.trouble != "gone":
                raise
            return False
        return True

    async def _shown(self, answer: Json) -> Delivered | Refused:
        """Read back whether the comment is to be seen: GitHub answers 201 too where it went into a draft."""
        self.unsure = True
        review = json_access.number(answer, "pull_request_review_id")
        if review is not None:
            url = f"{self._repository.pull(self._where.pr)}/reviews/{review}"
            state = json_access.text((await self._source.get(url)).json(), "state")
            if state == "PENDING":
                return Refused(_IN_DRAFT, retryable=True, retry_after=errors.LATER, unknown=True)
        return _delivered(answer, "discussion_r")

    async def _post(self, ask: ApiRequest) -> Json:
        return (await self._source.http.request(ask.method, ask.url, body=ask.body)).json()

    async def _head(self) -> str:
        answer = (await self._source.get(self._repository.pull(self._where.pr))).json()
        return json_access.text(answer, "head", "sha")

    # ---- looking for what may be there already

    async def _earlier(self, *, inline: bool) -> Delivered | Refused | None:
        """Return what became of an earlier attempt; None where there was none, or nothing came of it."""
        if not self.unsure:
            return None
        issue, pull = self._repository.issue(self._where.pr), self._repository.pull(self._where.pr)
        there = await self._found(await self._source.all(urls.listed(f"{issue}/comments")), "issuecomment-")
        if there is None and inline:
            there = await self._found(await self._source.all(urls.listed(f"{pull}/comments")), "discussion_r")
            if there is None and await self._in_draft():
                return Refused(_IN_DRAFT, retryable=True, retry_after=errors.LATER, unknown=True)
        self.unsure = False
        return there

    async def _earlier_review(self) -> Delivered | None:
        if not self.unsure:
            return None
        reviews = await self._source.all(urls.listed(f"{self._repository.pull(self._where.pr)}/reviews"))
        there = await self._found(reviews, "pullrequestreview-")
        self.unsure = False
        return there

    async def _in_draft(self) -> bool:
        """Whether the words are in a draft of our own, which the lists of comments do not show."""
        url = f"{self._repository.pull(self._where.pr)}/reviews"
        for each in await self._source.all(urls.listed(url)):
            if json_access.text(each, "state") == "PENDING":
                comments = await self._source.all(urls.listed(f"{url}/{json_access.number(each, 'id')}/comments"))
                if await self._found(comments, "discussion_r") is not None:
                    return True
        return False

    async def _found(self, posts: list[Json], prefix: str) -> Delivered | None:
        """Return our post that begins with the mark of this action: one that quotes it does not.

        Anybody can work out what the mark of an action will be, and write it.
        """
        mark = marker(self._action)
        marked = [post for post in posts if json_access.text(post, "body").lstrip().startswith(mark)]
        if not marked:
            return None
        authors = [accounts.author(json_access.at(post, "user")) for post in marked]
        account = await self._source.account.of(self._source, authors)
        own = (post for post in marked if accounts.wrote(account, json_access.at(post, "user")))
        return next((_delivered(post, prefix) for post in own), None)


def _delivered(answer: Mapping[str, Json], prefix: str) -> Delivered:
    number = json_access.number(answer, "id")
    return Delivered(f"{prefix}{number}" if number else None, json_access.text(answer, "html_url") or None)


def _not_beside_code(error: HttpError) -> Refused | None:
    """Return the refusal by a draft; None where there may be no such place beside the code. Raises any other error."""
    if errors.draft(error):
        return Refused(_BEHIND_DRAFT, retryable=True, retry_after=errors.LATER)
    if error.trouble not in {"gone", "refused"}:
        raise error
    return None
