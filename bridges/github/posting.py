"""Post a text once: it begins with the marker of its action, by which an earlier attempt is found."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.api import BridgeContext, Delivered, HttpError, InlineComment, Json, Refused, Review, marker

from .api_reader import ApiReader
from .sansio import answers, comment_kinds, endpoints, requests
from .sansio.comment_kinds import ISSUE_COMMENT, REVIEW_COMMENT
from .sansio.received_posts import REVIEW
from .sansio.requests import ApiRequest, ReplyTarget

_GONE = "*(The comment that this answers was deleted.)*\n\n"
_REFUSED = "*(GitHub does not accept replies in the thread that this answers.)*\n\n"
_IN_DRAFT = (
    "your account has a draft review on the pull request, and GitHub put the reply into it; submit or discard the draft"
)
_BEHIND_DRAFT = "your account has a draft review on the pull request; submit or discard it, and the reply is posted"


class Posting:
    """Posts for one action. `unsure` while an earlier attempt may have arrived, and it has not been searched for.

    `missed`: the thread that it was to be posted in is gone.
    """

    def __init__(self, ctx: BridgeContext, reader: ApiReader, action: str, where: ReplyTarget) -> None:
        self.unsure = ctx.uncertain
        self.missed = False
        self._reader = reader
        self._repository = reader.repository
        self._action = action
        self._where = where

    async def comment(self, message: str) -> Delivered | Refused:
        """Comment in the thread, or in the conversation; there too where the thread is gone."""
        if not message.strip():
            return Refused("the message is empty, so there is nothing to post")
        root = self._where.thread
        earlier = await self._earlier(inline=root is not None)
        if earlier is not None:
            return earlier
        if root is None:
            return await self._in_conversation(message)
        return await self._in_thread(root, message)

    async def append(self, post: str, message: str) -> Delivered | None:
        """Add the message to an own comment; None where that is gone, full, or not to be edited any more.

        The comment has the marker of each message that was added, so that none is added twice.
        """
        found = comment_kinds.of_name(post)
        if found is None or not message.strip():
            return None
        kind, number = found
        url = self._repository.comment(kind, number)
        try:
            comment = answers.with_id(await self._reader.get(url))
            body = answers.text(comment, "body")
            if marker(self._action) not in body:
                edited = requests.appended(body, message, self._action)
                if edited is None:
                    return None
                comment = await self._post(ApiRequest("PATCH", url, {"body": edited}))
        except HttpError as error:
            if error.trouble not in {"gone", "refused"}:
                raise
            return None
        return _delivered(comment, comment_kinds.NAMES[kind].mark)

    async def inline_comment(self, payload: InlineComment) -> Delivered | Refused:
        """Comment at a line; in the conversation where the line is not in the diff (any more)."""
        if not payload.message.strip():
            return Refused("the message is empty, so there is nothing to post")
        earlier = await self._earlier(inline=True)
        if earlier is not None:
            return earlier
        commit = payload.commit or await self._head()
        request = requests.inline(self._repository, self._where.pr, commit, payload, self._action)
        try:
            answer = await self._post(request)
        except HttpError as error:
            refused = _refused_by_draft(error)
            if refused is not None:
                return refused
            return await self._in_conversation(requests.at_line(payload.path, payload.line, payload.message))
        return await self._checked_for_draft(answer)

    async def review(self, payload: Review) -> Delivered | Refused:
        """Review; where a comment's line is not in the diff, its text goes into the review's own text."""
        earlier = await self._earlier_review()
        if earlier is not None:
            return earlier
        commit = payload.commit or await self._head()
        for folded in (False, True):
            request = requests.review(
                self._repository, self._where.pr, payload, self._action, commit=commit, folded=folded
            )
            if isinstance(request, Refused):
                return request
            try:
                answer = await self._post(request)
            except HttpError as error:
                if answers.is_draft_error(error):
                    return Refused(_BEHIND_DRAFT, retryable=True, retry_after=answers.RETRY_LATER)
                if error.trouble != "refused" or folded or not payload.comments or answers.mentions(error, "own pull"):
                    raise
            else:
                return _delivered(answer, REVIEW)
        raise AssertionError  # pragma: no cover - the second attempt returns or raises

    # ---- posting

    async def _in_conversation(self, message: str) -> Delivered:
        body = requests.post_body(message, self._action)
        return _delivered(await self._post(requests.comment(self._repository, self._where.pr, body)), ISSUE_COMMENT)

    async def _in_thread(self, root: int, message: str) -> Delivered | Refused:
        """Reply beside the comment that begins the thread; in the conversation where that is gone, or takes none."""
        request = requests.reply(self._repository, self._where, requests.post_body(message, self._action))
        try:
            answer = await self._post(request)
        except HttpError as error:
            refused = _refused_by_draft(error)
            if refused is not None:
                return refused
            root_exists = await self._reader.exists(self._repository.comment("inline", root))
            if root_exists and error.trouble == "gone":  # GitHub also answers 404 if the token may not post there
                raise
            self.missed = not root_exists
            note = _REFUSED if root_exists else _GONE
            return await self._in_conversation(note + message)
        return await self._checked_for_draft(answer)

    async def _checked_for_draft(self, answer: Mapping[str, Json]) -> Delivered | Refused:
        """Return the posted comment, unless it went into a draft: GitHub answers 201 for that too."""
        self.unsure = True
        review = answers.number(answer, "pull_request_review_id")
        if review is not None:
            url = f"{self._repository.pull(self._where.pr)}/reviews/{review}"
            state = answers.text(answers.with_id(await self._reader.get(url)), "state")
            if state == "PENDING":
                return Refused(_IN_DRAFT, retryable=True, retry_after=answers.RETRY_LATER, unknown=True)
        return _delivered(answer, REVIEW_COMMENT)

    async def _post(self, request: ApiRequest) -> Mapping[str, Json]:
        return answers.with_id(await self._reader.send(request.method, request.url, request.body))

    async def _head(self) -> str:
        _, now = await self._reader.pull(self._where.pr)
        return now.head

    # ---- searching for an earlier attempt

    async def _earlier(self, *, inline: bool) -> Delivered | Refused | None:
        """Return the result of an earlier attempt; None where there was none, or it posted nothing."""
        if not self.unsure:
            return None
        issue, pull = self._repository.issue(self._where.pr), self._repository.pull(self._where.pr)
        post = await self._find(await self._reader.all(endpoints.full_pages(f"{issue}/comments")), ISSUE_COMMENT)
        if post is None and inline:
            post = await self._find(await self._reader.all(endpoints.full_pages(f"{pull}/comments")), REVIEW_COMMENT)
            if post is None and await self._in_draft():
                return Refused(_IN_DRAFT, retryable=True, retry_after=answers.RETRY_LATER, unknown=True)
        self.unsure = False
        return post

    async def _earlier_review(self) -> Delivered | None:
        if not self.unsure:
            return None
        reviews = await self._reader.all(endpoints.full_pages(f"{self._repository.pull(self._where.pr)}/reviews"))
        post = await self._find(reviews, REVIEW)
        self.unsure = False
        return post

    async def _in_draft(self) -> bool:
        """Whether the text is in a draft of the own account, which the lists of comments do not show."""
        url = f"{self._repository.pull(self._where.pr)}/reviews"
        for each in await self._reader.all(endpoints.full_pages(url)):
            if answers.text(each, "state") == "PENDING":
                comments = await self._reader.all(endpoints.full_pages(f"{url}/{answers.number(each, 'id')}/comments"))
                if await self._find(comments, REVIEW_COMMENT) is not None:
                    return True
        return False

    async def _find(self, posts: list[Json], prefix: str) -> Delivered | None:
        """Return the own post that begins with the marker of this action: one that quotes it does not.

        Anybody can compute the marker of an action, and write it.
        """
        own_marker = marker(self._action)
        marked = [post for post in posts if answers.text(post, "body").lstrip().startswith(own_marker)]
        if not marked:
            return None
        authors = [answers.author(answers.value_at(post, "user")) for post in marked]
        account = await self._reader.account.of(self._reader, authors)
        for post, author in zip(marked, authors, strict=True):
            if account.may_be_author(author):
                return _delivered(post, prefix)
        return None


def _delivered(post: Mapping[str, Json], prefix: str) -> Delivered:
    return Delivered(f"{prefix}{answers.number(post, 'id')}", answers.text(post, "html_url") or None)


def _refused_by_draft(error: HttpError) -> Refused | None:
    """Return the refusal by a draft; None where GitHub accepts no comment there. Raises any other error."""
    if answers.is_draft_error(error):
        return Refused(_BEHIND_DRAFT, retryable=True, retry_after=answers.RETRY_LATER)
    if error.trouble not in {"gone", "refused"}:
        raise error
    return None
