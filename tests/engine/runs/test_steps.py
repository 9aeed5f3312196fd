"""What `prloom logs` shows of a run beside what its program prints: what the dispatcher handles, each once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prloom.agents import run_folder
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.stream import ActivityStream
from prloom.engine.runs.steps import RunSteps
from prloom.model.activity import ActivityDraft
from prloom.storage.activity_file import OutputPosition
from prloom.storage.paths import RepositoryPaths

RECORDED = Path(__file__).parents[2] / "data/agents/samples"


class Run:
    """A run whose program has printed some lines."""

    def __init__(self, root: Path, agent: str) -> None:
        where = RepositoryPaths(root, root / "prloom/.local/worktrees")
        self.folder = where.worktree("pr-7") / "prloom/.local/runs/run-1"
        self.folder.mkdir(parents=True)
        spec = RunSpec(argv=(agent,), cwd="/", environment=(), limits=RunLimits(), agent=agent)
        run_folder.write_new(self.folder, run_folder.INVOCATION, run_folder.encode(spec))
        self.log = ActivityLog(where, lambda: datetime.now(UTC), {"MY_TOKEN": "a-secret-word-of-mine"})
        self.stream = ActivityStream(self.log.place("pr-7", "run-1", "worker"), self.log._tools)
        self.steps = RunSteps(self.folder)

    def prints(self, *lines: Any) -> int:
        """Return the offset of the last line."""
        with (self.folder / run_folder.OUTPUT).open("ab") as file:
            at = file.tell()
            for line in lines:
                at = file.tell()
                file.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        return at

    def handles(self, kind: str, position: int | None = None, **data: Any) -> None:
        at = None if position is None else OutputPosition(position, 0)
        self.stream.add(ActivityDraft(type=kind, data=data), position=at)

    def calls(self, name: str, **result: Any) -> None:
        """Have the dispatcher handle a call."""
        ended = {"success": True, "error": None, "output": "done", "data": None, **result}
        self.handles("TOOL_CALL_START", toolCallId=name, toolName=name, arguments={"path": "a"})
        about = {"toolCallId": name, "toolName": name, "success": ended["success"], "error": ended["error"]}
        self.handles("TOOL_CALL_END", **about, result=ended, durationMs=1)

    @property
    def shown(self) -> list[tuple[str, str, str]]:
        return [(each.kind, each.tool, each.text) for each in self.steps.entries()]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, "command")


def test_calls_that_the_dispatcher_handles_are_shown_with_what_they_came_to(run: Run):
    run.handles("AGENT_START", message="Go.")
    run.calls("count", data={"letters": 4})
    run.calls("deploy", success=False, error="ann denied the call of deploy")

    assert run.shown == [
        ("call", "count", "a"),
        ("result", "count", 'done {"letters": 4}'),
        ("call", "deploy", "a"),
        ("error", "deploy", "ann denied the call of deploy"),
    ]


def test_a_confirmation_and_what_plugins_do_are_shown_without_secrets(run: Run):
    run.handles("PERMISSION_REQUEST", requestId="ask-1", toolName="deploy", arguments={"to": "a-secret-word-of-mine"})
    run.handles("PERMISSION_RESPONSE", requestId="ask-1", choice="allow", by="operator")
    run.handles("PLUGIN_EVENT_EMITTED", pluginName="ci", type="plugin.ci.built", data={"ok": True}, depth=0)

    (asked, answered, emitted) = [text for _, _, text in run.shown]
    assert asked.startswith("deploy waits for a person: requestId ask-1, arguments")
    assert "a-secret-word-of-mine" not in asked
    assert answered == "the person's answer: requestId ask-1, choice allow, by operator"
    assert emitted == 'plugin ci: event emitted: type plugin.ci.built, data {"ok": true}'


def says(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def uses(tool: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": tool, "input": {"path": "a"}}]}}


def test_what_the_dispatcher_handles_is_shown_behind_the_line_after_which_it_came(tmp_path: Path):
    run = Run(tmp_path, "claude")
    at = run.prints(says("first"))
    run.handles("CONTEXT_USAGE_UPDATE", position=at, inputTokens=1)
    run.calls("count")
    run.prints(says("last"))

    assert [text for _, _, text in run.shown] == ["first", "a", "done", "last"]


def test_a_call_that_the_program_prints_too_is_shown_once_whichever_comes_first(tmp_path: Path):
    run = Run(tmp_path, "claude")
    run.prints(uses("mcp__prloom__count"))
    before = run.shown
    run.calls("count")
    run.calls("deploy")
    after = run.shown
    run.prints(uses("mcp__prloom__deploy"), uses("mcp__prloom__deploy"))

    assert before == [("call", "mcp__prloom__count", "a")]
    assert after == [("call", "deploy", "a"), ("result", "deploy", "done")]
    assert run.shown == [("call", "mcp__prloom__deploy", "a")]


def test_a_call_that_opencode_prints_when_it_is_over_is_not_shown_again_with_its_result(tmp_path: Path):
    run = Run(tmp_path, "opencode")
    run.calls("count")
    state = {"input": {"path": "a"}, "output": "done", "status": "completed"}
    run.prints({"type": "tool_use", "part": {"tool": "prloom_count", "state": state}})

    assert run.shown == [("call", "count", "a"), ("result", "count", "done")]


def test_the_activity_that_a_program_of_the_operator_reports_is_shown_once(tmp_path: Path) -> None:
    run = Run(tmp_path, "command")
    called = {"toolCallId": "1", "toolName": "lint", "arguments": {"path": "a.py"}}
    ended = {"toolCallId": "1", "success": True, "result": "fine"}
    begin = run.prints({"activity": "TOOL_CALL_START", "data": called})
    run.handles("TOOL_CALL_START", begin, **called)
    end = run.prints({"activity": "TOOL_CALL_END", "data": ended})
    run.handles("TOOL_CALL_END", end, **ended)
    run.prints("Done.")

    assert run.shown == [("call", "lint", "a.py"), ("result", "", "fine"), ("text", "", "Done.")]


@pytest.mark.parametrize(
    ("agent", "before"),
    [
        ("claude", [("text", "I will call mcp__stub__echo.")]),
        ("codex", [("text", "I will call mcp__stub::echo.")]),
        ("gemini", []),
        ("opencode", []),
    ],
)
def test_a_call_is_shown_once_behind_what_the_program_said_before_it(
    tmp_path: Path, agent: str, before: list[tuple[str, str]]
) -> None:
    stream = (RECORDED / f"{agent}-mcp.jsonl").read_text("utf-8").replace("stub_echo", "prloom_echo")
    run = Run(tmp_path, agent)
    run.handles("TOOL_CALL_START", toolCallId="1", toolName="echo", arguments={"text": "hi"})
    result = {"output": "echo:hi", "data": None}
    run.handles("TOOL_CALL_END", toolCallId="1", toolName="echo", success=True, result=result)
    run.prints(*stream.replace('mcp__stub__echo"', 'mcp__prloom__echo"').splitlines())

    shown = [(each.kind, each.text) for each in run.steps.entries(last=True) if each.kind != "remark"]

    assert shown[:-2] == [*before, ("call", '{"text": "hi"}')]
    assert shown[-2][0] == "result"
    assert "echo:hi" in shown[-2][1]
    assert shown[-1] == ("text", "Done: the file is written. <verdict>pass</verdict>")


GEMINI = (
    {"type": "message", "role": "assistant", "content": "I look, "},
    {"type": "message", "role": "assistant", "content": "then I count."},
    {"type": "tool_use", "tool_name": "read_file", "tool_id": "1", "parameters": {"path": "a"}},
    {"type": "tool_result", "tool_id": "1", "status": "success", "output": "read"},
    {"type": "tool_use", "tool_name": "mcp_prloom_count", "tool_id": "2", "parameters": {"path": "a"}},
    {"type": "tool_result", "tool_id": "2", "status": "success", "output": "done"},
)
OPENCODE = (
    {"type": "text", "part": {"text": "I look, then I count."}},
    *(
        {"type": "tool_use", "part": {"tool": tool, "state": {"input": {"path": "a"}, "output": output}}}
        for tool, output in (("read_file", "read"), ("prloom_count", "done"))
    ),
)


@pytest.mark.parametrize(("agent", "lines"), [("gemini", GEMINI), ("opencode", OPENCODE)])
def test_what_a_call_waits_for_is_shown_between_the_call_and_its_result(
    tmp_path: Path, agent: str, lines: tuple[Any, ...]
) -> None:
    run = Run(tmp_path, agent)
    run.handles("TOOL_CALL_START", toolCallId="2", toolName="count", arguments={"path": "a"})
    run.handles("PERMISSION_REQUEST", requestId="ask-1", toolName="count", arguments={})
    run.handles(
        "TOOL_CALL_END", toolCallId="2", toolName="count", success=True, result={"output": "done", "data": None}
    )
    run.prints(*lines)

    kinds = [kind for kind, _, _ in run.shown]

    assert kinds == ["text", "call", "result", "call", "remark", "result"]
