from __future__ import annotations

import asyncio
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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import command_server
import pytest
import terminal_output
from command_line import Prloom, Refusal
from command_server import ForkedProcess
from operator_scene import OperatorScene
from stage import Stage, said
from stage_parts import deferring
from worked_plan import WorkedPlan

from prloom.api import Author, PluginContext, Refused
from prloom.cli import config_check
from prloom.cli.context import Options
from prloom.engine.bus.event_store import EventStore
from prloom.model import record
from prloom.model.record import Timestamp
from prloom.model.run import RunRecord
from prloom.storage import run_log
from prloom.storage.safe_dir import SafeDir

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red][bold]\nDispatcher running"
AGENT = '[stages]\ndefault = "command"\n[agents.command]\nargv = ["true"]\n[plugins]\nisolation = "inline"\n'
LETTERBOX = """
from prloom.api import Polled

class Letterbox:
    name = "ci"
    targets = ("ci",)

    async def events(self, ctx, state):
        return Polled()

    async def actions(self, ctx, action): ...

def create(config):
    return Letterbox()
"""
TALKING = deferring(10**9, "people are still talking", saying="wait")


def on_branch(local: Path, branch: str) -> None:
    state = json.loads((local / "state.json").read_text())
    (local / "state.json").write_text(json.dumps({**state, "branch": branch}))


async def a_full_stage(stage: Stage) -> None:
    on_branch(stage.adopt(title="Cache it"), "cache")
    stage.plugin("quiet-period", TALKING)
    stage.bridge.refuse = lambda action: Refused("the thread is locked")
    stage.bridge.news = [said("d 1", "wait"), said("h", author=Author("mallory", "none")), said("t")]
    await stage.tick()


async def test_it_says_what_waits_for_whom_why_how_long_and_what_to_do(stage: Stage, prloom: Prloom) -> None:
    await a_full_stage(stage)

    ran = prloom("status", "--all")

    assert ran.code == 0
    text = re.sub(r"\n {10,}`", "\n    `", re.sub(r"\d+ d\b(?: \d+ h\b)?", "N d", ran.out))
    text = re.sub(r"last tick \d+ s", "last tick N s", text)
    (action,) = stage.state()["queue"]
    assert (
        text.partition("\n\nBridges")[0]
        == f"""\
dispatcher not running, last tick N s ago; `prloom start` runs it · forge: last success N d ago
1 plan: 1 deferred (the oldest for N d), 1 held, 1 action failed.

Needs you (3, oldest first)
  N d  pr-7  held     1 comment by mallory (has no permission here; at least write is required)
    `prloom approve h`
  N d  pr-7  failed   1 action failed: the thread is locked
    `prloom retry {action}`
  N d        stalled  no dispatcher is running, and this waits for one: 1 event
    `prloom start`

Waiting (1; the oldest for N d; next now)
  pr-7  deferred  for N d  due now  people are still talking: pr_comment d 1, by quiet-period

pr-7  Cache it  #7  cache  review
  1 deferred (the oldest for N d), 1 held, 1 action failed; 1 triaged
  deferred d 1  pr_comment, by quiet-period: people are still talking
           due N d ago; attempts so far: 1; waiting for N d, until 2026-01-08 12:00:00 at the latest
  worktree {stage.paths.worktree("pr-7")}"""
    )


