"""What becomes of a call, from its arguments to its result."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import loop_time
import pytest
from stage import until
from tool_bench import ToolBench, call
from worked_plan import WorkedPlan

from prloom import processes
from prloom.api import InterceptContext, PluginContext, ToolCall
from prloom.engine.tools.call_sequence import CallScene, ToolFailed
from prloom.engine.tools.executable import PluginFolder
from prloom.engine.tools.rpc_handler import RpcHandler
from prloom.extensions.background import call_error
from prloom.model.decision import Todo
from prloom.model.tool import ToolCall as CallValue
from prloom.model.tool import ToolSpec

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def echoing(ctx: PluginContext) -> None:
    ctx.register_tool("echo", WORD, lambda word: {"message": word, "data": word})


async def result(bench: ToolBench, name: str = "echo", stage: str = "worker", **arguments: Any) -> dict[str, Any]:
    async with bench.open() as parts:
        folder = bench.prepare(parts, stage=stage)
        async with bench.running(parts, folder):
            return await call(parts, folder, name, **arguments)


def hooking(hook: str, function: Callable[[ToolCall, InterceptContext], object]) -> Callable[[PluginContext], None]:
    return lambda ctx: ctx.register_hook(hook, function)


async def test_arguments_that_do_not_fit_the_schema_reach_no_tool(bench: ToolBench):
    bench.stage.plugin("a", echoing)

    said = await result(bench, word=7)

    assert (said["success"], said["error_type"]) == (False, "validation_error")
    assert said["error"] == "the arguments of echo are not valid: word: 7 is not of type 'string'"
    assert bench.notes.types == ["TOOL_CALL_START", "TOOL_CALL_END"]


async def test_a_plugin_refuses_a_call_with_a_reason_and_the_tool_does_not_run(bench: ToolBench):
    ran: list[str] = []
    bench.stage.plugin("a", lambda ctx: ctx.register_tool("echo", WORD, lambda word: ran.extend([word])))
    bench.stage.plugin("b", hooking("preTool", lambda call, ctx: ctx.block(f"{call.name} is not for {call.run_id}")))

    said = await result(bench, word="x")

    assert (said["error_type"], said["error"]) == ("blocked", "plugin b blocked the call: echo is not for run-1")
    assert ran == []


async def test_a_plugin_that_fails_refuses_the_call(bench: ToolBench):
    bench.stage.plugin("a", echoing)
    bench.stage.plugin("b", hooking("preTool", lambda call, ctx: 1 / 0))

    said = await result(bench, word="x")

    assert said["error_type"] == "guard_failed"
    assert "ZeroDivisionError" in said["error"]


async def test_changed_arguments_are_those_of_the_call_and_are_checked_again(bench: ToolBench):
    bench.stage.plugin("a", echoing)
    bench.stage.plugin("b", hooking("preTool", lambda call, ctx: ctx.change({"word": call.arguments["word"] * 2})))

    assert (await result(bench, word="ab"))["output"] == "abab"
    bench.stage.plugin("c", hooking("preTool", lambda call, ctx: ctx.change({"word": 1})))
    assert (await result(bench, word="ab"))["error_type"] == "validation_error"


async def test_a_check_is_asked_at_the_call_and_not_before(bench: ToolBench):
    usable = [False]
    bench.stage.plugin("a", lambda ctx: ctx.register_tool("echo", {}, lambda: "done", lambda: usable[0]))

    assert (await result(bench))["error"] == "echo unavailable"
    usable[0] = True
    assert (await result(bench))["data"] == "done"


async def test_the_texts_of_two_plugins_take_the_results_place_one_after_the_other(bench: ToolBench):
    bench.stage.plugin("a", echoing)
    bench.stage.plugin("b", hooking("transformToolResult", lambda call, ctx: call.result.output.upper()))
    bench.stage.plugin("c", hooking("transformToolResult", lambda call, ctx: f"<{call.result.output}>"))

    said = await result(bench, word="secret")

    assert (said["output"], said["data"]) == ("<SECRET>", None)


@pytest.mark.parametrize("hook", ["postTool", "transformToolResult"])
async def test_a_result_is_kept_back_where_a_plugin_that_is_to_see_it_fails(bench: ToolBench, hook: str):
    bench.stage.plugin("a", echoing)
    bench.stage.plugin("b", hooking(hook, lambda call, ctx: 1 / 0))

    said = await result(bench, word="hush")

    assert (said["success"], said["data"], said["error_type"]) == (False, None, "guard_failed")
    assert "hush" not in said["error"]


async def test_what_a_tool_writes_takes_effect_when_it_returns(bench: ToolBench):
    def counting(ctx: PluginContext) -> None:
        @ctx.tool("count", {})
        def count(ctx: Any) -> int:
            return int(ctx.update_state("calls", lambda calls: (calls or 0) + 1))

    bench.stage.plugin("a", counting)

    async with bench.run() as (parts, folder):
        counted = [(await call(parts, folder, "count"))["data"] for _ in range(3)]

    assert counted == [1, 2, 3]


async def test_a_tool_that_raises_is_an_error_of_the_call_alone(bench: ToolBench):
    bench.stage.plugin("a", lambda ctx: ctx.register_tool("bad", {}, lambda: 1 / 0))

    assert (await result(bench, "bad"))["error_type"] == "plugin_error"


async def test_two_tools_of_one_name_are_offered_to_nobody_and_both_plugins_show_it(bench: ToolBench):
    bench.stage.plugin("a", echoing)
    bench.stage.plugin("b", echoing)

    assert (await result(bench, word="x"))["error_type"] == "unknown_tool"
    shown = {each["name"]: each["error"] for each in bench.plugins.report()}
    assert shown == {
        "a": "tool 'echo' is offered by b too, so that no agent gets either; rename one of them",
        "b": "tool 'echo' is offered by a too, so that no agent gets either; rename one of them",
    }


async def test_a_tool_is_offered_only_to_the_stages_that_it_is_meant_for(bench: ToolBench):
    bench.stage.plugin("a", lambda ctx: ctx.register_tool("deploy", {}, lambda: 1, visible_to=["worker"]))

    assert (await result(bench, "deploy"))["success"]
    async with bench.open() as parts:
        folder = bench.prepare(parts, run="run-2", stage="triage")
        async with bench.running(parts, folder):
            assert (await call(parts, folder, "deploy"))["error_type"] == "unknown_tool"


# ---- executable tools, and those of daemons


def executable(bench: ToolBench, folder: Path, code: str, timeout_ms: int = 60_000) -> None:
    folder.mkdir()
    (folder / "tool.py").write_text(code)
    bench.stage.plugin("ex", lambda ctx: None)
    bench.folders["ex"] = PluginFolder(folder)
    bench.manifest_tools["ex"] = (
        ToolSpec(
            name="run",
            kind="executable",
            plugin="ex",
            command="python3",
            args=("tool.py",),
            timeout_ms=timeout_ms,
        ),
    )


async def test_an_executable_gets_the_call_as_json_and_answers_with_json(bench: ToolBench, tmp_path: Path):
    code = "import json, sys\ncall = json.load(sys.stdin)\nprint(json.dumps({'message': call['arguments']['a']}))"
    executable(bench, tmp_path / "ex", code)

    assert (await result(bench, "run", a="hello"))["output"] == "hello"


@pytest.mark.parametrize(
    ("code", "error_type", "error"),
    [
        ("import sys; sys.exit('no luck')", "plugin_error", "run ended with exit code 1: no luck"),
        ("print('hello')", "plugin_error", "run did not answer with JSON"),
        ("print('1' * 5_000_000)", "plugin_error", "run wrote more than 4194304 bytes"),
    ],
)
async def test_an_executable_that_fails_is_an_error(
    bench: ToolBench, tmp_path: Path, code: str, error_type: str, error: str
):
    executable(bench, tmp_path / "ex", code)

    said = await result(bench, "run")

    assert said["error_type"] == error_type
    assert said["error"].startswith(error)


async def test_an_executable_that_hangs_is_ended_with_all_that_it_has_started(bench: ToolBench, tmp_path: Path):
    orphan = "import os, time; os.setsid(); os.fork() and os._exit(0); open('orphan', 'w').write(str(os.getpid())); "
    code = (
        "import os, subprocess, sys, time\n"
        f'subprocess.Popen([sys.executable, "-c", "{orphan}time.sleep(4243)"], close_fds=True).wait()\n'
        "while not (os.path.exists('orphan') and open('orphan').read()): time.sleep(0.01)\n"
        "time.sleep(4243)"
    )
    executable(bench, tmp_path / "ex", code)
    orphan_file = tmp_path / "ex/orphan"

    calling = asyncio.create_task(result(bench, "run"))
    await until(lambda: orphan_file.exists() and orphan_file.read_text() != "")
    loop_time.let_pass(60)
    said = await calling

    assert (said["error_type"], said["error"]) == ("timeout_error", "run timed out after 60000 ms")
    orphan_pid = int(orphan_file.read_text())
    await until(lambda: not processes.living(orphan_pid))


async def test_an_executable_that_does_not_read_its_call_leaves_nothing_in_the_log(
    bench: ToolBench, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    executable(bench, tmp_path / "ex", "import os; os.close(0); print(0)")
    gc.collect()
    caplog.clear()  # what earlier tests have left

    assert (await result(bench, "run", a="x" * 1_000_000))["success"]
    gc.collect()  # Python tells of an error that nobody has heard of when its future is collected
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_an_executable_that_hangs_and_does_not_read_its_long_call_is_ended_too(
    bench: ToolBench, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    executable(bench, tmp_path / "ex", "import time; time.sleep(4243)", timeout_ms=1000)
    gc.collect()
    caplog.clear()

    said = await result(bench, "run", a="x" * 1_000_000)

    assert (said["error_type"], said["error"]) == ("timeout_error", "run timed out after 1000 ms")
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_an_executable_outside_of_the_plugins_folder_is_not_started(bench: ToolBench, tmp_path: Path):
    executable(bench, tmp_path / "ex", "")
    (tool,) = bench.manifest_tools["ex"]
    (tmp_path / "evil").write_text("#!/bin/sh\necho 1\n")
    (tmp_path / "evil").chmod(0o755)
    bench.manifest_tools["ex"] = (ToolSpec(name="run", kind=tool.kind, plugin="ex", command="../evil"),)

    assert (await result(bench, "run"))["error"] == "run: its command '../evil' is not in the plugin's folder"


STATS = ToolSpec(name="stats", kind="background_rpc", plugin="bg", method="get_stats", timeout_ms=7000)


async def test_a_tool_of_a_daemon_is_its_method(bench: ToolBench):
    called: list[object] = []

    async def daemon(plugin: str, method: str, params: Any, limit: timedelta) -> Any:
        called.append((plugin, method, params, limit))
        return {"turns": 3}

    bench.stage.plugin("bg", lambda ctx: None)
    bench.call_daemon = daemon
    bench.manifest_tools["bg"] = (STATS,)

    assert (await result(bench, "stats", since="today"))["data"] == {"turns": 3}
    assert called == [("bg", "get_stats", {"since": "today"}, timedelta(seconds=7))]


@pytest.mark.parametrize(
    "error",
    [call_error.timed_out("bg", "get_stats", timedelta(seconds=7)), call_error.permission_denied("bg", "/s")],
    ids=lambda error: error.kind,
)
async def test_an_error_of_a_daemon_is_told_in_its_words_and_kind(error: call_error.CallError):
    async def daemon(plugin: str, method: str, params: Any, limit: timedelta) -> Any:
        raise error

    asked = CallValue(id="c-1", name="stats", arguments={}, plan_id="pr-7", run_id="run-1", stage="worker")
    with pytest.raises(ToolFailed) as failed:
        await RpcHandler(daemon).answer(cast("CallScene", None), STATS, asked)

    assert (str(failed.value), failed.value.error_type) == (str(error), error.error_type)


# ---- prloom's own tools


async def test_a_note_is_saved_in_the_plan_and_read_from_it(bench: ToolBench):
    async with bench.run() as (parts, folder):
        await call(parts, folder, "prloom_note", note="We use tabs.")
        plan = await call(parts, folder, "prloom_plan")

    assert plan["data"]["notes"] == "- We use tabs."
    assert "We use tabs." in (bench.stage.local() / "plan.md").read_text()


async def test_a_note_does_not_take_the_place_of_a_text_that_was_lost(bench: ToolBench):
    WorkedPlan(bench.stage, "a", adopt=False).commit({"todos": (Todo(id="t-1", title="a"),)})
    text = bench.stage.local() / "plan.md"
    text.unlink()

    said = await result(bench, "prloom_note", note="We use tabs.")

    assert said["error"] == "plan.md is missing or empty, so the note was not saved"
    assert not text.exists()


async def test_what_is_left_of_the_limits_counts_the_run_that_goes_on(bench: ToolBench):
    said = await result(bench, "prloom_budget")

    assert said["data"]["runs"] == {"used": 1, "limit": 200, "left": 199}
    assert said["output"] == "Left today: 49 runs of this plan, 199 runs."
