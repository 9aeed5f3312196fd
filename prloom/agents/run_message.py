"""Write and read the messages of the exchange that agent runs are: a request, and the reply to it."""

from __future__ import annotations

import base64
import binascii
import zlib
from importlib import resources
from typing import Any, Final, TypeVar

import msgspec

from prloom.agents.agent import Rights, RunResult, RunValue
from prloom.agents.run_spec import RunLimits
from prloom.errors import AgentError
from prloom.model import json_schema, record

RUN: Final = "run"
"""The key of the metadata that holds a run's id, which is also the message's id and its idempotent key."""

ATTEMPT: Final = "attempt"
"""The key of the metadata that says which attempt at a TODO the run is."""

FOLDER: Final = "folder"
"""The key of the metadata that holds the path of the run's folder, on the machine that prepared it."""

MACHINE: Final = "machine"
"""The key of the metadata that names that machine."""

OFFSET: Final = "offset"
"""The key of the metadata of a piece of output that says how many bytes of it came before."""

CLAIM: Final = "claim"
"""The key of the metadata of a piece of output that holds the id of the claim for which the program runs."""

_WORKER: Final = "-machine-"
"""What stands behind a machine's name in that of a worker there."""

LONGEST_OUTPUT: Final = 4 * 1024 * 1024
"""Bytes of what an agent has printed that a reply has at most, before they are compressed."""

LONGEST_REPLY: Final = 52 * 1024 * 1024
"""Bytes of a reply: a bundle of 32 MiB and that much output in base64, and a result. A longer one is not read."""

_SCHEMA: Final = "run.schema.json"
_T = TypeVar("_T")


class RunMessage(RunValue, frozen=True):
    """The request for a run, on the topic `agent.<stage>`.

    `repository` is the address of the repository's remote `origin`, or the path of its checkout where it has none;
    `commit` is the commit of the worktree in which the agent is to work. The run's id and what else tells this run from
    others are the message's metadata.
    """

    repository: str
    plan: str | None
    commit: str | None
    stage: str
    agent: str
    model: str | None
    prompt: str
    limits: RunLimits
    rights: Rights
    todo: str | None
    session: str | None


class RunReply(RunValue, frozen=True):
    """The reply to a run: on `agent.<stage>.completed` where it went well, else on `agent.<stage>.failed`.

    `bundle` is the change as a git bundle in base64, from a worker on another machine; a run in the plan's own worktree
    has none. Where that machine has found what must not be committed, there is no bundle, and `violations` has a
    sentence for each. `output` is what the agent has printed there, compressed and in base64: the run's activity.
    """

    result: RunResult
    bundle: str | None = None
    violations: tuple[str, ...] = ()
    output: str | None = None


def topic(stage: str) -> str:
    """Return the topic of the runs of a stage."""
    return f"agent.{stage}"


def topic_here(stage: str) -> str:
    """Return the topic of those runs of a stage that only the dispatcher's own machine can do."""
    return f"{topic(stage)}.here"


def output_topic(of_run: str) -> str:
    """Return the topic of what an agent prints on another machine, by the topic of its run."""
    return f"{of_run}.output"


def worker_name(host: str, rest: str) -> str:
    """Return the name of a worker on another machine, by which no dispatcher there takes it for one of its own."""
    return f"{host}{_WORKER}{rest}"


def machine_of(worker: str) -> str | None:
    """Return the machine of such a worker; None for a worker of the dispatcher's own machine."""
    host, mark, _ = worker.rpartition(_WORKER)
    if not mark:
        return None
    return host


def encode(value: RunMessage | RunReply) -> str:
    """Return the body of a message or of a reply."""
    return msgspec.json.encode(value).decode()


def read_message(body: str) -> RunMessage:
    """Return the request that a message holds; raises AgentError for what is none."""
    return _read(RunMessage, body, "message")


def read_reply(body: str) -> RunReply:
    """Return the reply that a message holds; raises AgentError for what is none."""
    reply = _read(RunReply, body, "reply")
    if reply.bundle is not None:
        unpacked(reply.bundle)
    return reply


def packed(bundle: bytes) -> str:
    """Return a bundle as text."""
    return base64.b64encode(bundle).decode()


def unpacked(bundle: str) -> bytes:
    """Return the bytes of a bundle; raises AgentError for what is not base64."""
    try:
        return base64.b64decode(bundle, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AgentError(f"the bundle of a reply is not base64 ({error}); the run has to be done again") from error


def packed_output(output: bytes) -> str:
    """Return what an agent has printed as text; of very much, the whole lines at its beginning."""
    if len(output) > LONGEST_OUTPUT:
        output = output[: output.rfind(b"\n", 0, LONGEST_OUTPUT) + 1]
    return packed(zlib.compress(output))


def unpacked_output(text: str) -> bytes:
    """Return what an agent has printed, as far as that may be long; raises AgentError for what is none."""
    try:
        return zlib.decompressobj().decompress(base64.b64decode(text, validate=True), LONGEST_OUTPUT)
    except (zlib.error, binascii.Error, ValueError) as error:
        raise AgentError(f"the output in a reply cannot be read ({error})") from error


def schema() -> dict[str, Any]:
    """Return the JSON Schema of messages and replies, as the types define it."""
    (message, reply), definitions = json_schema.components((RunMessage, RunReply))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A run of an agent: its message on agent.<stage>, and the reply",
        "anyOf": [message, reply],
        "$defs": definitions,
    }


def shipped_schema() -> str:
    """Return the text of the schema file that the package contains."""
    return resources.files("prloom.agents").joinpath("schemas", _SCHEMA).read_text("utf-8")


def _read(kind: type[_T], body: str, what: str) -> _T:
    try:
        return record.decode(kind, body.encode())
    except (msgspec.DecodeError, UnicodeError) as error:
        raise AgentError(f"this is not the {what} of a run: {error}") from error
