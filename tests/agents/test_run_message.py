"""The messages of the exchange that agent runs are."""

from __future__ import annotations

import json
import zlib
from typing import Any

import jsonschema_rs
import pytest
import run_messages
from msgspec.structs import replace

from prloom.agents import run_message
from prloom.agents.agent import RunResult
from prloom.agents.run_message import RunMessage, RunReply
from prloom.errors import AgentError

MESSAGE = run_messages.a_message()
REPLY = RunReply(result=RunResult(status="ok", message="Done."), bundle=None)


def test_a_message_has_exactly_these_keys():
    keys = "repository, plan, commit, stage, agent, model, prompt, limits, rights, todo, session"

    assert list(json.loads(run_message.encode(MESSAGE))) == keys.split(", ")


def test_a_reply_has_the_result_and_the_bundle():
    assert list(json.loads(run_message.encode(REPLY))) == ["result", "bundle", "violations", "output"]


def test_what_is_written_is_read_again():
    assert run_message.read_message(run_message.encode(MESSAGE)) == MESSAGE
    assert run_message.read_reply(run_message.encode(REPLY)) == REPLY


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"result": {"status": "fine"}}', '{"result": 1}', "\ud800"])
def test_what_is_no_reply_is_refused(body: str):
    with pytest.raises(AgentError, match=r"^this is not the reply of a run: "):
        run_message.read_reply(body)


def test_a_bundle_that_is_not_base64_is_refused():
    with pytest.raises(AgentError, match=r"^the bundle of a reply is not base64 "):
        run_message.read_reply(run_message.encode(replace(REPLY, bundle="what?")))


def test_what_an_agent_has_printed_is_cut_to_whole_lines_and_bounded_when_it_is_read():
    most, line = run_message.LONGEST_OUTPUT, b"x" * 99 + b"\n"
    long = run_message.unpacked_output(run_message.packed_output(line * (most // len(line) + 5)))

    assert run_message.unpacked_output(run_message.packed_output(b"one\ntwo\n")) == b"one\ntwo\n"
    assert long == line * (most // len(line))
    assert len(run_message.unpacked_output(run_message.packed(zlib.compress(b"x" * 2 * most)))) == most
    with pytest.raises(AgentError, match="the output in a reply cannot be read"):
        run_message.unpacked_output("what?")


def test_the_schema_in_the_package_is_that_of_the_types():
    assert run_message.shipped_schema() == json.dumps(run_message.schema(), indent=2) + "\n"


@pytest.mark.parametrize("value", [MESSAGE, REPLY])
def test_the_schema_admits_what_is_written(value: RunMessage | RunReply):
    jsonschema_rs.validate(run_message.schema(), json.loads(run_message.encode(value)))


@pytest.mark.parametrize("without", ["prompt", "limits", "session"])
def test_the_schema_refuses_a_message_that_lacks_a_key(without: str):
    incomplete: dict[str, Any] = json.loads(run_message.encode(MESSAGE))
    del incomplete[without]

    assert not jsonschema_rs.is_valid(run_message.schema(), incomplete)
