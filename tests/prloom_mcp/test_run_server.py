"""What the agent of a run sees of prloom: a client of the official package, against `prloom mcp --run`."""

from __future__ import annotations

from pathlib import Path

import pytest
from stage import Stage
from tool_bench import ToolBench, client

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

    async with bench.open() as parts:
        folder = bench.prepare(parts)
        async with bench.running(parts, folder), client(folder) as agent:
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
