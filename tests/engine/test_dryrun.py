"""A dry run tells what would be decided, and writes and sends nothing."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from project import Project
from stage import Stage, said

from prloom.api import Author
from prloom.engine import dryrun
from prloom.model.record import Timestamp
from prloom.model.run import RunRecord
from prloom.storage import run_log

DEFERS = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def wait(plan, triage):
        for event in triage.events:
            triage.set_global_state("seen", event.id)
            if "later" in event.body:
                triage.mark_event_deferred(event.id, "not today", 3_600_000)
            if "thanks" in event.body:
                triage.emit_comment(event.reply_to, "You are welcome.")
                triage.mark_event_handled(event.id)
"""
BRIDGE = """
from prloom.api import Delivered, Event, Polled, Target

class Tool:
    name = "tool"
    targets = ("tool",)

    def __init__(self, log):
        self.log = log

    async def events(self, ctx, state):
        return Polled((Event(id="polled", source="tool", type="note", body="why?", pr=7),), "seen")

    async def actions(self, ctx, action):
        open(self.log, "a").write("sent")
        return Delivered()

    async def permission(self, ctx, login):
        return "write"

def create(config):
    return Tool(config["log"])
"""


@pytest.fixture
def configured(stage: Stage, tmp_path: Path) -> Stage:
    """Return a stage with a plugin and a bridge of its own, found as an operator's are."""
    plugins = stage.root / "prloom/plugins"
    plugins.mkdir(parents=True)
    (plugins / "later.py").write_text(DEFERS)
    (stage.root / "tool.py").write_text(BRIDGE)
    stage.configure(
        '[plugins]\nenabled = ["later"]\nisolation = "inline"\n'
        'disabled = ["memory", "quiet_period", "wait_for_checks"]\n'
        f"[bridges.github]\nenabled = false\n"
        f'[bridges.tool]\nmodule = "./tool.py"\nlog = {json.dumps(str(tmp_path / "sent"))}\n'
        f'[stages]\ndefault = "command"\n[agents.command]\nargv = [{json.dumps(sys.executable)}, "no-such-agent.py"]\n'
    )
    return stage


