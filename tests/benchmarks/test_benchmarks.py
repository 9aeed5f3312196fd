"""That each row of the table can be measured, and that the page about it has them all; the figures are not judged.

Of the rows that start dispatchers, and of the others that take seconds, one each is tried, other ones in each run;
PRLOOM_CRASHES=all tries all of them.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_server
import postgres_server
import pytest

pytestmark = pytest.mark.timeout(300)  # real dispatchers, on a machine that may have much else to do

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs/benchmarks.md").read_text("utf-8")
GROUPS = {
    "append": {"append"},
    "flushes": {"flushes"},
    "history": {"tick", "read_events", "cold start", "save"},
    "catch-up": {"catch-up", "catch-up memory"},
    "plugin": {"plugin"},
    "idle tick": {"idle tick", "idle tick touches", "idle tick share"},
    "idle completed": {"idle completed", "idle completed touches", "idle completed share"},
    "idle dispatcher": {"idle dispatcher"},
    "idle poll": {"idle poll", "idle poll difference", "idle poll charged"},
    "latency": {"hook", "action"},
    "latency without inotify": {"hook without inotify"},
    "beside an agent": {"beside"},
    "agent runs": {"run start", "run end", "sandbox"},
    "working": {"working"},
    "commands": {"help", "status 2", "status 3", "status 3 200"},
    "machines": {"machines"},
    "web": {"web page", "web change"},
    "memory": {"memory web", "memory top"},
    "exchange-hosts": {"exchange-host-writes", "exchange-host-idle"},
    "MCP calls": {"mcp-call"},
}
"""The figures of rows; a row that is not listed has one, of its own name."""

DAEMONS = ("event to daemon", "events to daemons", "idle daemons", "beside daemons", "plans beside daemons")
POSTGRES = ("exchange-postgres", "exchange-postgres-history", "exchange-postgres-idle", "machines")
EXCHANGE = ("exchange-publish", "exchange-work", "exchange-history", "exchange-crowd", "exchange-idle")
REAL = (
    *("beside an agent", "history", "working", "latency", "latency without inotify", "idle dispatcher"),
    *("plugin", "MCP start", "MCP calls", "beside web attacks", *DAEMONS),
)
"""The rows that start real dispatchers, which takes seconds each: `make bench` measures all of them."""
LONG = (
    *("catch-up", "idle tick", "idle completed", "agent runs", "commands", "web", "memory"),
    *(*EXCHANGE, *POSTGRES, "exchange-request", "exchange-hosts"),
)
"""The others that take seconds."""
TURN = int(os.environ.get("PRLOOM_CRASH_TURN") or random.SystemRandom().randrange(len(REAL) * len(LONG)))
ALL = os.environ.get("PRLOOM_CRASHES") == "all"
SOME = {"one that starts dispatchers": REAL, "another that takes seconds": LONG}
EACH = tuple(dict.fromkeys((*GROUPS, *REAL, *LONG)))
TRIED = EACH if ALL else [*SOME, *(group for group in EACH if group not in {*REAL, *LONG})]

Bench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Return what runs the benchmarks with some arguments."""
    server = command_server.server_of(HERE / "bench_server.py")
    return lambda *args: command_server.run_at(server, ["benchmarks", *args], cwd=ROOT, env=os.environ)


@pytest.mark.parametrize("tried", TRIED)
def test_a_row_can_be_measured_and_the_page_has_it(tried: str, tmp_path: Path, bench: Bench):
    group = tried if tried in EACH else SOME[tried][TURN % len(SOME[tried])]
    if group == "latency without inotify" and not can_be_watchless():
        pytest.skip("this machine lets nobody make a user namespace")
    if group in POSTGRES and not can_have_postgres():
        pytest.skip("no PostgreSQL server can be had here")

    ended = bench("--tiny", "--only", group, "--json", str(tmp_path / "results.json"))

    assert ended.returncode == 0, f"{group}: {ended.stderr}"
    figures = json.loads((tmp_path / "results.json").read_text())["figures"]
    assert {figure["row"] for figure in figures} == GROUPS.get(group, {group.lower().replace(" ", "-")})
    assert [figure for figure in figures if in_words(figure) not in words(PAGE)] == []


def test_a_row_that_does_not_exist_is_a_mistake(bench: Bench):
    ended = bench("--only", "no such row")

    assert ended.returncode == 2
    assert [group for group in EACH if f"'{group}'" not in ended.stderr] == []
    assert len(re.findall("'[^']+'", ended.stderr)) == len(EACH) + len(["no such row"])


def test_a_figure_holds_up_to_its_target_and_not_beyond(tmp_path: Path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from harness import Figure;"
        "at = lambda value, sense: Figure('r', 'w', 'y', 2, value, sense).holds;"
        "print(at(2, 'at most'), at(2.01, 'at most'), at(2, 'at least'), at(1.99, 'at least'))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(ROOT / "benchmarks")], capture_output=True, text=True, check=True
    )

    assert ended.stdout.split() == ["True", "False", "True", "False"]


def in_words(figure: dict[str, Any]) -> str:
    return words(figure["work"])


def words(text: str) -> str:
    """Return a text without its numbers, which the sizes of a run decide."""
    return re.sub(r"\d[\d,]*(\.\d+)?", "N", text)


def can_have_postgres() -> bool:
    try:
        postgres_server.programs()
    except postgres_server.NoServerError:
        return False
    return True


def can_be_watchless() -> bool:
    return (
        subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True, check=False).returncode
        == 0
    )
