"""Send a request of the operator to the running dispatcher, and wait for its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli import context

if TYPE_CHECKING:
    from prloom.cli.context import Options
    from prloom.model.record import Json


def send(given: Options, method: str, params: Json, *, absent: str) -> Json:
    """Return what the dispatcher answers; raises PrloomError, with the text `absent` where none is running."""
    import asyncio  # noqa: PLC0415 - `prloom --help` needs none

    from prloom.mcp import operator_requests  # noqa: PLC0415 - likewise

    return asyncio.run(operator_requests.send(context.repo_root(given), method, params, absent=absent))


def answer(given: Options, params: Json) -> Json:
    """Answer a request that waits for a person, and return what the dispatcher says; raises PrloomError."""
    from prloom.engine.tools.operator_client import ANSWER_REQUEST  # noqa: PLC0415 - see `send`
    from prloom.mcp.operator_requests import NO_CALL_WAITS  # noqa: PLC0415

    return send(given, ANSWER_REQUEST, params, absent=NO_CALL_WAITS)