def bytes_of(root: Path) -> Mapping[str, object]:
    """Return what stands in every file below a folder, and when it was last changed."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            found[str(path.relative_to(root))] = (content, path.lstat().st_mtime_ns, path.lstat().st_mode)
    return found


async def test_it_tells_what_each_event_would_come_to_and_what_would_be_sent(configured: Stage):
    configured.adopt(forge="tool")
    configured.append(said("wait", "later please"), said("thank", "thanks", reply_to=None))

    lines = await dryrun.decisions(configured.root, configured.config, clock=configured.clock)

    told = "\n".join(lines)
    assert "pr-7: wait deferred by later, deferred: not today" in told
    assert "pr-7: thank handled by later, handled" in told
    assert "pr-7: would send Comment to tool: You are welcome." in told
    assert "pr-7: polled would be triaged by command" in told.splitlines()


async def test_it_writes_and_sends_nothing(configured: Stage, tmp_path: Path):
    configured.adopt(forge="tool")
    configured.append(said("wait", "later please"), said("thank", "thanks"))
    (configured.local() / "runs/old").mkdir(parents=True)
    before = bytes_of(configured.root)

    await dryrun.decisions(configured.root, configured.config, clock=configured.clock)

    assert {path: about for path, about in bytes_of(configured.root).items() if "__pycache__" not in path} == before
    assert not (tmp_path / "sent").exists()


async def test_it_may_be_asked_for_while_a_dispatcher_is_at_work(configured: Stage):
    configured.adopt(forge="tool")
    configured.bridge.news = [said("a", "held", author=Author("eve", "none"))]
    async with configured.running():
        await configured.until(lambda: "a" in configured.open())

        lines = await dryrun.decisions(configured.root, configured.config, clock=configured.clock)

    assert not [line for line in lines if "pr-7: a " in line]
    assert [line for line in lines if "pr-7: polled" in line]


async def test_authors_are_looked_up_as_they_would_be(configured: Stage):
    configured.adopt(forge="tool")
    configured.append(said("a", author=Author("bob"), source="tool"))

    lines = await dryrun.decisions(configured.root, configured.config, clock=configured.clock)

    assert "pr-7: a admitted by prloom, pending: bob has write permission" in lines


async def test_a_run_of_the_dispatcher_is_left_alone(configured: Stage):
    configured.adopt(forge="tool")
    configured.triager.before = lambda: configured.until(lambda: False)
    configured.append(said("a"))
    async with configured.running():
        await configured.until(lambda: configured.open().get("a", {}).get("run") == "run-1")

    lines = await dryrun.decisions(configured.root, configured.config, clock=configured.clock)

    assert "pr-7: a is in run run-1" in lines


async def test_a_plan_that_would_not_be_worked_on_is_named_with_the_reason(project: Project, git_stage: Stage):
    git_stage.configure('[plugins]\nisolation = "inline"\n[bridges.github]\nenabled = false\n')
    project.adopt(git_stage)
    project.bring_prlooms_files()

    lines = await dryrun.decisions(project.root, git_stage.config, clock=git_stage.clock)

    assert lines[0].startswith("work: prloom would not work on it: commit ")


async def test_odd_things_among_the_files_stop_nothing(configured: Stage):
    local = configured.adopt(forge="tool")
    os.mkfifo(local / "pipe")
    (local / "link").symlink_to("/etc/passwd")
    (local / ".events.jsonl.0123456789ab.tmp").write_text("half")
    configured.append(said("wait", "later please"))

    lines = await dryrun.decisions(configured.root, configured.config, clock=configured.clock)

    assert "pr-7: wait deferred by later, deferred: not today" in lines


async def test_a_dry_run_tells_what_would_become_of_drafts_and_makes_no_branch(
    project: Project, git_stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    git_stage.configure('[plugins]\nisolation = "inline"\n')
    inbox = project.root / "prloom/.local/inbox"
    inbox.mkdir(parents=True)
    (inbox / "fast.md").write_text("---\nstatus: queued\nbase: next\n---\n# Fast\n")
    (inbox / "later.md").write_text("# Later\n")
    (inbox / "wrong.md").write_text("---\nstatus: queued\nbranch: main\n---\n# Wrong\n")
    within = project.root / "tmp"  # temporary folders may be in the repository itself
    within.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(within))
    before = project.git("for-each-ref")

    lines = await dryrun.decisions(project.root, git_stage.config, environ={}, clock=git_stage.clock)

    assert "fast: prloom would make branch fast from next, a worktree and a plan of the draft" in lines
    assert "later: the draft is not queued" in lines
    assert any(line.startswith("wrong: prloom would make no plan of the draft: branch main is also") for line in lines)
    assert project.git("for-each-ref") == before


async def test_a_daily_limit_that_keeps_a_todo_from_being_worked_on_is_told(configured: Stage):
    plan = configured.adopt(forge="tool") / "plan.md"
    plan.write_text("# Plan\n\n## TODO\n- [ ] Make it fast\n")
    now = configured.clock()
    ran = RunRecord(
        id="run", plan="other", stage="worker", agent="claude", status="ok", started_at=Timestamp.of(now), seconds=1.0
    )
    run_log.append(configured.root, ran, now)
    limits = configured.config.limits.model_copy(update={"max_runs_per_day": 1})
    config = configured.config.model_copy(update={"limits": limits})

    lines = await dryrun.decisions(configured.root, config, clock=configured.clock)

    (told,) = [line for line in lines if "work on the TODO" in line]
    assert told.endswith(
        "work on the TODO Make it fast, but the brake max_runs_per_day = 1 is on: 1 runs today; "
        "`prloom resume pr-7` lifts it"
    )
