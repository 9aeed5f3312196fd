"""Know since when bridges, plugins and plans report what is wrong, and log each error that is over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from prloom.model.past_error import ErrorSource, PastError
from prloom.model.record import Timestamp
from prloom.storage import error_log, paths

Reports = Sequence[Mapping[str, Any]]

_PROBLEMS: Final = {"error": "errorSince", "warnings": "warningsSince"}
"""What is wrong with a plugin or a bridge, and the key of the time since when that is reported."""
_SOURCES: Final[Mapping[str, ErrorSource]] = {paths.BRIDGES: "bridge", paths.PLUGINS: "plugin", paths.PLANS: "plan"}
_MOST = 1000  # errors that wait until they can be logged


class _Noted(NamedTuple):
    since: Timestamp
    text: str


class ErrorHistory:
    """Gives each error the time at which it was first reported, also by a dispatcher before this one.

    `read` returns what a status file says, which the dispatcher before this one wrote.
    """

    def __init__(self, root: Path, read: Callable[[str], Mapping[str, Any]]) -> None:
        self._root = root
        self._read = read
        self._known: dict[str, dict[tuple[str, str], _Noted]] = {}
        self._over: list[PastError] = []

    def dated(self, file: str, key: str, listed: Reports, at: Timestamp) -> Reports:
        """Return the reports of all bridges, or of all plugins, each with the time since when something is wrong.

        The time is kept while a bridge has not been polled yet: then nobody knows better. `key` is that of the list in
        the file.
        """
        if file not in self._known:
            self._known[file] = dict(_noted(self._read(file).get(key)))
        known, found = self._known[file], []
        for report in listed:
            dated = dict(report)
            for problem, since in _PROBLEMS.items():
                about = report["name"], problem
                if report.get(problem):
                    dated[since] = known.setdefault(about, _Noted(at, str(report[problem]))).since
                elif about in known and report.get("lastPollAt", at) is not None:
                    self._end(file, about, at, works=True)
            found.append(dated)
        self._end_others(file, {report["name"] for report in listed}, at)
        return found

    def refused_since(self, unreadable: Mapping[str, str], at: Timestamp) -> Mapping[str, Timestamp]:
        """Return since when each plan cannot be opened; `unreadable` says why it cannot, by plan."""
        if paths.PLANS not in self._known:
            self._known[paths.PLANS] = dict(_noted_plans(self._read(paths.PLANS)))
        known = self._known[paths.PLANS]
        for plan, text in unreadable.items():
            known.setdefault((plan, "error"), _Noted(at, text))
        self._end_others(paths.PLANS, unreadable, at)
        return {plan: known[plan, "error"].since for plan in unreadable}

    def save(self) -> None:
        """Log the errors that are over; raises StorageError, and the next call logs what could not be logged."""
        while self._over:
            error_log.append(self._root, self._over[0])
            del self._over[0]

    def _end_others(self, file: str, names: Collection[str], at: Timestamp) -> None:
        for about in [each for each in self._known[file] if each[0] not in names]:
            self._end(file, about, at, works=False)

    def _end(self, file: str, about: tuple[str, str], at: Timestamp, *, works: bool) -> None:
        (name, problem), noted = about, self._known[file].pop(about)
        if problem != "error" or len(self._over) >= _MOST:
            return
        self._over.append(
            PastError(source=_SOURCES[file], name=name, text=noted.text, since=noted.since, until=at, works=works)
        )


def _noted(listed: object) -> Iterable[tuple[tuple[str, str], _Noted]]:
    """Yield what was wrong by a list of reports, by the name and the problem of each."""
    for report in named(listed):
        for problem, since in _PROBLEMS.items():
            with suppress(TypeError, ValueError):
                noted = _Noted(Timestamp.read(report.get(since)), str(report.get(problem) or ""))  # type: ignore[arg-type]
                yield (report["name"], problem), noted


def _noted_plans(content: Mapping[str, Any]) -> Iterable[tuple[tuple[str, str], _Noted]]:
    since, texts = content.get("since"), content.get("unreadable")
    if not isinstance(since, dict) or not isinstance(texts, dict):
        return
    for plan, time in since.items():
        with suppress(TypeError, ValueError):
            yield (plan, "error"), _Noted(Timestamp.read(time), str(texts.get(plan) or ""))


def named(listed: object) -> list[dict[str, Any]]:
    """Return the reports in what a file holds: those that have a name."""
    if not isinstance(listed, list):
        return []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]
