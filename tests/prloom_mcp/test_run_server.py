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


async def test_an_agent_is_refused_by_a_plugin_and_reads_skills(bench: ToolBench):
    skill = bench.stage.root / "how.md"
    skill.write_text("# How we review\n")

    def careful(ctx: PluginContext) -> None:
        ctx.register_hook("preTool", lambda call, ctx: ctx.block("not today"))
        ctx.register_skill("review", skill, "How we review")

    bench.stage.plugin("words", counting)
    bench.stage.plugin("image/careful", careful)

    async with bench.open() as parts:
        folder = bench.prepare(parts)
        async with bench.running(parts, folder), client(folder) as agent:
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
