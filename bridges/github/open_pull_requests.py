"""List the open pull requests: the first time all of them, and then what has changed since."""

from __future__ import annotations

from prloom.api import PullRequest

from .api_reader import ApiReader
from .sansio import answers, pulls


class OpenPullRequests:
    """The open pull requests as of the last reading: one request keeps them up to date, which is free while idle.

    They are read from the list of all, the one that changed last first: one that was closed is at its top, too.
    """

    def __init__(self) -> None:
        self._found: dict[int, PullRequest] = {}
        self._repository = ""
        self._since = ""
        self._etag: str | None = None

    async def read(self, reader: ApiReader) -> tuple[PullRequest, ...]:
        """Return those that are open now, the oldest first."""
        if self._repository == reader.repository.full_name:
            await self._update(reader)
        else:
            await self._read_all(reader)
        self._repository = reader.repository.full_name
        return tuple(pull for _, pull in sorted(self._found.items()))

    async def _read_all(self, reader: ApiReader) -> None:
        """Read the list of open ones; the list of all is first, so that nothing between the two is missed."""
        answer = await reader.get(reader.repository.pulls_latest())
        latest = answers.page(answer)
        opened = await reader.all(reader.repository.pulls_open())
        self._found = {pull.number: pull for pull in map(pulls.pull_request, opened)}
        self._since, self._etag = "", answer.etag
        if latest:
            self._since = answers.text(latest[0], "updated_at")

    async def _update(self, reader: ApiReader) -> None:
        answer = await reader.get(reader.repository.pulls_latest(), self._etag)
        if answer.unchanged:
            return
        etag, newest = answer.etag, self._since
        read: set[str] = set()
        while True:
            read.add(answer.url)
            page = answers.page(answer)
            times = [answers.text(item, "updated_at") for item in page]
            newest = max((newest, *times))
            for pull in map(pulls.pull_request, page):
                self._note(pull)
            is_next_old = not times or times[-1] < self._since
            if is_next_old or answer.next_page is None or answer.next_page in read:
                break
            answer = await reader.get(answer.next_page)
        self._since, self._etag = newest, etag

    def _note(self, pull: PullRequest) -> None:
        if pull.state == "open":
            self._found[pull.number] = pull
        else:
            self._found.pop(pull.number, None)
