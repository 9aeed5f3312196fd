"""Send the log to stderr, with nothing in it that a terminal would obey; stdout stays free for the answer."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import click

from prloom.cli.output import terminal
from prloom.errors import describe

_NAME = "prloom-stderr"
_OURS = ("prloom", "prloom_plugins")


class _Clean(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from prloom.core.text import secret_scan  # noqa: PLC0415 - a command that has nothing to tell need not pay for it

        first, *others = terminal.clean_block(secret_scan.masked(super().format(record))).split("\n")
        return "\n".join([first, *(f"    {line}" for line in others)])  # so that no text passes for a line of the log


class _Json(logging.Formatter):
    """Writes each record as one JSON object on a line of pure ASCII, for journals."""

    def format(self, record: logging.LogRecord) -> str:
        import json  # noqa: PLC0415 - only this form needs them
        from datetime import UTC, datetime  # noqa: PLC0415

        from prloom.core.text import secret_scan  # noqa: PLC0415

        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = secret_scan.masked(super().format(record))
        return json.dumps({"ts": at, "level": record.levelname, "logger": record.name, "message": message})


class _Stderr(logging.Handler):
    """Writes where stderr is now, not where it was when the handler was made."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            click.echo(self.format(record), err=True)
        except Exception as error:  # noqa: BLE001 - a log that cannot be written must not end the work that it tells about
            with suppress(Exception):
                click.echo(f"prloom: a log line of {record.name} could not be written: {describe(error)}", err=True)


class _Decisions(logging.Handler):
    """Hands on what people want to know of the decisions that are logged."""

    def __init__(self, show: Callable[[str], None]) -> None:
        from prloom.core.reports.round_report import RoundReport  # noqa: PLC0415 - only a round pays for it

        super().__init__()
        self._report, self._show = RoundReport(), show

    def emit(self, record: logging.LogRecord) -> None:
        from prloom.core.reports.decision_line import PlanDecision  # noqa: PLC0415
        from prloom.core.text import secret_scan  # noqa: PLC0415

        match record.args:
            case (PlanDecision(plan_id=plan_id, decision=decision),):
                for line in self._report.lines(plan_id, decision):
                    self._show(secret_scan.masked(line))


@contextmanager
def decisions(show: Callable[[str], None]) -> Iterator[None]:
    """Show a person what is decided, and so what happens, while it happens; the log gets what it got before."""
    from prloom.core.reports import decision_line  # noqa: PLC0415

    logger, handler = logging.getLogger(decision_line.LOG), _Decisions(show)
    level, logger.propagate = logger.level, logger.isEnabledFor(logging.INFO)
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = True


def print_failure(text: str, *, as_json: bool, level: Literal["ERROR", "WARNING"] = "ERROR") -> None:
    """Write what ends a command to stderr: as a line of the log where that is JSON, else after our name."""
    if as_json:
        click.echo(_as_json(text, level), err=True)
    else:
        click.echo(f"prloom: {terminal.clean(text)}", err=True)


def print_block(text: str, *, as_json: bool) -> None:
    """Write a text of several lines to stderr, such as a traceback; as one line of the log where that is JSON."""
    if as_json:
        click.echo(_as_json(text, "ERROR"), err=True)
    else:
        click.echo(terminal.clean_block(text), err=True)


def _as_json(text: str, level: str) -> str:
    told = logging.makeLogRecord({"name": _OURS[0], "levelname": level, "msg": text})
    return _Json("%(message)s").format(told)


def to_stderr(level: Literal["DEBUG", "INFO", "WARNING"], *, as_json: bool = False) -> None:
    """Log from this level on: warnings as plain lines, lower levels with time and origin; may be called again.

    With `as_json`, each line is a JSON object with the keys `ts`, `level`, `logger` and `message`.

    Other libraries are heard from WARNING on only: what they say below may hold addresses with credentials.
    """
    handler = _Stderr()
    handler.set_name(_NAME)
    detailed = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    handler.setFormatter(_Clean("prloom: %(message)s" if level == "WARNING" else detailed))
    if as_json:
        handler.setFormatter(_Json("%(message)s"))
    root = logging.getLogger()
    for old in [each for each in root.handlers if each.name == _NAME]:
        root.removeHandler(old)
    root.addHandler(handler)
    for name in _OURS:
        logging.getLogger(name).setLevel(level)
