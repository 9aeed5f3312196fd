"""What people see of an agent at work, from the recorded streams of the programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prloom.agents import registry
from prloom.agents.agent import StreamEntry


def shown(agent: str, file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [told(each) for line in lines for each in registry.get(agent).entries(line)]


def told(entry: StreamEntry) -> str:
    first = entry.text.split("\n")[0][:60]
    return " ".join(part for part in (entry.kind, entry.tool, first) if part)


WORK = "python3 -c 'import app; print(app.f())' && echo TESTS-OK"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "claude-worker-dontAsk",
            [
                "text I will call Write.",
                "call Write /WORKTREE/hello.txt",
                "result File created successfully at: /WORKTREE/hello.txt (file stat",
                "text I will call Bash.",
                f"call Bash {WORK}",
                "result 1",
                "text I will call Bash.",
                "call Bash git add hello.txt && git -c user.name=w -c user.email=w@exam",
                "result f6d0037 Write hello",
                "text Done: hello.txt is written and committed.",
            ],
        ),
        (
            "codex-worker-ws",
            [
                "remark Model metadata for `stub-model` not found. Defaulting to fal",
                "text I will call exec_command.",
                "call shell /bin/bash -lc \"printf '%s' 'written by stub",
                "result",
                "text I will call exec_command.",
                "call shell /bin/bash -lc \"python3 -c 'import app; print(app.f())' && ec",
                "result 1",
                "text I will call exec_command.",
                'call shell /bin/bash -lc "git add hello.txt && git -c user.name=w -c us',
                "error fatal: Unable to create '/REPO/.git/worktrees/wt/index.lock'",
                "text Done: hello.txt is written and committed.",
            ],
        ),
        (
            "opencode-worker-held",
            [
                "call write /WORKTREE/hello.txt",
                "result Wrote file successfully.",
                f"call bash {WORK}",
                "result 1",
                "call bash git add hello.txt && git -c user.name=w -c user.email=w@exam",
                "error The user has specified a rule which prevents you from using ",
                "text Done: hello.txt is written and committed.",
            ],
        ),
        (
            "gemini-worker-policy",
            [
                "call write_file /WORKTREE/hello.txt",
                "result",
                f"call run_shell_command {WORK}",
                "result 1",
                "call run_shell_command git add hello.txt && git -c user.name=w -c user.email=w@exam",
                "result 0b18b1e Write hello",
                "piece Done: hello.txt is written and committed.",
            ],
        ),
    ],
)
def test_a_worker_is_shown_step_by_step(workers: Path, file: str, expected: list[str]) -> None:
    assert shown(file.partition("-")[0], workers / f"{file}.jsonl") == expected


@pytest.mark.parametrize("file", ["claude-worker-acceptEdits", "claude-resume-unknown", "opencode-ask"])
def test_what_failed_is_shown_as_a_failure(workers: Path, file: str) -> None:
    kinds = [each.split()[0] for each in shown(file.partition("-")[0], workers / f"{file}.jsonl")]

    assert "error" in kinds


def test_a_retry_is_shown_because_nothing_else_happens_meanwhile() -> None:
    line = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}

    (entry,) = registry.get("claude").entries(json.dumps(line))

    assert entry.text == "the model refused (529: overloaded); it tries again"
