"""Open, find, describe and read pull requests as prloom's own values, keep one comment up to date, and read issues."""

from __future__ import annotations

from prloom.api import Answer, ExtensionError, HttpError, Issue, Json, PostedComment, PullRequest

from .api_reader import ApiReader
from .sansio import answers, endpoints, pulls, requests

_RIGHTS = "docs/github.md names the rights that the token needs"


async def open_pull_request(
    reader: ApiReader, *, branch: str, base: str, title: str, body: str, draft: bool
) -> PullRequest:
    """Open a pull request, or return the open one of the branch: also where the answer to an opening was lost."""
    existing = await find(reader, branch, state="open")
    if existing is not None:
        return existing
    wanted = {"title": title, "body": body, "head": branch, "base": base, "draft": draft}
    try:
        opened, _ = pulls.read_alone(await reader.send("POST", reader.repository.pulls(), wanted))
    except HttpError as error:
        if error.trouble in {"refused", "unknown"}:
            existing = await find(reader, branch, state="open")
        if existing is not None:
            return existing
        raise advised(error, f"open a pull request for {branch!r}") from error
    return pulls.pull_request(opened)


async def find(reader: ApiReader, branch: str, *, state: str) -> PullRequest | None:
    """Return the open pull request of a branch of this repository, else the latest in this state."""
    found = await reader.all(reader.repository.pulls_of(branch, state))
    # GitHub ignores a `head` that it cannot read; and another repository of the same owner may be a fork.
    own = [pull for pull in map(pulls.pull_request, found) if pull.branch == branch and not pull.fork]
    return max(own, key=lambda pull: (pull.state == "open", pull.number), default=None)


async def describe(reader: ApiReader, number: int, *, body: str, title: str | None, expected: str | None) -> str:
    """Replace the body, and the title, where the body is still the expected one; return the body as it is then."""
    wanted: dict[str, Json] = {"body": body}
    if title is not None:
        wanted["title"] = title
    try:
        if expected is not None:
            item, _ = await reader.pull(number)
            now = answers.text(item, "body")
            if now != expected:
                return now
        pulls.read_alone(await reader.send("PATCH", reader.repository.pull(number), wanted), number)
    except HttpError as error:
        raise advised(error, f"describe #{number}") from error
    return body


async def mark_ready(reader: ApiReader, number: int) -> None:
    """Take the pull request out of draft, unless it is no draft."""
    try:
        item, _ = await reader.pull(number)
        if answers.value_at(item, "draft") is not True:
            return
        answer = await reader.graphql(endpoints.ready_mutation(answers.text(item, "node_id")))
        problem = endpoints.graphql_error(answer.json())
        if problem is None:
            answers.part(answer, "data", "markPullRequestReadyForReview", "pullRequest")
    except HttpError as error:
        raise advised(error, f"mark #{number} as ready") from error
    if problem is not None:
        raise ExtensionError(f"GitHub did not mark #{number} as ready: {problem[1]}; {_RIGHTS}")


async def read(reader: ApiReader, number: int) -> PullRequest | None:
    """Return the pull request, or None where GitHub says that there is none."""
    found = await _read_or_none(reader, reader.repository.pull(number))
    if found is None:
        return None
    item, _ = pulls.read_alone(found, number)
    try:
        answer = await reader.graphql(endpoints.editor_query(answers.text(item, "node_id")))
    except HttpError as error:
        if error.trouble == "refused":
            raise advised(error, f"say who edited #{number} last") from error
        raise
    return pulls.pull_request(item, edited=answers.value_at(answer.json(), "data", "node"))


async def read_issue(reader: ApiReader, number: int) -> Issue | None:
    """Return the issue, or None where GitHub has none: a pull request is no issue."""
    answer = await _read_or_none(reader, reader.repository.issue(number))
    if answer is None:
        return None
    item = answers.with_id(answer)
    if answers.value_at(item, "pull_request") is not None:
        return None
    return Issue(
        number=number,
        title=answers.text(item, "title"),
        body=answers.text(item, "body"),
        author=answers.text(item, "user", "login") or None,
        url=answers.text(item, "html_url"),
        state=answers.text(item, "state"),
    )


async def _read_or_none(reader: ApiReader, url: str) -> Answer | None:
    try:
        return await reader.get(url)
    except HttpError as error:
        if error.trouble == "gone" and await reader.sees_repository():
            return None
        raise


# ---- the comment that prloom keeps up to date


async def upsert_comment(
    reader: ApiReader, number: int, *, marker: str, body: str, remote_id: str | None, expected: str | None
) -> PostedComment:
    """Edit the own comment that begins with the marker, or post it; return it as it is then."""
    text = f"{marker}\n{body}"
    try:
        found = await _own_comment(reader, number, marker, remote_id)
        if found is None:
            request = requests.comment(reader.repository, number, text)
            return _posted(answers.with_id(await reader.send(request.method, request.url, request.body)), marker)
        now = _posted(found, marker)
        if now.body == body or (expected is not None and now.body != expected):
            return now
        url = reader.repository.comment("comments", answers.number(found, "id"))
        return _posted(answers.with_id(await reader.send("PATCH", url, {"body": text})), marker)
    except HttpError as error:
        raise advised(error, f"post or edit prloom's comment on #{number}") from error


async def _own_comment(reader: ApiReader, number: int, marker: str, remote_id: str | None) -> Json:
    """Return the own comment that begins with the marker, by its id or from the conversation; None if none does."""
    if remote_id is not None:
        comment = answers.tail_number(remote_id, "-")
        known = await _read_or_none(reader, reader.repository.comment("comments", comment)) if comment else None
        if known is not None and _begins(answers.with_id(known), marker):
            return known.json()
    marked = [
        each for each in await reader.all(reader.repository.comments_of("comments", number)) if _begins(each, marker)
    ]
    if not marked:
        return None
    authors = [answers.author(answers.value_at(each, "user")) for each in marked]
    account = await reader.account.of(reader, authors)
    own = (each for each, author in zip(marked, authors, strict=True) if account.may_be_author(author))
    return next(own, None)


def _begins(comment: Json, marker: str) -> bool:
    return answers.text(comment, "body").lstrip().startswith(marker)


def _posted(comment: Json, marker: str) -> PostedComment:
    """Return a comment as prloom's own value: without its marker, and with the line ends that were written."""
    text = answers.text(comment, "body").lstrip().removeprefix(marker)
    return PostedComment(
        remote_id=f"issuecomment-{answers.number(comment, 'id')}",
        url=answers.text(comment, "html_url") or None,
        body=text.removeprefix("\r").removeprefix("\n"),
    )


# ---- errors


def advised(error: HttpError, what: str) -> HttpError:
    """Return the error of a request with a text that says what GitHub did not do, why, and what to do next."""
    match error.trouble:
        case "unauthorized":
            text = f"{answers.NOT_ACCEPTED} ({error})"
        case "forbidden":
            text = f"GitHub does not let the token {what}: {answers.message(error)}; {_RIGHTS}"
        case "gone":
            text = (
                f"GitHub did not {what}: it is not there, or the token may not ({answers.describe(error)}); {_RIGHTS}"
            )
        case "limited":
            text = f"GitHub did not {what} yet, because of its limit: {error}"
        case "refused":
            text = f"GitHub did not {what}: {answers.message(error)}"
        case _:
            text = f"it is not known whether GitHub did {what}: {answers.describe(error)}"
    return error.reworded(text)
