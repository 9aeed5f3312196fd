"""Log a failure that nothing else has dealt with; what the machine is the cause of is not a bug."""

from __future__ import annotations

from logging import Logger

from prloom import errors


def tell(log: Logger, error: Exception, then: str) -> str:
    """Log the failure, a bug with its traceback, and what happens `then`; return the line that people are shown."""
    explained = errors.explain(error)
    if explained is not None:
        log.warning("%s; %s", explained, then)
        return explained
    log.error("a bug in prloom; %s", then, exc_info=error)
    return f"a bug in prloom: {errors.describe(error)}"
