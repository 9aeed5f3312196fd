"""Send requests of the operator to the running dispatcher: answers to what waits for a person, among others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from prloom.engine.host_socket import published_socket
from prloom.engine.tools import operator_client
from prloom.engine.views import runtime_status
from prloom.errors import PrloomError
from prloom.mcp import dispatcher_client
from prloom.model.permission import Choice
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

NO_CALL_WAITS = "no dispatcher is running, so no call waits; `prloom start` runs it"


async def send(root: Path, method: str, params: Json, *, absent: str) -> Json:
    """Return what the dispatcher of a checkout answers; raises PrloomError, with the text `absent` where none runs."""
    local = SafeDir.open(root, *paths.LOCAL)
    if local is None or not runtime_status.dispatcher(local).running:
        raise PrloomError(absent)
    find = partial(published_socket.find, local)
    return await dispatcher_client.request_once(find, {"operator": True}, method, params)


async def answer(root: Path, request: str, choice: Choice, text: str | None = None) -> Mapping[str, str]:
    """Answer a request that waits for a person; `text` answers a question. Return its `tool` and `plan`.

    Raises PrloomError.
    """
    given: dict[str, Json] = {"request": request, "choice": choice}
    if text is not None:
        given["text"] = text
    answered = await send(root, operator_client.ANSWER_REQUEST, given, absent=NO_CALL_WAITS)
    return {key: str(answered[key]) for key in ("tool", "plan")}
