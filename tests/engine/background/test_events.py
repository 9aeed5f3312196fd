"""The events that a daemon is sent, and what becomes of those that it cannot take."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from daemon_scene import Opener
from msgspec.structs import replace

from prloom.core.plugins.event_queue import CAPACITY
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.background.event_sender import EventSender
from prloom.extensions.background.client import DaemonClient
from prloom.model.activity import ActivityEvent
from prloom.storage.paths import RepositoryPaths


def an_event(number: int, kind: str = "TOOL_CALL_START") -> ActivityEvent:
    return ActivityEvent(
        id=f"r:{number}", seq=number, type=kind, plan_id="p", run_id="r", parent_id="r:0", timestamp=1, data={"n": 1}
    )


async def test_events_of_the_types_that_were_subscribed_to_arrive_in_order_as_the_contract_writes_them(scene: Opener):
    async with scene(events=("TOOL_CALL_START", "no_such_type")) as at:
        await at.until("running")
        for number in range(1, 301):
            at.publisher.publish(an_event(number))
        at.publisher.publish(an_event(301, "AGENT_END"))
        await at.noted_line('"r:300"')
        received = [json.loads(line) for line in at.noted() if "on_event" in line]

    assert [each["params"]["seq"] for each in received] == list(range(1, 301))
    assert received[0] == {
        "jsonrpc": "2.0",
        "method": "on_event",
        "params": {
            "event_type": "TOOL_CALL_START",
            "event_data": {"n": 1},
            "timestamp": 1,
            "id": "r:1",
            "seq": 1,
            "plan_id": "p",
            "run_id": "r",
            "parent_id": "r:0",
        },
    }


async def test_a_daemon_is_told_of_the_messages_of_other_plugins_and_not_of_its_own(scene: Opener):
    async with scene(events=("PLUGIN_MESSAGE_RECEIVED",)) as at:
        await at.until("running")
        for number, plugin in enumerate(("odd", "other", "odd", "last"), 1):
            at.publisher.publish(replace(an_event(number, "PLUGIN_MESSAGE_RECEIVED"), data={"pluginName": plugin}))
        await at.noted_line('"last"')
        received = [json.loads(line)["params"]["event_data"] for line in at.noted() if "on_event" in line]

    assert received == [{"pluginName": "other"}, {"pluginName": "last"}]


async def test_a_daemon_that_crashed_gets_its_events_again_after_a_restart_and_learns_how_many_it_missed(scene: Opener):
    """In an earlier system a crash lost the subscriptions."""
    async with scene(events=("TOOL_CALL_START",)) as at:
        await at.until("running")
        at.publisher.publish(an_event(1))
        await at.noted_line('"r:1"')
        await at.daemons.order("stop", "odd")
        at.publisher.publish(an_event(2))
        await at.daemons.order("start", "odd")
        at.publisher.publish(an_event(3))
        await at.noted_line('"r:3"')
        dropped = [json.loads(line)["params"] for line in at.noted() if "events_dropped" in line]

    assert dropped == [{"count": 1}]
    assert not any('"r:2"' in line for line in at.noted())
    assert (at.daemon.sender.delivered, at.daemon.sender.dropped) == (2, 1)


async def test_a_daemon_that_wants_one_connection_a_request_gets_events_too(scene: Opener):
    async with scene("one-request", events=("TOOL_CALL_START",)) as at:
        await at.until("running")
        at.publisher.publish(an_event(1))

        assert await at.noted_line('"r:1"')


class StuckClient(DaemonClient):
    """A daemon that does not read: what is sent to it waits until `gate` is open."""

    def __init__(self) -> None:
        super().__init__("odd", "/nowhere")
        self.sent: list[bytes] = []
        self.gate = asyncio.Event()
        self.all_sent = asyncio.Event()

    async def send(self, lines: Sequence[bytes]) -> None:
        await self.gate.wait()
        self.sent += lines
        if len(self.sent) > CAPACITY:
            self.all_sent.set()


async def test_a_daemon_that_does_not_read_holds_up_no_publisher_and_loses_the_oldest_events():
    client, sender = StuckClient(), EventSender(lambda: None)
    sender.open()
    sending = asyncio.create_task(sender.send_all(client))
    for number in range(CAPACITY + 10):
        sender.add(b"%d\n" % number)
    client.gate.set()
    await client.all_sent.wait()
    sending.cancel()

    assert sender.dropped == 10
    assert json.loads(client.sent[0])["params"] == {"count": 10}
    assert client.sent[1:] == [b"%d\n" % number for number in range(10, CAPACITY + 10)]


async def test_a_secret_reaches_no_daemon(scene: Opener, tmp_path):
    """In an earlier system events carried secrets."""
    (tmp_path / "prloom/.local").mkdir(parents=True)
    secret = "a-secret-of-the-operator-4711"
    async with scene(events=("TOOL_CALL_START",)) as at:
        log = ActivityLog(RepositoryPaths(tmp_path, tmp_path / "worktrees"), lambda: at.now, {"SERVICE_TOKEN": secret})
        log.publisher.subscribe(("TOOL_CALL_START",), at.publisher.publish)
        await at.until("running")
        log.record("TOOL_CALL_START", {"toolName": "x", "arguments": {"header": f"Bearer {secret}"}}, plan_id=None)
        line = await at.noted_line("on_event")

    assert secret not in line
    assert json.loads(line)["params"]["event_data"]["toolName"] == "x"
