"""Some programs count the tokens of a session, prloom those of a run."""

from __future__ import annotations

from collections.abc import Iterator
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


NOTHING = TokenUsage(input_tokens=0, output_tokens=0, cached_tokens=0)


def own(folder: Path, tokens: int, *, least: TokenUsage | None = NOTHING) -> TokenUsage | None:
    result = RunResult(status="ok", session_id=SESSION, usage=used(tokens))
    return session_usage.of_run(folder, result, least=least).usage


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


@pytest.mark.parametrize("least", [used(40), NOTHING, None])
def test_a_count_that_cannot_be_the_sessions_is_the_runs_own(tmp_path: Path, least: TokenUsage | None) -> None:
    a_run(tmp_path, "1", tokens=30 if least else 100)
    a_run(tmp_path, "2", tokens=30)

    assert own(a_run(tmp_path, "3", resumes=SESSION), 40, least=least) == used(40)


# The model stub counts 1,234 tokens in (1,000 of them cached) and 56 out for each call of the model.
@pytest.mark.parametrize(
    ("name", "calls", "recordings"),
    [
        ("claude", (3, 3, 3), [f"claude-session-2.1.197-{number}" for number in (1, 2, 3)]),
        ("claude", (3, 3, 3), [f"claude-session-2.1.332-{number}" for number in (1, 2, 3)]),
        ("codex", (4, 4), ["codex-worker-ws", "codex-resume-ws"]),
        ("opencode", (4, 2), ["opencode-worker", "opencode-resume"]),
        ("gemini", (5, 3), ["gemini-worker-policy", "gemini-resume"]),
    ],
)
def test_over_a_resumed_session_each_run_counts_its_own_calls_of_the_model(
    tmp_path: Path, workers: Path, name: str, calls: tuple[int, ...], recordings: list[str]
) -> None:
    results = list(replayed(tmp_path, workers, name, recordings))

    assert [each.usage for each in results] == [
        TokenUsage(input_tokens=1234 * count, output_tokens=56 * count, cached_tokens=1000 * count) for count in calls
    ]
    if name == "claude":
        costs = [each.cost_usd for each in results]
        assert costs == pytest.approx([costs[0]] * len(costs))


def replayed(runs: Path, workers: Path, name: str, recordings: list[str]) -> Iterator[RunResult]:
    """Yield what the runs of one session come to, the first of which begins it, by what the program has printed."""
    session = None
    for number, recording in enumerate(recordings):
        folder = runs / str(number)
        folder.mkdir()
        spec = RunSpec(argv=(name,), cwd="/", environment=(), limits=RunLimits(), session=session)
        run_folder.write_new(folder, run_folder.INVOCATION, run_folder.encode(spec))
        run_folder.write_new(folder, run_folder.OUTPUT, (workers / f"{recording}.jsonl").read_bytes())
        now = datetime(2026, 11, 22, tzinfo=UTC)
        ended = ProcessExit(code=0, ended_by="exit", started_at=now, ended_at=now, duration_ms=1)
        result = runner.conclude(folder, registry.get(name), RunFinished(ended))
        session = result.session_id
        yield result
