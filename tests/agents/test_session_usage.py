"""Codex counts the tokens of a session, prloom those of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom.agents import registry, run_folder, runner, session_usage
from prloom.agents.agent import RunResult, TokenUsage
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.agents.run_status import RunFinished

SESSION = "01a2034a-4384-79f0-aca8-dbc5d366eb14"


def a_run(runs: Path, name: str, *, resumes: str | None = None, session: str = SESSION, tokens: int | None = 0) -> Path:
    folder = runs / name
    folder.mkdir()
    spec = RunSpec(argv=("codex",), cwd="/", environment=(), limits=RunLimits(), session=resumes)
    run_folder.write_new(folder, run_folder.INVOCATION, run_folder.encode(spec))
    run_folder.write_result(folder, RunResult(status="ok", session_id=session, usage=used(tokens)))
    return folder


def used(tokens: int | None) -> TokenUsage | None:
    if tokens is None:
        return None
    return TokenUsage(input_tokens=tokens, output_tokens=tokens // 10, cached_tokens=tokens // 2)


def own(folder: Path, tokens: int) -> TokenUsage | None:
    return session_usage.of_run(folder, RunResult(status="ok", session_id=SESSION, usage=used(tokens))).usage


def test_of_a_session_only_what_earlier_runs_have_not_counted_is_the_runs_own(tmp_path: Path) -> None:
    a_run(tmp_path, "1", tokens=100)
    a_run(tmp_path, "2", session="another-session", tokens=1000)
    a_run(tmp_path, "3", resumes=SESSION, tokens=50)
    last = a_run(tmp_path, "4", resumes=SESSION)
    a_run(tmp_path, "5", tokens=7)

    assert own(last, 180) == TokenUsage(input_tokens=30, output_tokens=3, cached_tokens=15)


def test_a_run_that_began_its_session_used_all_that_it_counted(tmp_path: Path) -> None:
    a_run(tmp_path, "1", tokens=100)

    assert own(a_run(tmp_path, "2"), 40) == used(40)


@pytest.mark.parametrize("tokens", [None, 0])
def test_what_an_earlier_run_did_not_count_is_counted_now(tmp_path: Path, tokens: int | None) -> None:
    a_run(tmp_path, "1", tokens=tokens)

    assert own(a_run(tmp_path, "2", resumes=SESSION), 40) == used(40)


def test_a_count_that_began_anew_is_never_below_nothing(tmp_path: Path) -> None:
    a_run(tmp_path, "1", tokens=100)

    assert own(a_run(tmp_path, "2", resumes=SESSION), 40) == used(0)


def test_the_result_of_a_resumed_run_of_codex_is_without_what_was_counted_before(tmp_path: Path, workers: Path) -> None:
    a_run(tmp_path, "1", tokens=7404)
    folder = a_run(tmp_path, "2", resumes=SESSION)
    run_folder.write_new(folder, run_folder.OUTPUT, (workers / "codex-resume-ws.jsonl").read_bytes())
    now = datetime(2026, 11, 22, tzinfo=UTC)
    ended = ProcessExit(code=0, ended_by="exit", started_at=now, ended_at=now, duration_ms=1)

    result = runner.conclude(folder, registry.get("codex"), RunFinished(ended))

    assert result.usage is not None
    assert result.usage.input_tokens == 9872 - 7404
