"""Say what a command's end is as a settlement: the reply's body, and metadata that stay small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.exchange.claim import Completed, Failed, TimedOut

if TYPE_CHECKING:
    from datetime import timedelta

    from prloom.exchange.message import Metadata

KEPT = 16 * 1024
"""How many characters of stdout and of stderr go into the metadata."""


def ended(
    plugin: str,
    exit_code: int,
    *,
    stdout: str,
    stderr: str,
    success_topic: str | None = None,
    failure_topic: str | None = None,
    retry: bool = False,
) -> Completed | Failed:
    """Return the settlement for a command that ended by itself: with code 0 it is completed, else it failed."""
    metadata = about(plugin, exit_code, stdout=stdout, stderr=stderr)
    if exit_code == 0:
        return Completed(body=stdout, topic=success_topic, metadata=metadata)
    error = f"command exited with code {exit_code}"
    said = next((text for text in (stderr, stdout) if text.strip()), error)
    return Failed(error=error, body=said, topic=failure_topic, metadata=metadata, retry=retry)


def timed_out(plugin: str, limit: timedelta, *, stdout: str, stderr: str) -> TimedOut:
    """Return the settlement for a command that was ended when its time was over."""
    error = f"command timed out after {limit.total_seconds():g} seconds"
    return TimedOut(error=error, metadata=about(plugin, None, stdout=stdout, stderr=stderr))


def never_ran(plugin: str, error: str) -> Failed:
    """Return the settlement for a command that could not be started: the machine's fault, to be tried again."""
    return Failed(error=error, metadata=about(plugin, None, stdout="", stderr=""), retry=True)


def about(plugin: str, exit_code: int | None, *, stdout: str, stderr: str) -> Metadata:
    """Return the metadata of a reply; the status is added where it is settled."""
    return {"plugin": plugin, "exit_code": exit_code, "stdout": bounded(stdout), "stderr": bounded(stderr)}


def bounded(text: str, limit: int = KEPT) -> str:
    """Return a text's beginning and end, with a note between of how much was cut where it is longer than the limit."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters cut …]\n{text[-half:]}"
