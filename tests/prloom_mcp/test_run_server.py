"""What the agent of a run sees of prloom: a client of the official package, against `prloom mcp --run`."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import command_server
import mcp_client
import pytest
from mcp_client import Server
from stage import Stage, until
from tool_bench import ToolBench, call, client, server_of

from prloom.agents import mcp_server
from prloom.api import PluginContext


def counting(ctx: PluginContext) -> None:
    @ctx.tool("count", {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})
    def count(word: str) -> dict[str, object]:
        return {"message": f"{word} has {len(word)} letters", "data": {"letters": len(word)}}


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    stage = Stage(tmp_path)
    stage.adopt()
    (stage.local() / "plan.md").write_text("# Greet people\n\n- [ ] Say hello\n")
    return ToolBench(stage)


async def test_an_agent_lists_and_calls_a_plugins_tool_and_prlooms_own(bench: ToolBench):
    bench.stage.plugin("words", counting)

    async with bench.run() as (_, folder), client(folder) as agent:
        listed = (await agent.list_tools()).tools
        counted = await agent.call_tool("count", {"word": "tree"})
        plan = await agent.call_tool("prloom_plan", {})

    assert {"count", "prloom_plan"} <= {tool.name for tool in listed}
    assert counted.is_error is False
    assert counted.content[0].text == "tree has 4 letters"
    assert counted.structured_content == {
        "success": True,
        "error": None,
        "output": "tree has 4 letters",
        "data": {"letters": 4},
        "error_type": None,
    }
    assert plan.structured_content["data"]["title"] == "Greet people"
    assert bench.notes.types == ["TOOL_CALL_START", "TOOL_CALL_END"] * 2


async def test_an_agent_reads_that_a_person_has_to_allow_a_call(bench: ToolBench):
    def deploying(ctx: PluginContext) -> None:
        for name, description in (("a", "Deploys it"), ("b", "Deploy it?"), ("c", "")):
            ctx.register_tool(name, {}, lambda: "done", description=description, requires_confirmation=True)

    bench.stage.plugin("ops", deploying)

    async with bench.run() as (_, folder), client(folder) as agent:
        listed = {tool.name: tool.description for tool in (await agent.list_tools()).tools}

    assert [listed[name] for name in ("a", "b", "c")] == [
        "Deploys it. A person has to allow each call.",
        "Deploy it? A person has to allow each call.",
        "A person has to allow each call.",
    ]


async def test_an_agent_is_refused_by_a_plugin_and_reads_skills(bench: ToolBench):
    skill = bench.stage.root / "how.md"
    skill.write_text("# How we review\n")

    def careful(ctx: PluginContext) -> None:
        ctx.register_hook("preTool", lambda call, ctx: ctx.block("not today"))
        ctx.register_skill("review", skill, "How we review")

    bench.stage.plugin("words", counting)
    bench.stage.plugin("image/careful", careful)

    async with bench.run() as (_, folder), client(folder) as agent:
        refused = await agent.call_tool("count", {"word": "tree"})
        (prompt,) = (await agent.list_prompts()).prompts
        text = await agent.get_prompt(prompt.name)
        (resource,) = (await agent.list_resources()).resources
        read = await agent.read_resource(resource.uri)

    assert refused.is_error
    assert refused.content[0].text == "plugin image/careful blocked the call: not today"
    assert prompt.name == "image__careful/review"
    assert text.messages[0].content.text == "# How we review\n"
    assert str(resource.uri) == "skill://image__careful/review"
    assert read.contents[0].text == "# How we review\n"


def message(number: int | None = None, method: str = "tools/call", **params: object) -> bytes:
    made = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    return json.dumps(made).encode() + b"\n"


GREETING = message(
    9000,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "raw", "version": "1"},
)


def count(number: int, word: str) -> bytes:
    return message(number, name="count", arguments={"word": word})


async def test_a_client_that_sends_anything_does_no_harm_and_no_call_runs_twice(bench: ToolBench):
    """Hundreds of calls at once, half of a character, eleven megabytes, an id twice; and it leaves in the middle."""
    ran: list[str] = []

    def noting(ctx: PluginContext) -> None:
        @ctx.tool("count", {"type": "object", "properties": {"word": {"type": "string"}}})
        def count(word: str = "") -> int:
            ran.append(word)
            return len(word)

    bench.stage.plugin("words", noting)
    calls = [count(number, f"w{number}") for number in range(500)]
    bad = [b"garbage\n", count(3, "again"), count(2000, "x" * (11 << 20)), count(2001, "a").replace(b'"a"', b'"\xc3"')]

    async with bench.run() as (parts, folder):
        agent = await begun(folder)
        agent.writer.write(b"".join([*calls[:250], *bad, *calls[250:]]))
        others = 0
        answers: list[Any] = []
        while len(answers) < len(calls) + len(bad):
            answers.append(json.loads(await agent.reader.readline()))
            if others < 20:  # another client of the run has its turn
                others += (await call(parts, folder, "prloom_plan"))["success"]
        once = len(ran)
        agent.writer.write(b"".join(count(3000 + number, f"late {number}") for number in range(50)))
        await agent.writer.drain()
        await kill(agent)
        assert (await call(parts, folder, "prloom_plan"))["success"]
        await until(lambda: bench.notes.types.count("TOOL_CALL_START") == bench.notes.types.count("TOOL_CALL_END"))

    assert once == len(calls)
    assert len(ran) == len(set(ran))
    assert others == 20
    errors = {each["id"]: each["error"]["message"] for each in answers if "error" in each}
    assert errors.keys() == {None, 3, 2000, 2001}
    assert all(each["result"]["structuredContent"]["success"] for each in answers if "result" in each)


async def test_an_agents_server_finds_the_next_dispatcher_although_that_has_another_runtime_folder(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
):
    bench.stage.plugin("words", counting)
    sockets = []

    async with contextlib.AsyncExitStack() as agents:
        for _ in range(2):
            # The path of a socket may have some hundred characters, which a test's own folder may have already.
            runtime = agents.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
            monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
            async with bench.open() as parts:
                folder = bench.prepare(parts)
                async with bench.running(parts, folder):
                    if not sockets:
                        agent = await agents.enter_async_context(client(folder))
                    counted = await agent.call_tool("count", {"word": "tree"})
                sockets.append(parts.socket.path)

        assert counted.is_error is False
    assert sockets[0] != sockets[1]


async def test_a_client_that_never_reads_holds_up_nobody(bench: ToolBench):
    bench.stage.plugin("words", counting)

    async with bench.run() as (parts, folder):
        agent = await begun(folder, limit=1 << 12)
        for number in range(300):
            agent.writer.write(count(number, "x" * 5000))
        await until(lambda: bench.notes.types.count("TOOL_CALL_END") > 20)
        beside = [await call(parts, folder, "prloom_plan") for _ in range(20)]
        await kill(agent)

    assert all(each["success"] for each in beside)


async def test_an_agent_that_gets_no_tools_is_answered_with_the_reason_which_is_the_servers_last_word(bench: ToolBench):
    async with bench.open() as parts:
        folder = bench.prepare(parts)
        async with bench.running(parts, folder):
            agent = await begun(folder)
        agent.writer.write(message(1, "tools/list") + message(2, name="prloom_plan"))
        answers = [json.loads(await agent.reader.readline()) for _ in range(2)]
        code = await agent.end()

    why = "run run-1 has ended, or is not a run of this dispatcher"
    listed, called = sorted(answers, key=lambda answer: answer["id"])
    assert (listed["error"]["code"], listed["error"]["message"]) == (-32603, why)
    assert (called["result"]["isError"], called["result"]["content"][0]["text"]) == (True, why)
    assert (folder / "client.log").read_text() == f"prloom: run run-1 got no tools: {why}\n"
    assert code == 1


def test_a_client_that_is_gone_before_it_is_answered_is_told_of_in_one_line(tmp_path: Path):
    access = {mcp_server.SOCKET_VARIABLE: str(tmp_path / "host.sock"), mcp_server.TOKEN_VARIABLE: "t"}
    (tmp_path / "sent").write_bytes(GREETING)
    reads, writes = os.pipe()
    os.close(reads)
    with (
        (tmp_path / "sent").open("rb") as sent,
        os.fdopen(writes, "wb") as gone,
        (tmp_path / "errors").open("wb") as errors,
    ):
        ended = command_server.begin_with(["mcp", "--run", "run-1"], (sent, gone, errors), cwd=tmp_path, env=access)

    assert ended.wait(60) == 1
    told = "prloom: the client of this server has ended, and did not read all answers\n"
    assert (tmp_path / "errors").read_text() == told


async def kill(agent: Server) -> None:
    agent.process.kill()
    agent.process.wait(60)
    agent.writer.close()
    with suppress(ConnectionError):
        await agent.writer.wait_closed()


async def begun(folder: Path, limit: int = 1 << 20) -> Server:
    """Start the server of a run, and greet it."""
    agent = await mcp_client.begin(**server_of(folder), limit=limit)
    agent.writer.write(GREETING)
    await agent.reader.readline()
    agent.writer.write(message(None, "notifications/initialized"))
    return agent
