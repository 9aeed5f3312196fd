from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, said

from prloom.api import Author, PluginContext, Refused, TriageContext
from prloom.storage.folder import Folder
from prloom.storage.owner import DispatcherLock

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red][bold]\nDispatcher running"
Prloom = Callable[..., Any]


def deferring(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            if "wait" in event.body:
                triage.mark_event_deferred(event.id, "people are still talking", 10**9)


def on_branch(local: Path, branch: str) -> None:
    state = json.loads((local / "state.json").read_text())
    (local / "state.json").write_text(json.dumps({**state, "branch": branch}))


async def a_full_stage(stage: Stage) -> None:
    on_branch(stage.adopt(title="Cache it"), "cache")
    stage.plugin("quiet-period", deferring)
    stage.bridge.refuse = lambda action: Refused("the thread is locked")
    stage.bridge.news = [said("d 1", "wait"), said("h", author=Author("mallory", "none")), said("t")]
    await stage.tick()


async def test_it_says_what_waits_for_whom_why_how_long_and_what_to_do(stage: Stage, prloom: Prloom) -> None:
    await a_full_stage(stage)

    ran = prloom("status")

    assert ran.code == 0
    text = re.sub(r"\d+ d\b(?: \d+ h\b)?", "N d", ran.out)
    (action,) = stage.state()["queue"]
    assert (
        text.partition("\n\nBridges")[0]
        == f"""\
Dispatcher not running, last tick now; `prloom start` runs it.
1 plan: 1 deferred (the oldest for N d), 1 held, 1 action failed.

pr-7  Cache it  #7  cache  active
  1 deferred (the oldest for N d), 1 held, 1 action failed; 1 triaged
  deferred d 1  pr_comment, by quiet-period: people are still talking
           next try N d ago; attempts so far: 1; waiting for N d, until 2026-01-08 12:00:00 at the latest
  held     h  by mallory: mallory has none permission; trust.minimum is write
           read it: `prloom why h`, let it in: `prloom approve h`
  failed   {action}  the thread is locked
           try again: `prloom retry {action}`"""
    )


async def test_bridges_and_plugins_are_shown_with_their_errors(stage: Stage, prloom: Prloom) -> None:
    def down() -> None:
        raise OSError("the source is down")

    stage.adopt()
    stage.plugin("quiet-period", deferring)
    stage.bridge.fail = down
    await stage.tick()

    text = prloom("status").out

    assert re.search(r"\n\nBridges\n  forge  asked .* ago  OSError: the source is down\n", text)
    assert "\n\nPlugins\n  quiet-period  test  beforeTriage\n" in text


async def test_a_parked_event_is_shown_with_its_reason_and_what_to_do(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.plugin("quiet-period", deferring)
    stage.append(said("e", "wait"))
    await stage.tick()
    stage.clock.advance(days=8)
    await stage.tick()

    text = prloom("status").out

    assert "  parked   e  quiet-period waited until the deadline" in text
    assert "see why: `prloom why e`, try again: `prloom retry e`" in text


def test_a_repository_without_plans_says_how_to_get_one(prloom: Prloom) -> None:
    assert prloom("status").out == (
        "Dispatcher not running; `prloom start` runs it.\n"
        "No plans yet; adopt one with `prloom adopt --branch BRANCH`.\n"
    )


def test_a_plan_where_nothing_waits_says_so(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()

    assert prloom("status").out == (
        "Dispatcher not running; `prloom start` runs it.\n1 plan: nothing waits.\n\npr-7  #7  active\n  nothing waits\n"
    )


def test_a_running_dispatcher_is_shown_with_its_process(stage: Stage, prloom: Prloom) -> None:
    with Folder.make(stage.root, "prloom", ".local") as local, DispatcherLock(local):
        assert f"Dispatcher running, process {os.getpid()}, last tick " in prloom("status").out


@pytest.mark.parametrize("named", ["pr-7", "7", "#7"])
def test_one_plan_can_be_shown_alone(stage: Stage, prloom: Prloom, named: str) -> None:
    stage.adopt()
    stage.adopt("other", pr=8)

    document = json.loads(prloom("status", named, "--json").out)

    assert [plan["id"] for plan in document["plans"]] == ["pr-7"]
    assert document["totals"]["plans"] == 1


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("pr-77", "no plan pr-77; did you mean pr-7?"),
        ("zebra", "no plan zebra; there are other, pr-7"),
        ("9", "no plan 9; there are other, pr-7"),
        (EVIL, "no plan \\x1b]0;owned\\x07\\x1b[2J\\u202e[/red][bold] Dispatcher running; there are other, pr-7"),
    ],
)
def test_an_unknown_plan_is_one_line_with_the_nearest(stage: Stage, prloom: Prloom, named: str, told: str) -> None:
    stage.adopt()
    stage.adopt("other", pr=8)

    ran = prloom("status", named)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.replace("\nprloom: ", " ") == f"prloom: {told}\n"


def test_an_unknown_plan_where_there_are_none_says_how_to_get_one(prloom: Prloom) -> None:
    assert prloom("status", "x").err == (
        "prloom: no plan x: there are no plans yet; adopt one with `prloom adopt --branch BRANCH`\n"
    )


async def test_json_is_one_document_on_stdout(stage: Stage, prloom: Prloom) -> None:
    await a_full_stage(stage)

    ran = prloom("status", "--json")

    assert json.loads(ran.out)["plans"][0]["events"]["deferred"][0]["id"] == "d 1"
    assert ran.err == ""


async def test_nothing_from_outside_reaches_the_terminal_as_it_is(stage: Stage, prloom: Prloom) -> None:
    def evil(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def look(plan: str, triage: TriageContext) -> None:
            triage.mark_event_deferred(triage.events[0].id, EVIL, 10**9)

    on_branch(stage.adopt(title=f"title {EVIL}"), EVIL)
    stage.plugin("evil", evil)
    stage.append(said(f"d; rm -rf ~ {EVIL}", type=EVIL), said(f"h{EVIL}", author=Author(EVIL, "none")))
    await stage.tick()

    text = prloom("status").out

    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "[/red][bold]" in text
    assert [line for line in text.splitlines() if line.startswith("Dispatcher")] == [text.splitlines()[0]]
    assert "'h\\x1b]0;owned\\x07\\x1b[2J\\u202e[/red][bold] Dispatcher running'`" in text


async def test_an_id_in_a_command_to_copy_is_one_word(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("x; rm -rf ~", author=Author("eve", "none")))
    await stage.tick()

    assert "`prloom approve 'x; rm -rf ~'`" in prloom("status").out


def test_a_watch_in_a_pipe_prints_once_for_each_change_and_ends_with_ctrl_c(stage: Stage) -> None:
    stage.adopt()
    command = [sys.executable, "-m", "prloom", "-C", str(stage.root), "status", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        first = [watch.stdout.readline() for _ in range(6)]
        stage.append(said("e"))
        second = [watch.stdout.readline() for _ in range(6)]
        watch.send_signal(signal.SIGINT)

        assert watch.stdout.read() == ""
        assert watch.stderr.read() == "prloom: interrupted\n"
        assert watch.wait() == 130
    assert first[1] == "1 plan: nothing waits.\n"
    assert second[1] == "1 plan: 1 pending.\n"


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_a_watch_on_a_terminal_draws_in_place_what_fits(stage: Stage, no_colour: str) -> None:
    for number in range(30):
        stage.adopt(f"plan-{number}", pr=number)
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 80, 0, 0))
    command = [sys.executable, "-m", "prloom", "-C", str(stage.root), "status", "--watch"]
    told = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}  # the size is the pty's
    environ = {**told, "TERM": "xterm", "NO_COLOR": no_colour}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as watch:
        os.close(theirs)
        shown = b""
        while shown.count(b"30 plans: nothing waits.") < 2:
            shown += os.read(ours, 65536)
        watch.send_signal(signal.SIGINT)
        assert watch.wait() == 130
    os.close(ours)

    first, _, second = shown.decode().partition("\x1b[9F\x1b[J")
    assert first.startswith("\x1b[JDispatcher ")
    assert len(first.splitlines()) == 9
    assert first.splitlines()[-1] == "…"
    assert second.startswith("Dispatcher ")