async def test_bridges_and_plugins_are_shown_with_their_errors(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    def down() -> None:
        raise OSError("the source is down")

    stage.plugin("quiet-period", TALKING)
    stage.bridge.fail = down
    await stage.tick()

    text = prloom("status", "--all").out

    assert re.search(r"\n\nBridges\n  forge  last tried .* ago, no success yet; OSError: the source is down\n", text)
    assert "\n\nPlugins\n  quiet-period  test  beforeTriage\n" in text


async def test_a_bridge_that_failed_says_when_it_was_asked_and_when_that_worked(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    await stage.tick()
    asked, worked = (record.iso(datetime.now(UTC) - timedelta(seconds=seconds)) for seconds in (60, 3600))
    bridge = {"name": "forge", "lastPollAt": asked, "lastOkAt": worked, "error": "the source is down"}
    (stage.root / "prloom/.local/bus/state/bridges.json").write_text(json.dumps({"bridges": [bridge]}))

    assert re.search(
        r"forge  last asked 1 min( \d+ s)? ago, last success 1 h( \d+ s)? ago; the source is down",
        prloom("status", "--all").out,
    )


def test_a_bridge_that_cannot_be_loaded_any_more_says_when_it_last_worked(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    (stage.root / "ci.py").write_text(LETTERBOX)
    (stage.root / "prloom.toml").write_text(f'{AGENT}[bridges.ci]\nmodule = "./ci.py"\n')
    prloom("start", "--once")
    (stage.root / "ci.py").unlink()

    assert prloom("start", "--once").code == 1

    text = prloom("status", "--all").out
    assert re.search(r"\n  ci +not loaded, last success (now|.* ago); \(\./ci\.py\): there is no ", text)
    assert re.search(r"\bci: fails, last success ", text)
    assert re.search(r"bridge +bridge ci \(\./ci\.py\): there is no ", text)
    assert re.search(r"failed .* last asked (now|.* ago)", prloom("bridges", "list").out)


async def test_a_bridge_that_had_nothing_to_ask_for_was_not_asked(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    stage.bridge.idle = "no plan has a pull request"
    await stage.tick()

    assert "\n  forge  not asked: no plan has a pull request\n" in prloom("status", "--all").out
    assert json.loads(prloom("status", "--json").out)["bridges"][0]["idle"] == "no plan has a pull request"


async def test_what_is_wrong_with_a_source_is_shown_and_bounded(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    stage.bridge.warnings = ["line 3 is ignored", "x" * 100_000, *map(str, range(100))]
    await stage.tick()

    shown = json.loads(prloom("status", "--json").out)["bridges"][0]["warnings"]

    assert re.search(r"\n  warning +line 3 is ignored\n", prloom("status", "--all").out)
    assert (len(shown), max(map(len, shown))) == (20, 500)


async def test_all_that_a_plugin_registers_is_shown(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    def greeting(ctx: PluginContext) -> None:
        @ctx.command("greet", help="Say hello.")
        def greet(event: Any, ctx: Any) -> None: ...

    stage.plugin("greeter", greeting)
    stage.plugin("nothing", lambda ctx: None)
    await stage.tick()

    text = prloom("status", "--all").out

    assert "  greeter  test  /greet\n" in text
    assert "  nothing  test  no hooks, commands, tools or skills\n" in text


def test_a_repository_without_plans_says_how_to_get_one(prloom: Prloom) -> None:
    assert prloom("status", "--all").out == (
        "dispatcher not running; `prloom start` runs it\nNo plans yet; `prloom new` or `prloom adopt` makes one.\n"
    )


def test_a_plan_where_nothing_waits_says_so(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    assert prloom("status", "--all").out == (
        "dispatcher not running; `prloom start` runs it\n1 plan: nothing waits.\n\npr-7  #7  review\n  nothing waits\n"
        f"  worktree {stage.paths.worktree('pr-7')}\n"
    )


def test_a_requested_rebase_is_shown(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    store = EventStore.open(SafeDir.make(stage.local()).make_sub("bus"), stage.clock, ())
    store.commit("triage", "claude", rebase_requested=True)
    store.close("the test goes on")

    assert "\n  nothing waits; a rebase is requested\n" in prloom("status", "--all").out


def test_one_plan_can_be_shown_alone(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    stage.adopt("other", pr=8)

    document = json.loads(prloom("status", "#7", "--json").out)

    assert [plan["id"] for plan in document["plans"]] == ["pr-7"]
    assert document["totals"]["plans"] == 1


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("pr-77", "no plan pr-77; did you mean pr-7?"),
        (EVIL, "no plan \\x1b]0;owned\\x07\\x1b[2J\\u202e[/red][bold]\\nDispatcher running; the plans are other, pr-7"),
    ],
)
def test_an_unknown_plan_is_one_line_with_the_nearest(stage: Stage, refused: Refusal, named: str, told: str) -> None:
    stage.adopt()
    stage.adopt("other", pr=8)

    assert refused("status", named).replace("\nprloom: ", " ") == f"prloom: {told}\n"


def test_an_unknown_plan_where_there_are_none_says_how_to_get_one(prloom: Prloom) -> None:
    assert prloom("status", "x").err == (
        "prloom: no plan x: there are no plans yet; `prloom new` or `prloom adopt` makes one\n"
    )


async def test_nothing_from_outside_reaches_the_terminal_as_it_is(stage: Stage, prloom: Prloom) -> None:
    on_branch(stage.adopt(title=f"title {EVIL}"), EVIL)
    stage.plugin("evil", deferring(10**9, EVIL))
    await stage.take_in(said(f"d; rm -rf ~ {EVIL}", type=EVIL), said(f"h{EVIL}", author=Author(EVIL, "none")))

    text = prloom("status", "--all").out

    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "[/red][bold]" in text
    assert [line for line in text.splitlines() if line.lower().startswith("dispatcher")] == [text.splitlines()[0]]
    assert r"$'h\x1b]0;owned\x07\x1b[2J\xe2\x80\xae[/red][bold]\x0aDispatcher running'`" in text


async def test_everything_about_all_plans_is_what_there_is_about_each(stage: Stage, prloom: Prloom) -> None:
    WorkedPlan(stage, "Make it fast", "Make it small").done("t-1")
    now = datetime.now(UTC)
    run = {"plan": "pr-7", "stage": "worker", "agent": "claude", "status": "ok", "seconds": 60}
    for number in range(7):
        begun = Timestamp.of(now - timedelta(hours=1, minutes=-number))
        found = {**run, "id": f"{begun:%Y%m%dT%H%M%S}000Z-worker-0000000{number}", "started_at": begun}
        run_log.append(stage.root, RunRecord(**found), now)
    queued = now - timedelta(minutes=30)
    OperatorScene(stage.root, now).run("pr-7", f"{queued:%Y%m%dT%H%M%S}000Z-worker-00000009")
    stage.adopt("other", pr=2)

    every, one = (
        re.sub(r"queued after \d+ s", "queued after 1800 s", prloom("status", *given).out)  # a second may lie between
        for given in (["--all"], ["pr-7"])
    )

    about = one.partition("\n\npr-7  ")[2].rstrip()
    assert "TODOs (2)" in about
    assert about.partition("Latest runs\n")[2].count(": worker by ") == 5
    assert "00000009: worker by ; queued after 1800 s" in about
    assert f"\n\npr-7  {about}\n" in every


def test_a_watch_in_a_pipe_prints_once_for_each_change_and_ends_with_ctrl_c(stage: Stage, pr_7: Path) -> None:
    command = [sys.executable, "-m", "prloom", "-C", str(stage.root), "status", "--all", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        first = [watch.stdout.readline() for _ in range(7)]
        stage.append(said("e"))
        second = [watch.stdout.readline() for _ in range(11)]
        watch.send_signal(signal.SIGINT)

        assert watch.stdout.read() == ""
        assert watch.stderr.read() == "prloom: stopped by Ctrl-C; nothing more was done\n"
        assert watch.wait() == 130
    assert first[1] == "1 plan: nothing waits.\n"
    assert second[1] == "1 plan: 1 pending.\n"


def watching(stage: Stage, terminal: int, options: list[str], no_colour: str = "1") -> ForkedProcess:
    """Begin a watch on a terminal, whose size is the terminal's own."""
    given = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}
    environ = {**given, "TERM": "xterm", "NO_COLOR": no_colour}
    argv = ["status", "--watch", *options]
    return command_server.begin_on_terminal(argv, cwd=stage.root, env=environ, terminal=terminal)


def test_a_watch_on_a_terminal_ends_silently_with_q(stage: Stage, pr_7: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 80, 0, 0))
    watch = watching(stage, theirs, [])
    drawn = b""
    while b"pr-7" not in drawn:
        drawn += os.read(ours, 65536)
    os.write(ours, b"q")

    assert b"prloom: " not in terminal_output.read_all(ours)
    assert watch.wait(command_server.LIMIT) == 0


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_a_watch_on_a_terminal_draws_in_place_what_fits(stage: Stage, no_colour: str) -> None:
    for number in range(30):
        stage.adopt(f"plan-{number}", pr=number)
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 300, 0, 0))
    watch = watching(stage, theirs, ["--all"], no_colour)
    shown = b""
    while shown.count(b"30 plans: nothing waits.") < 2:
        shown += os.read(ours, 65536)
    watch.send_signal(signal.SIGINT)
    shown += terminal_output.read_all(ours)
    assert watch.wait(command_server.LIMIT) == 130

    first, _, second = shown.decode().partition("\x1b[9F\x1b[J")
    assert first.startswith("\x1b[Jdispatcher ")
    assert len(first.splitlines()) == 9
    assert "… 114 more; arrow keys scroll, q ends" in first.splitlines()[-1]
    assert second.startswith("dispatcher ")


def watched(stage: Stage, rows: int, columns: int) -> list[str]:
    """Return the lines that a watch draws first on a terminal of this size, with the last one about those below."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    watch = watching(stage, theirs, ["--all"])
    shown = b""
    while b"\n" not in shown.partition(b" more; ")[2]:
        shown += os.read(ours, 65536)
    watch.send_signal(signal.SIGINT)
    shown += terminal_output.read_all(ours)
    assert watch.wait(command_server.LIMIT) == 130
    lines = shown.decode().partition("\x1b[J")[2].split("\r\n")
    return lines[: next(number for number, line in enumerate(lines) if " more; " in line) + 1]


def test_a_watch_on_a_narrow_terminal_draws_no_more_rows_than_it_has(stage: Stage) -> None:
    for number in range(30):
        stage.adopt(f"a-plan-with-a-long-name-of-its-own-{number}", pr=number)

    drawn = watched(stage, 12, 40)

    assert drawn[-1].startswith("… ")
    assert drawn[-1].endswith(" more; arrow keys scroll, q ends")
    assert sum(max(1, -(-len(line) // 40)) for line in drawn) <= 11


def test_a_watch_on_a_terminal_with_hardly_a_row_draws_one_line(stage: Stage, pr_7: Path) -> None:
    first, last = watched(stage, 2, 60)

    assert first.startswith("dispatcher ")
    assert last.startswith("… ")


def test_a_watch_and_one_document_exclude_each_other(refused: Refusal) -> None:
    assert refused("status", "--watch", "--json", code=2).startswith(
        "prloom: --json and --watch cannot be combined; use one of them."
    )


HEAVY = {
    *("asyncio", "pydantic", "rich", "psutil", "git", "httpx", "jinja2", "filelock", "platformdirs", "yaml", "tomlkit"),
    *("hashlib", "json", "subprocess", "importlib.metadata", "dataclasses", "difflib", "tempfile", "shutil"),
}


def test_it_imports_nothing_that_it_does_not_use(stage: Stage, pr_7: Path) -> None:
    (stage.local() / "plan.md").write_text("## TODO\n- [ ] one\n")
    (stage.root / "prloom.toml").write_text('base_branch = "main"\n')
    program = (
        "import sys; from prloom.cli import main; main.run(main.cli, ['status']);"
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=stage.root)

    assert done.stderr == "[]\n"


# What needs the operator.


def test_the_command_of_an_entry_whose_id_has_control_characters_does_what_it_says_when_it_is_pasted(
    stage: Stage, prloom: Prloom, pr_7: Path
) -> None:
    stage.append(said("it's \x1b[2Jodd\u202e\n", author=Author("eve", "none")))
    asyncio.run(stage.tick())
    (shown,) = re.findall(r"`prloom (approve .*)`", prloom("status").out)

    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {shown}"], capture_output=True, check=True).stdout
    ran = prloom(*words.decode().split("\0")[:-1])

    assert ran.code == 0
    assert [event["state"] for event in stage.open().values()] == ["pending"]


# The configuration.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[trust", "prloom.toml, at its end: "),
        ("base_brunch = 'main'\n", "prloom.toml: "),
        ("[trust]\nminimum = 'some'\n", "prloom.toml: trust.minimum is "),
        ("worktrees_dir = 7\n", "prloom.toml: worktrees_dir is 7"),
    ],
)
def test_a_configuration_that_is_wrong_is_told_once_with_its_remedy_and_hides_no_plan(
    stage: Stage, prloom: Prloom, text: str, told: str, pr_7: Path
) -> None:
    (stage.root / "prloom.toml").write_text(text)

    document = json.loads(prloom("status", "--json").out)
    error = document["configError"]
    assert error.startswith(told)
    assert [plan["id"] for plan in document["plans"]] == ["pr-7"]
    for option in ((), ("--all",)):
        ran = prloom("status", *option)
        assert (ran.code, ran.err) == (0, "")
        words = " ".join(ran.out.split())
        assert re.search(rf"Needs you \(1\) .*config configuration error: {re.escape(error)} `prloom doctor`", words)
        assert words.lower().count("configuration error") == 1
        assert "pr-7 #7 review" in words
    assert f"Configuration error: {error}" in prloom("status", "pr-7").out.splitlines()


def test_of_several_mistakes_in_the_configuration_the_first_is_shown(stage: Stage, prloom: Prloom) -> None:
    (stage.root / "prloom.toml").write_text("tick = 1\ntack = 2\ntock = 3\n")

    assert re.search(r"configuration error: .* \(2 more\)\s+`prloom doctor`", prloom("status", "--all").out)


@pytest.mark.parametrize("command", ["events", "why e"])
def test_other_state_commands_go_on_with_a_configuration_that_cannot_be_read(
    stage: Stage, prloom: Prloom, command: str, pr_7: Path
) -> None:
    stage.append(said("e"))
    (stage.root / "prloom.toml").write_text("[trust")

    ran = prloom(*command.split())

    assert ran.code == 0
    assert "pr_comment" in ran.out
    assert ran.err.startswith("prloom: prloom.toml, at its end: ")


def test_a_configuration_that_was_found_valid_is_not_checked_again(stage: Stage, pr_7: Path) -> None:
    (stage.root / "prloom.toml").write_text("[trust]\nminimum = 'triage'\n")
    config_check.remember_valid(Options(str(stage.root)))
    program = (
        "import sys; from prloom.cli import main; main.run(main.cli, ['status']);"
        "print('pydantic' in sys.modules, file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=stage.root)

    assert done.stderr == "False\n"


@pytest.mark.parametrize("command", ["status", "events"])
def test_no_state_command_imports_the_whole_configuration_after_init_or_a_check(tmp_path: Path, command: str) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    program = (
        "import sys; from prloom.cli import main; main.run(main.cli, sys.argv[1:]);"
        "print('pydantic' in sys.modules, file=sys.stderr)"
    )

    def imports_pydantic(*words: str) -> bool:
        argv = [sys.executable, "-c", program, *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stderr.endswith("True\n")

    imports_pydantic("init")
    assert not imports_pydantic(command)
    (tmp_path / "prloom.toml").write_text("[trust]\nminimum = 'triage'\n")
    imports_pydantic("status")  # which checks it once

    assert not imports_pydantic(command)


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
    stage.plugin("quiet-period", TALKING)
    stage.bridge.refuse = lambda action: Refused("the thread is locked, and nobody but its owner can unlock it")
    author = Author("a-stranger-with-a-name", "none")
    await stage.take_in(
        said("d", "wait " * 30), said("github:issue_comment:2101", "word " * 30, author=author), said("t")
    )
    stage.bridge.fail = down
    await stage.tick()

    lines = on_terminal(columns, *command.split())

    assert len(lines) > 1
    assert max(map(len, lines)) <= columns


def test_a_long_title_is_cut_in_every_list_also_in_a_pipe(stage: Stage, prloom: Prloom) -> None:
    long = "word " * 55
    local = stage.adopt("pr-7", title=long)
    (local / "plan.md").write_text(f"# {long}\n\n## TODO\n- [ ] {long}\n- [b] {long}\n")
    stage.append(said("e", long))

    for args in (["status"], ["status", "--all"], ["status", "pr-7"], ["events"], ["todo", "pr-7"], ["why", "pr-7"]):
        out = prloom(*args).out
        assert "word word" in out
        assert "word " * 20 not in out, args
