"""An agent's tools through the real command: its program starts the server that prloom has named to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import executable
import pytest
from real_command import Repository

CLAUDE = f"""#!{sys.executable}
import asyncio, json, os, sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def plan() -> str:
    config = json.load(open(sys.argv[sys.argv.index("--mcp-config") + 1]))
    entry = config["mcpServers"]["prloom"]
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry["env"])
    async with Client(stdio_client(server)) as client:
        result = await client.call_tool("prloom_plan", {{}})
        return result.structured_content["data"]["id"]


event = sys.stdin.read().partition('id: ')[2].split()[0].strip('`"')
said = json.dumps({{"items": [], "todos": [], "rebaseRequested": False, "plan": asyncio.run(plan())}})
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s-1", "model": "m"}}))
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": said, "session_id": "s-1",
    "stop_reason": "end_turn", "modelUsage": {{"m": {{}}}}}}))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo", tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    executable.write(programs / "claude", CLAUDE)
    made.env["PATH"] = f"{programs}:{made.env['PATH']}"
    (made.root / "prloom.toml").write_text('[stages]\ndefault = "claude"\n[work]\nmode = "off"\n')
    return made


def test_the_agent_of_a_run_calls_a_tool_of_the_dispatcher_that_has_started_it(repository: Repository):
    repository.run("adopt", "--branch", "work")
    repository.run("emit", "work", "--id", "c-1", "--body", "Why?")

    repository.run("start", "--once")

    (run,) = (repository.root / "prloom/.local/worktrees/work/prloom/.local/runs").iterdir()
    assert json.loads((run / "result.json").read_text())["status"] == "ok", (run / "stderr.log").read_text()
    assert '"plan": "work"' in json.loads((run / "result.json").read_text())["message"]
    activity = [json.loads(line)["data"] for line in (run / "activity.jsonl").read_text().splitlines()]
    calls = [each for each in activity if each["type"].startswith("TOOL_CALL")]
    assert [(each["type"], each["data"]["toolName"]) for each in calls] == [
        ("TOOL_CALL_START", "prloom_plan"),
        ("TOOL_CALL_END", "prloom_plan"),
    ]
