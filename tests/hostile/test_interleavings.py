"""Any interleaving of appends, ticks, marks, crashes and restarts keeps P1 and P2; no bytes crash a reader."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from faulty_disks import WatchedDisk, kill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from stage import Stage, said

from prloom.api import PluginContext, TriageContext, marked
from prloom.engine.bus.event_store import EventStore
from prloom.engine.views import doctor, events, status
from prloom.model.kinds import DONE
from prloom.storage.safe_dir import SafeDir

HANDLED, DEFERRED, TRIAGED = "!handle", "!defer", "please"


class KillingDisk(WatchedDisk):
    """Kills the process before its n-th change to a file."""

    def __init__(self, at: int) -> None:
        self.left = at

    def about_to(self, operation: str) -> None:
        self.left -= 1
        if self.left <= 0:
            kill(operation)


class Posted(list[str]):
    """What was posted, in a file that outlives whoever posts."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def append(self, post: str) -> None:
        super().append(post)
        with self._file.open("a") as file:
            file.write(json.dumps(post) + "\n")

    def look(self) -> None:
        if self._file.exists():
            self[:] = [json.loads(line) for line in self._file.read_text().splitlines()]


def counting(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def sort(plan: str, triage: TriageContext) -> str:
        for event in triage.events:
            triage.update_state(event.id, lambda times: (times or 0) + 1)
            triage.update_global_state(event.id, lambda times: (times or 0) + 1)
            if event.body == HANDLED or (event.body == DEFERRED and triage.deferral(event.id)):
                triage.emit_comment(event.reply_to, f"done {event.id}")
                triage.mark_event_handled(event.id)
            elif event.body == DEFERRED:
                triage.mark_event_deferred(event.id, "later", 60_000)
        return plan


class Life(RuleBasedStateMachine):
    """A plan whose dispatcher dies at any change to any file, and comes again."""

    @initialize()
    def begin(self) -> None:
        logging.getLogger("prloom").setLevel(logging.CRITICAL)
        self.root = Path(mkdtemp(prefix="prloom-test-"))
        self.stage = Stage(self.root)
        self.stage.plugin("counter", counting)
        self.posts = self.stage.bridge.posts = Posted(self.root / "posts")
        self.stage.adopt()
        self.bodies: dict[str, str] = {}

    @rule(body=st.sampled_from((HANDLED, DEFERRED, TRIAGED)), polled=st.booleans(), many=st.integers(1, 3))
    def something_is_said(self, body: str, polled: bool, many: int) -> None:  # noqa: FBT001 - hypothesis names it
        fresh = [said(f"e{len(self.bodies) + number}", body) for number in range(many)]
        self.bodies |= {event.id: body for event in fresh}
        if polled:
            self.stage.bridge.news += fresh
        else:
            self.stage.append(*fresh)

    @rule()
    def tick(self) -> None:
        asyncio.run(self.stage.tick())

    @rule(at=st.integers(1, 60))
    def die(self, at: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of a fork beside other threads
            child = os.fork()
        if child == 0:
            try:
                self.stage.disk = KillingDisk(at)
                asyncio.run(self.stage.tick())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        self.posts.look()

    @rule(minutes=st.integers(1, 5))
    def time_goes_by(self, minutes: int) -> None:
        self.stage.clock.advance(minutes=minutes)

    @rule()
    def the_projection_is_lost(self) -> None:
        (self.stage.local() / "bus/state/dispatcher.json").unlink(missing_ok=True)

    def teardown(self) -> None:
        if not hasattr(self, "root"):
            return
        for _ in range(4):
            self.stage.clock.advance(hours=2)
            asyncio.run(self.stage.tick())
        self._look()
        shutil.rmtree(self.root)

    def _look(self) -> None:
        done = Counter[str]()
        for decision in self.stage.decisions():
            done.update(change["eventId"] for change in decision.get("changes", []) if change["state"] in DONE)
        assert self.stage.open() == {}
        assert done == Counter(self.bodies.keys()), "P1: each event comes to one end"
        answered = Counter(action for post in self.stage.bridge.posts for action in marked(post))
        assert set(answered.values()) <= {1}, "P3: each reply once"
        assert len(answered) == len(self.bodies)
        shown = {event_id: 2 if body == DEFERRED else 1 for event_id, body in self.bodies.items()}
        for store in (
            self.stage.local() / "plugin-state/counter.json",
            self.root / "prloom/.local/plugin-state-global/counter.json",
        ):
            kept = json.loads(store.read_text()) if store.exists() else {}
            counted = {key: times for key, times in kept.items() if not key.startswith("$")}
            assert counted == shown, "P2: a hook's writes stand with its marks, or not at all"


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=int(os.environ.get("PRLOOM_INTERLEAVINGS", "12")),
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

BITS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"\n", b"{}", b"[]", b"null", b"\xff\xfe", b"\0",
            b'{"kind":"event","data":{"id":"x","source":"s","type":"t"}}',
            b'{"kind":"decision","data":{"seq":1,"stage":"x","by":"x","changes":[{"eventId":"x","verdict":"v"}]}}',
            b'{"kind":"decision","data":{"seq":-1,"stage":"","by":"","cursor":[9,9,9],"snapshot":{"state":{}}}}',
            b'{"kind":"decision","data":{"seq":1,"stage":"s","by":"b","snapshot":{}}}',
            b'{"kind":"action","data":{"id":"a","target":{"target":"t"},"payload":{"type":"comment","message":"m"}}}',
            b'{"ts":1e999,"kind":"event","data":{}}', b"[" * 3000, b'{"a":' * 3000,
        ]
    ),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(("bus/events.jsonl", "bus/decisions.jsonl", "bus/actions.jsonl", "control.jsonl")),
    content=st.lists(BITS, max_size=6).map(b"\n".join),
)
def test_any_bytes_in_a_journal_crash_no_reader(name: str, content: bytes):
    root = Path(mkdtemp(prefix="prloom-test-"))
    try:
        stage = Stage(root)
        local = stage.adopt()
        file = (root / "prloom/.local" if name == "control.jsonl" else local) / name
        file.write_bytes(content)
        status.read(stage.paths, stage.clock())
        events.every(stage.paths)
        list(doctor.findings(stage.paths, stage.clock()))
        asyncio.run(stage.tick())
        with SafeDir.make(local, "bus") as bus, suppress(Exception):
            EventStore.open(bus, stage.clock)
        status.read(stage.paths, stage.clock())
    finally:
        shutil.rmtree(root)
