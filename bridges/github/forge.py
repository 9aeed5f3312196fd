"""Open, describe and read pull requests."""

from __future__ import annotations

from prloom.api import ExtensionError, HttpError, PullRequest

from .sansio import errors, graphql, json_access, pulls
from .source import ApiReader


async def read(source: ApiReader, number: int) -> PullRequest | None:
    """Return a pull request, or None where GitHub says that there is none."""
    try:
        return pulls.pull_request((await source.get(source.repository.pull(number))).json())
    except HttpError as error:
        if error.trouble == "gone" and await source.sees_repository():
            return None
        raise


async def open_(source: ApiReader, *, branch: str, base: str, title: str, body: str, draft: bool) -> PullRequest:
    """Open a pull request, or return the one that is open: also where a lost answer was that it is."""
    there = await _find(source, branch, base)
    if there is not None:
        return there
    wanted = {"title": title, "body": body, "head": branch, "base": base, "draft": draft}
    try:
        answer = await source.http.request("POST", source.repository.pulls(), body=wanted)
    except HttpError as error:
        there = None
        if error.trouble in {"refused", "unknown"}:
            there = await _find(source, branch, base)
        if there is not None:
            return there
        text = f"GitHub did not open a pull request for {branch!r}: {errors.said(error)}"
        raise error.reworded(text) from error
    return pulls.pull_request(answer.json())


async def describe(source: ApiReader, number: int, *, title: str, body: str) -> None:
    """Replace the title and the body."""
    await source.http.request("PATCH", source.repository.pull(number), body={"title": title, "body": body})


async def mark_ready(source: ApiReader, url: str, number: int) -> None:
    """Take a pull request out of draft, unless it is."""
    item = (await source.get(source.repository.pull(number))).json()
    if json_access.at(item, "draft") is not True:
        return
    answer = await source.http.request("POST", url, body=graphql.ready(json_access.text(item, "node_id")))
    problem = graphql.problem(answer.json())
    if problem is not None:
        raise ExtensionError(f"GitHub did not mark #{number} as ready: {problem[1]}")


async def _find(source: ApiReader, branch: str, base: str) -> PullRequest | None:
    found = await source.all(source.repository.pulls_of(branch, base))
    if found:
        return pulls.pull_request(found[0])
    return None
