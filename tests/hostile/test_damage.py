"""Every flipped byte and every cut of the files that prloom keeps: noticed, or without consequences.

All of them are tried where PRLOOM_ALL_DAMAGE is set; else a sample, another one each time that the files change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from stage import Stage, said

from prloom.api import Author, PluginContext, Refused, TriageContext, marked
from prloom.engine.bus import entries
from prloom.engine.views import doctor, events, snapshot, status, why
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.kinds import DONE
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

ALL = os.environ.get("PRLOOM_ALL_DAMAGE", "0") not in {"", "0"}
LOOKED_AT, PLAYED = 83, 421
"""One in so many cases is looked at by every command, and played by the dispatcher."""

KEPT = (
    "events.jsonl",
    "decisions.jsonl",
    "actions.jsonl",
    "dispatcher.json",
    "bridge.forge.json",
    "bridge.forge.actions.json",
    "counter.json",
    "control.jsonl",
    "state.json",
)


def counting(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def sort(plan: str, triage: TriageContext) -> str:
        for event in triage.events:
            triage.update_state("seen", lambda seen: (seen or 0) + 1)
            triage.update_global_state("seen", lambda seen: (seen or 0) + 1)
            if event.body == "note":
                triage.emit_comment(event.reply_to, "Noted.")
                triage.mark_event_handled(event.id)
            elif event.body == "later":
                triage.mark_event_deferred(event.id, "not yet", 3_600_000)
        return plan


async def tell(root: Path) -> Stage:
    """Play events into every state that there is, and leave some of each kind waiting."""
    stage = Stage(root)
    stage.plugin("counter", counting)
    stage.adopt()
    stage.triager.answer = lambda batch: {
        "items": [{"eventId": e.id, "verdict": "todo", "reply": f"re {e.id}"} for e in batch if e.body != "hm"],
        "todos": [{"title": f"Do {e.id}", "context": "", "eventIds": [e.id]} for e in batch if e.body != "hm"],
    }
    stage.bridge.refuse = lambda action: Refused("locked") if action.related_event_id == "noted" else None
    stage.bridge.news = [
        said("noted", "note"),
        said("waits", "later"),
        said("asked", "please"),
        said("stranger", "buy", author=Author("eve", "none")),
        said("unclear", "hm"),
    ]
    await stage.tick()
    stage.append(said("fresh", "please"))
    stage.ask("retry", "waits")
    return stage


class Case(NamedTuple):
    file: Path
    at: int
    content: bytes

    def __str__(self) -> str:
        return f"{self.file.name} at {self.at}, {len(self.content)} bytes"


def files(root: Path) -> dict[Path, bytes]:
    kept = [
        path for path in (root / "prloom").rglob("*") if path.is_file() and path.suffix in {".json", ".jsonl", ".md"}
    ]
    return {path: path.read_bytes() for path in sorted(kept)}


def cases(sound: dict[Path, bytes], every: int) -> Iterator[Case]:
    """Yield each file with each byte flipped in one of eight ways, and cut at each length."""
    number = 0
    for file, content in sound.items():
        if file.name in KEPT:
            for at in range(len(content)):
                flipped = content[:at] + bytes([content[at] ^ (1 << (at * 7 % 8))]) + content[at + 1 :]
                for damaged in (flipped, content[:at]):
                    number += 1
                    if ALL or number % every == 0:
                        yield Case(file, at, damaged)


def restore(root: Path, sound: dict[Path, bytes]) -> None:
    for path in (root / "prloom").rglob("*"):
        if path.is_file() and path not in sound:
            path.unlink()
    for path, content in sound.items():
        if path.read_bytes() != content if path.exists() else True:
            path.write_bytes(content)


async def test_every_kept_file_is_among_those_that_are_damaged(tmp_path: Path):
    await tell(tmp_path)

    assert {path.name for path in files(tmp_path)} >= set(KEPT)


async def test_no_damage_makes_a_command_stumble(tmp_path: Path):
    stage = await tell(tmp_path)
    sound = files(tmp_path)
    tried = 0

    for case in cases(sound, LOOKED_AT):
        case.file.write_bytes(case.content)
        try:
            for look in (
                lambda: status.read(stage.paths, stage.clock()),
                lambda: events.every(stage.paths),
                lambda: list(doctor.findings(stage.paths, stage.clock())),
                lambda: why.find(stage.paths, "noted"),
            ):
                with suppress(PrloomError):
                    look()
        except Exception as error:
            raise AssertionError(str(case)) from error
        assert case.file.read_bytes() == case.content, f"a command that looks has written: {case}"
        case.file.write_bytes(sound[case.file])
        tried += 1

    assert tried > 200


async def test_damage_is_noticed_or_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    stage = await tell(tmp_path)
    sound = files(tmp_path)
    posts = list(stage.bridge.posts)
    waiting = {event.id for each in snapshot.every(stage.paths) for event in each.bus.state.open.values()} | {"fresh"}
    assert waiting == {"waits", "stranger", "unclear", "fresh"}
    tried = 0

    for case in cases(sound, PLAYED):
        restore(tmp_path, sound)
        case.file.write_bytes(case.content)
        stage.bridge.posts[:] = posts
        caplog.clear()
        await stage.tick()
        await stage.tick()
        problem = "; ".join(wrong(stage, waiting, case, caplog))
        assert not problem, f"{case}: {problem}: {case.content[max(0, case.at - 30) : case.at + 30]!r}"
        tried += 1

    assert tried > 20


def wrong(stage: Stage, waiting: set[str], case: Case, caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    if "a bug in prloom" in caplog.text or "Traceback" in caplog.text:
        yield caplog.text
    told = caplog.text + json.dumps(record.to_wire(status.read(stage.paths, stage.clock())))
    told += str(list(doctor.findings(stage.paths, stage.clock())))
    noticed = any(
        word in told for word in ("cannot be read", "cannot be used", "cut or replaced", "belongs to plan", "line ")
    )
    found = [each for each in snapshot.every(stage.paths) if each.plan.id == "pr-7"]
    if not found or found[0].error is not None:
        if not noticed and found:
            yield "the plan is left alone, and nobody is told"
        return
    with SafeDir.make(stage.local(), "bus") as bus:
        told_of = {
            change.event_id
            for said_so in entries.logged_decisions(JournalReader(bus, "decisions.jsonl").scan())
            for change in said_so.decision.changes
            if change.state in DONE
        }
    lost = waiting - set(stage.open()) - told_of
    if case.file.name == "events.jsonl" and lost == {"fresh"}:
        # Its line is the damaged one. It has another id now, or all of it was cut off before anybody had read it.
        cut_off = case.content.endswith(b"\n") and len(case.content) == case.at
        renamed = (set(stage.open()) | told_of) - waiting - {"noted", "asked"}
        lost = set() if noticed or cut_off or renamed else lost
    if lost:
        yield f"lost: {lost}"
    actions = [action for post in stage.bridge.posts for action in marked(post)]
    if len(actions) != len(set(actions)):
        yield f"posted twice: {actions}"
