"""Ask a person whether a call is allowed, and wait for the answer: from the command line, a comment, or never."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from prloom.engine.bus.event_store import Clock
from prloom.engine.tools.allowed_tools import AllowedTools
from prloom.engine.tools.call_sequence import CallActivity, CallScene
from prloom.errors import PrloomError, StorageError
from prloom.model import record
from prloom.model.permission import Choice, PermissionAnswer, PermissionRequest
from prloom.model.record import Json, Timestamp
from prloom.model.tool import ToolCall, ToolSpec
from prloom.storage.document import Document

log = logging.getLogger(__name__)

OPTIONS: Final = ("allow", "allow_always", "deny")
"""What a person may choose where a tool requires confirmation."""


class PostedQuestion(NamedTuple):
    """A question to a person: the id of its request, its text, and the action that posts it."""

    request: str
    text: str
    post: str


@dataclass(eq=False)
class _Pending:
    request: PermissionRequest
    answer: asyncio.Future[PermissionAnswer]


class Confirmations:
    """The requests that wait for a person; in memory, for a run whose dispatcher has ended asks again."""

    def __init__(
        self, allowed: AllowedTools, activity: CallActivity, clock: Clock, published: Document | None = None
    ) -> None:
        self._allowed = allowed
        self._activity = activity
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._published = published
        self._publish()

    @property
    def requests(self) -> tuple[PermissionRequest, ...]:
        """Return the requests that wait, the oldest first."""
        return tuple(each.request for each in self._pending.values())

    def of_plan(self, plan_id: str) -> tuple[PermissionRequest, ...]:
        """Return the requests of a plan that wait."""
        return tuple(each for each in self.requests if each.plan == plan_id)

    async def refusal(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> str | None:
        """Return why a call is not allowed, or None once it is; see `call_sequence.Confirmer`."""
        if not tool.requires_confirmation or self._allowed.has(scene.runtime.id, tool.plugin, tool.name):
            return None
        given = await self.wait(scene, tool, call)
        if given.choice == "allow_always":
            self._allowed.add(scene.runtime.id, tool.plugin, tool.name)
        if given.choice in {"allow", "allow_always"}:
            return None
        if given.choice == "timeout":
            return f"no person allowed the call of {tool.name} in time, so it is denied"
        return f"{given.by} denied the call of {tool.name}"

    async def wait(
        self, scene: CallScene, tool: ToolSpec, call: ToolCall, question: PostedQuestion | None = None
    ) -> PermissionAnswer:
        """Ask, and return what a person chose, or that nobody did in time."""
        limit: timedelta = scene.runtime.rules.config.tools.confirmation_timeout
        request = self._request(tool, call, limit)
        if question is not None:
            request = replace(request, id=question.request, question=question.text, post=question.post)
        data = {
            "requestId": request.id,
            "toolName": tool.name,
            "arguments": call.arguments,
            "sensitivity": "question" if question else "confirmation",
            "options": ["deny"] if question else list(OPTIONS),
        }
        begin = self._activity.record("PERMISSION_REQUEST", data, about=call)
        pending = _Pending(request, asyncio.get_running_loop().create_future())
        self._pending[request.id] = pending
        self._publish()
        given = PermissionAnswer(choice="deny", by="timeout")  # where the run ends first
        try:
            async with asyncio.timeout(limit.total_seconds()):
                given = await pending.answer
        except TimeoutError:
            given = PermissionAnswer(choice="timeout", by="timeout")
        finally:
            del self._pending[request.id]
            self._publish()
            told = {"requestId": request.id, "choice": given.choice, "by": given.by}
            self._activity.record("PERMISSION_RESPONSE", told, about=call, parent_id=begin)
        return given

    def answer(self, request_id: str, given: PermissionAnswer) -> PermissionRequest:
        """Settle a request; raises PrloomError where there is none of this id, or it cannot be answered so."""
        pending = self._pending.get(request_id)
        if pending is None or pending.answer.done():
            waiting = ", ".join(self._pending) or "none"
            raise PrloomError(f"no request {request_id[:50]} waits; it may be answered or over. Waiting: {waiting}")
        if pending.request.question is not None and given.text is None and given.choice != "deny":
            raise PrloomError(f"{request_id} is a question: answer it where it was posted, or deny it")
        pending.answer.set_result(given)
        return pending.request

    def _publish(self) -> None:
        """Tell `prloom status` which requests wait; a file that cannot be written keeps no call from going on."""
        if self._published is None:
            return
        try:
            self._published.save({"requests": listed(self.requests)})
        except StorageError as error:
            log.warning("prloom status does not show all requests: %s", error)

    def _request(self, tool: ToolSpec, call: ToolCall, limit: timedelta) -> PermissionRequest:
        now = self._clock()
        return PermissionRequest(
            id=new_id(),
            plan=call.plan_id,
            run=call.run_id,
            stage=call.stage,
            tool=tool.name,
            plugin=tool.plugin,
            arguments=call.arguments,
            since=Timestamp.of(now),
            until=Timestamp.of(now + limit),
        )


def new_id() -> str:
    """Return the id of a new request; nobody can guess it."""
    return f"ask-{secrets.token_hex(4)}"


def listed(requests: tuple[PermissionRequest, ...]) -> list[Mapping[str, Json]]:
    """Return requests as JSON."""
    return [record.to_wire(each) for each in requests]


def choice(allow: bool, always: bool) -> Choice:  # noqa: FBT001 - the two words of a command
    """Return what a person chose by a command."""
    if not allow:
        return "deny"
    if always:
        return "allow_always"
    return "allow"
