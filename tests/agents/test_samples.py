"""Every recorded stream is read rightly: a table of what each of them means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from prloom.agents import registry
from prloom.agents.agent import ProgramEnding, RunResult, TokenUsage

DONE = "Done: the file is written. <verdict>pass</verdict>"
NONE = (0, 0, 0)
OUR_SERVER = "API Error: 500 stub err500. This is a server-side issue, usually temporary — try again in a moment."
CAPACITY = (
    "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary."
    " Try again in a moment."
)
LOST = "API Error: Connection lost mid-response. The response above may be incomplete."

# The model stub counts 1,234 tokens in (1,000 of them cached) and 56 out for each call of the model.
CALL = (1234, 56, 1000)
TWO = (2468, 112, 2000)
THREE = (3702, 168, 3000)
FOUR = (4936, 224, 4000)


class Case(NamedTuple):
    """What a recording means: the ending it had, and the result that must come out."""

    file: str
    code: int = 0
    ended_by: str = "exit"
    status: str = "ok"
    trouble: str | None = None
    message: str = DONE
    error: str | None = None  # a part of it
    usage: tuple[int, int, int] | None = None
    cost: float | None = None
    turns: int | None = None
    denials: tuple[str, ...] = ()


def failed(file: str, trouble: str, **more: object) -> Case:
    """A run that failed by itself: these programs then exit with 1."""
    status = "unusable" if trouble == "auth" else "failed"
    return Case(file, **({"code": 1, "status": status, "trouble": trouble, "message": ""} | more))  # type: ignore[arg-type]


def cut_off(file: str, trouble: str, **more: object) -> Case:
    """A run that was still at it when its time was up."""
    return failed(file, trouble, code=-15, ended_by="timeout", **more)


TABLE = (
    # claude: API trouble is `success` with `is_error`; with ten retries nothing but the time limit ends it.
    failed(
        "claude-auth401-retries1",
        "auth",
        message="Failed to authenticate. API Error: 401 stub auth401",
        error="Failed to authenticate",
        usage=NONE,
        cost=0,
        turns=1,
    ),
    cut_off("claude-auth401", "auth", error="401: authentication_failed); the program was at retry 6 of 10"),
    failed(
        "claude-cut-2.1.329",
        "connection",
        message=LOST,
        error="Connection lost",
        usage=(4936, 24, 4000),
        cost=0.005024000000000001,
        turns=4,
    ),
    # 2.1.197 exits with 0 and says `success` although the tool call is lost; it counts nothing of what was used.
    failed(
        "claude-cut",
        "connection",
        code=0,
        message="I will call Write.",
        error="the model's answer was cut off after: I will call Write.",
        turns=1,
    ),
    failed(
        "claude-err500-retries1",
        "server",
        message=f"{OUR_SERVER} If it persists, check your inference gateway (127.0.0.1:35255).",
        error="API Error: 500",
        usage=NONE,
        cost=0,
        turns=1,
    ),
    cut_off("claude-err500", "server", error="500: server_error); the program was at retry 6 of 10"),
    Case("claude-flaky", usage=TWO, cost=0.0061400000000000005, turns=2),
    cut_off("claude-hang", "timeout", error="the run exceeded its time limit"),
    Case("claude-mcp-2.1.329", usage=TWO, cost=0.0045119999999999995, turns=2),
    Case("claude-mcp", usage=TWO, cost=0.0061400000000000005, turns=2),
    failed(
        "claude-nokey",
        "auth",
        message="Not logged in · Please run /login",
        error="Not logged in",
        usage=NONE,
        cost=0,
        turns=1,
    ),
    Case("claude-ok-2.1.329", usage=TWO, cost=0.0045119999999999995, turns=2),
    # Exit code 0 and `success`, although nothing was written: only the denial tells.
    Case("claude-ok-deny", usage=TWO, cost=0.0061400000000000005, turns=2, denials=("Write",)),
    Case("claude-ok-partial", usage=TWO, cost=0.0061400000000000005, turns=2),
    Case("claude-ok-skiproot2", usage=TWO, cost=0.0061400000000000005, turns=2),
    Case("claude-ok", usage=TWO, cost=0.0061400000000000005, turns=2),
    failed(
        "claude-overload529-2.1.329",
        "server",
        message=f"{CAPACITY} If it persists, check your inference gateway (127.0.0.1:35965).",
        error="529 Overloaded",
        usage=NONE,
        cost=0,
        turns=1,
    ),
    failed(
        "claude-overload529",
        "server",
        message=f"{CAPACITY} If it persists, check your inference gateway (127.0.0.1:37095).",
        error="529 Overloaded",
        usage=NONE,
        cost=0,
        turns=1,
    ),
    cut_off("claude-rate429", "rate_limit", error="429: rate_limit); the program was at retry 6 of 10"),
    failed("claude-sleep-kill-SIGKILL", "killed", code=-9, message="", error="ended by signal 9"),
    failed("claude-sleep-kill-SIGTERM", "killed", code=143, message="", error="ended by signal 15"),
    Case("claude-text", usage=CALL, cost=0.0030700000000000002, turns=1),
    Case("claude-twotools-2.1.329", usage=THREE, cost=0.006768, turns=3),
    failed(
        "claude-twotools-maxturns",
        "turns",
        error="Reached maximum number of turns (1)",
        usage=CALL,
        cost=0.0030700000000000002,
        turns=2,
    ),
    Case("claude-twotools", usage=THREE, cost=0.009210000000000001, turns=3),
    cut_off(
        "sample-claude-api_retry-connection-error",
        "connection",
        error="unknown: unknown); the program was at retry 8 of 10",
    ),
    # codex: `error` events come before `turn.failed`; the item about the model's metadata is no failure. It never
    # tells a cost.
    failed("codex-auth401", "auth", error="unexpected status 401 Unauthorized: stub auth401"),
    failed("codex-cut", "connection", error="stream disconnected before completion"),
    failed("codex-err500", "server", error="currently experiencing high demand"),
    Case("codex-flaky", usage=TWO),
    cut_off("codex-hang", "timeout", error="the run exceeded its time limit"),
    Case("codex-mcp", usage=TWO),
    Case("codex-ok-sandbox", usage=TWO),
    Case("codex-ok", usage=TWO),
    failed("codex-overload529", "server", error="unexpected status 529"),
    failed("codex-nokey", "auth", error="Missing environment variable"),
    cut_off("codex-retry-after", "rate_limit", error="exceeded retry limit, last status: 429 Too Many Requests"),
    failed("codex-rate429", "rate_limit", error="exceeded retry limit, last status: 429 Too Many Requests"),
    failed(
        "codex-sleep-kill-SIGKILL",
        "connection",
        code=137,
        message="I will call exec_command.",
        error="waiting for network",
    ),
    failed(
        "codex-sleep-kill-SIGTERM", "killed", code=143, message="I will call exec_command.", error="ended by signal 15"
    ),
    Case("codex-text-lastmsg", usage=CALL),
    Case("codex-text", usage=CALL),
    Case("codex-twotools", usage=THREE),
    # gemini: the routing model's call is counted as well. It shows nothing of a server's trouble, and exits with 0 and
    # without a result after SIGTERM.
    failed("gemini-auth401", "auth", code=145, error="stub auth401", usage=NONE),
    Case("gemini-cut", usage=THREE),
    cut_off("gemini-err500", "timeout"),
    failed(
        "gemini-daily",
        "usage_limit",
        status="limited",
        code=173,
        error="You have exhausted your daily quota on this model.",
        usage=NONE,
    ),
    Case("gemini-flaky", usage=THREE),
    cut_off("gemini-hang", "timeout"),
    Case("gemini-mcp", usage=THREE),
    Case("gemini-ok", usage=THREE),
    cut_off("gemini-overload529", "timeout"),
    cut_off("gemini-rate429", "timeout"),
    failed("gemini-sleep-kill-SIGTERM", "no_result", code=0, error="the program ended without reporting a result"),
    Case("gemini-text", usage=TWO),
    Case("gemini-twotools", usage=FOUR),
    # opencode: a cost of 0 is that of a model without a price, so it is unknown.
    failed("opencode-auth401", "auth", error="stub auth401"),
    Case("opencode-flaky", usage=(2468, 112, 2000), turns=2),
    Case("opencode-mcp", usage=TWO, turns=2),
    Case("opencode-ok", usage=TWO, turns=2),
    failed("opencode-rate429", "rate_limit", error="stub rate429"),
    failed("opencode-sleep-kill-SIGTERM", "killed", code=143, error="ended by signal 15"),
    Case("opencode-text", usage=CALL, turns=1),
    Case("opencode-twotools", usage=THREE, turns=3),
)


def test_every_recorded_stream_is_in_the_table(samples: Path) -> None:
    recorded = sorted(path.stem for path in samples.iterdir())

    assert sorted(case.file for case in TABLE) == recorded


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.file)
def test_a_recorded_stream_means(case: Case, samples: Path, ending: Callable[..., ProgramEnding]) -> None:
    result = read(case, samples, ending)

    assert (result.status, result.trouble, result.message) == (case.status, case.trouble, case.message)
    assert (case.error or "") in (result.error or "")
    assert (result.error is None) == (case.status == "ok")
    assert (result.usage, result.cost_usd) == (usage(case), case.cost)
    assert (result.turns, result.denials) == (case.turns, case.denials)
    assert result.retry_at is None


@pytest.mark.parametrize("case", [case for case in TABLE if case.status == "ok"], ids=lambda case: case.file)
def test_a_success_needs_the_exit_code_and_the_end_of_the_stream(
    case: Case, samples: Path, ending: Callable[..., ProgramEnding]
) -> None:
    torn = "".join((samples / f"{case.file}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:-1])
    agent = registry.get(agent_of(case))

    assert agent.read(torn, ending()).status == "failed"
    assert read(case._replace(code=1), samples, ending).status == "failed"
    assert read(case._replace(code=-15, ended_by="timeout"), samples, ending).trouble == "timeout"
    assert read(case._replace(code=-15, ended_by="terminated"), samples, ending).status == "interrupted"


def agent_of(case: Case) -> str:
    return case.file.removeprefix("sample-").partition("-")[0]


def read(case: Case, samples: Path, ending: Callable[..., ProgramEnding]) -> RunResult:
    output = (samples / f"{case.file}.jsonl").read_text(encoding="utf-8")
    return registry.get(agent_of(case)).read(output, ending(case.code, case.ended_by))


def usage(case: Case) -> TokenUsage | None:
    if case.usage is None:
        return None
    tokens_in, tokens_out, cached = case.usage
    return TokenUsage(input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=cached)
