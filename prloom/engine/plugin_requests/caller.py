"""Describe who sends a request, and about which plan."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from prloom.core.plugins.plugin_rights import PluginRights
from prloom.engine.bus.event_store import TooLongError
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.grants import Grant
from prloom.errors import StorageError
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import RpcError
from prloom.model import record
from prloom.model.record import Json, Record

log = logging.getLogger(__name__)

P = TypeVar("P", bound="Params")


class Params(Record, frozen=True, forbid_unknown_fields=True, kw_only=True, rename=lambda name: name):
    """The params of a method, named as the daemon writes them."""


@dataclass(frozen=True)
class Caller:
    """The plugin that has connected, what it was given, and what it is permitted; `runtime` is the plan it names.

    `rights_now` is for who has waited meanwhile: it raises RpcError where the request is not permitted any more.
    """

    grant: Grant
    rights_now: Callable[[], PluginRights]
    rights: PluginRights
    runtime: PlanRuntime | None = None

    @property
    def plugin(self) -> str:
        """The plugin's key, from the connection and nowhere else."""
        return self.grant.plugin

    @property
    def plan(self) -> PlanRuntime:
        """The plan that the request is about; raises RpcError where it names none."""
        if self.runtime is None:
            raise RpcError("this request needs a plan_id", jsonrpc.INVALID_PARAMS)
        return self.runtime


def read(method: str, shape: type[P], params: Json) -> P:
    """Return the params of a method; raises RpcError that says what is wrong, and where."""
    try:
        return record.from_wire(shape, {} if params is None else params)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        if where:
            what = f"{where.rstrip('`')}: {what[:1].lower()}{what[1:]}"
        raise request_errors.invalid(method, what) from error


def require_usable(runtime: PlanRuntime) -> None:
    """Raise RpcError where a plan cannot be written just now, or was closed meanwhile."""
    if not runtime.usable or runtime.folders.local.fd < 0:
        raise request_errors.not_ready(f"plan {runtime.id} cannot be used just now")


@contextmanager
def writing(method: str, runtime: PlanRuntime) -> Iterator[None]:
    """Write a plan's files in the block; raises RpcError where that is not possible, and the plan is opened anew."""
    require_usable(runtime)
    try:
        yield
    except TooLongError as error:
        raise request_errors.invalid(method, str(error)) from error
    except StorageError as error:
        log.warning("plan %s: %s", runtime.id, error)
        runtime.fail(str(error))
        raise request_errors.not_ready(f"plan {runtime.id} cannot be written just now: {error}") from error
