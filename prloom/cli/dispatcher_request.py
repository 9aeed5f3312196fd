"""Send a request of the operator to the running dispatcher, and wait for its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.cli import context
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.cli.context import Options
    from prloom.model.record import Json


def send(given: Options, command: str, method: str, params: Json, *, absent: str) -> Json:
    """Return what the dispatcher answers; raises PrloomError, with the text `absent` where none is running.

    `command` is refused in an agent's run.
    """
    import asyncio  # noqa: PLC0415 - `prloom --help` needs none

    context.refuse_in_run(command)
    from prloom.engine.host_socket import server  # noqa: PLC0415 - likewise
    from prloom.engine.views import runtime_status  # noqa: PLC0415 - likewise
    from prloom.mcp import dispatcher_client  # noqa: PLC0415 - likewise
    from prloom.storage import paths  # noqa: PLC0415 - likewise
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - likewise

    root = context.repo_root(given)
    local = SafeDir.open(root, *paths.LOCAL)
    if local is None or not runtime_status.dispatcher(local).running:
        raise PrloomError(absent)
    socket = str(server.folder(root) / server.NAME)
    return asyncio.run(dispatcher_client.request_once(socket, {"operator": True}, method, params))