def test_a_watch_and_one_document_exclude_each_other(prloom: Prloom) -> None:
    ran = prloom("status", "--watch", "--json")

    assert ran.code == 2
    assert ran.err.startswith("prloom: --json is one document and --watch has no end; leave out one of the two.")


HEAVY = {
    *("asyncio", "pydantic", "rich", "psutil", "git", "httpx", "jinja2", "filelock", "platformdirs", "yaml", "tomlkit"),
    *("hashlib", "json", "subprocess", "importlib.metadata", "dataclasses", "difflib", "tempfile", "shutil"),
}


def test_it_imports_nothing_that_it_does_not_use(stage: Stage) -> None:
    stage.adopt()
    (stage.local() / "plan.md").write_text("## TODO\n- [ ] one\n")
    (stage.root / "prloom.toml").write_text('base_branch = "main"\n')
    program = (
        "import sys; from prloom.cli import main; main.run(main.cli, ['status']);"
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=stage.root)

    assert done.stderr == "[]\n"


# What a terminal has room for.


@pytest.mark.parametrize("columns", [40, 59, 60, 80])
@pytest.mark.parametrize("command", ["status", "why github:issue_comment:2101", "plugins list", "bridges list"])
async def test_no_line_is_wider_than_the_terminal(
    stage: Stage, on_terminal: Callable[..., list[str]], columns: int, command: str
) -> None:
    def down() -> None:
        raise OSError("the source is down, and will be for as long as nobody has found out why")

    on_branch(
        stage.adopt(title="Cache what is read from the disk, and forget it after a while"), "a-branch-with-a-name"
    )
    stage.plugin("quiet-period", deferring)
    stage.bridge.refuse = lambda action: Refused("the thread is locked, and nobody but its owner can unlock it")
    author = Author("a-stranger-with-a-name", "none")
    stage.append(said("d", "wait " * 30), said("github:issue_comment:2101", "word " * 30, author=author), said("t"))
    await stage.tick()
    stage.bridge.fail = down
    await stage.tick()

    lines = on_terminal(columns, *command.split())

    assert len(lines) > 1
    assert max(map(len, lines)) <= columns
