"""Compute how long to wait before the next try."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

SHORTEST = timedelta(seconds=1)
"""No wait is shorter: a deferral of nothing would be a loop."""

JITTER = 0.1
"""The part of a wait by which it may be shorter, so that many that fail together are not all tried again together."""


@dataclass(frozen=True)
class Backoff:
    """Waits double from `initial` to `maximum`; after `deadline`, or `max_attempts` tries (0: no limit), they end."""

    initial: timedelta = timedelta(seconds=30)
    maximum: timedelta = timedelta(hours=1)
    deadline: timedelta = timedelta(days=7)
    max_attempts: int = 0


QUICK = Backoff(initial=timedelta(seconds=1), maximum=timedelta(minutes=5))
"""For what is often over soon, such as a process that died or files that are just being changed."""


def doubled(policy: Backoff, attempt: int) -> timedelta:
    """Return the wait after the attempt-th try (1 is the first) without any jitter: it is exactly as long as stated."""
    doublings = min(max(attempt, 1) - 1, 62)
    return timedelta(seconds=min(policy.initial.total_seconds() * 2**doublings, policy.maximum.total_seconds()))


def delay(policy: Backoff, attempt: int, key: str, *, shortest: timedelta = SHORTEST) -> timedelta:
    """Return the wait after the attempt-th try (1 is the first), with the jitter that is derived from the key.

    The jitter only shortens the wait, so `maximum` is kept, and the same key waits as long on every run.
    """
    from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL, which is only needed once something failed

    full = doubled(policy, attempt).total_seconds()
    part = int.from_bytes(sha256(f"{key}\0{attempt}".encode("utf-8", "surrogatepass")).digest()[:4], "big") / 2**32
    return max(timedelta(seconds=full * (1 - JITTER * part)), shortest)


def exhausted(policy: Backoff, attempts: int) -> bool:
    """Whether as many tries were made as the policy allows."""
    return 0 < policy.max_attempts <= attempts
