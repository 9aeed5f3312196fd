"""What the recorded streams of workers come to: a refused tool is no failed run, and a lost session has its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prloom.agents import registry
from prloom.agents.agent import ProgramEnding, RunResult

DONE = "Done: hello.txt is written and committed."


@pytest.fixture
def read(workers: Path, ending: Callable[..., ProgramEnding]) -> Callable[..., RunResult]:
    def reading(file: str, code: int = 0) -> RunResult:
        output, said = (workers / f"{file}.{kind}" for kind in ("jsonl", "stderr"))
        texts = [path.read_text(encoding="utf-8") if path.exists() else "" for path in (output, said)]
        name = file.partition("-")[0].rstrip("0123456789")
        return registry.get(name).read(texts[0], ending(code, stderr=texts[1]))

    return reading


@pytest.mark.parametrize(
    "file",
    [
        *("claude-worker-dontAsk", "claude-worker-acceptEdits", "claude330-worker"),
        *("codex-worker-ws", "opencode-worker", "opencode-worker-held", "gemini-worker-policy"),
    ],
)
def test_a_run_whose_tools_were_refused_says_the_same_as_one_that_did_its_work(
    read: Callable[..., RunResult], file: str
) -> None:
    result = read(file)

    assert (result.status, result.message) == ("ok", DONE)
    assert result.session_id
    assert result.usage


def test_claude_lists_what_was_refused(read: Callable[..., RunResult]) -> None:
    assert read("claude-worker-acceptEdits").denials == ("Bash", "Bash")
    assert read("claude-worker-dontAsk").denials == ()


@pytest.mark.parametrize(
    ("file", "session"),
    [
        ("claude-resume", "0d8b8e0d-d15d-4edc-91ab-dec0b38127b6"),
        ("codex-resume-ws", "01a2034a-4384-79f0-aca8-dbc5d366eb14"),
        ("gemini-resume", "0704098a-58d3-4349-823a-f5840c17e4d8"),
        ("opencode-resume", "ses_dfcb9ea25ffejcEG9AungsnRH0"),
    ],
)
def test_a_session_that_is_gone_on_with_keeps_its_id(read: Callable[..., RunResult], file: str, session: str) -> None:
    assert read(file).session_id == session


@pytest.mark.parametrize(
    ("file", "code", "words"),
    [
        ("claude-resume-unknown", 1, "No conversation found with session ID"),
        ("codex-resume-unknown", 1, "no rollout found for thread id"),
        ("opencode-resume-unknown", 1, "Session not found"),
        ("gemini-resume-unknown", 42, "Error resuming session"),
    ],
)
def test_a_session_that_is_not_there_is_recognised(
    read: Callable[..., RunResult], file: str, code: int, words: str
) -> None:
    result = read(file, code)

    assert (result.status, result.trouble) == ("failed", "session")
    assert words in (result.error or "")


def test_a_question_that_nobody_answers_is_no_result(read: Callable[..., RunResult]) -> None:
    assert read("opencode-ask").trouble == "no_result"


@pytest.mark.parametrize("session", ["--resume", "../x", "a b", "latest", "", "x" * 200, "id\nid"])
def test_what_cannot_be_the_id_of_a_session_is_none(session: str, ending: Callable[..., ProgramEnding]) -> None:
    line = json.dumps({"type": "thread.started", "thread_id": session})

    assert registry.get("codex").read(line, ending()).session_id is None
