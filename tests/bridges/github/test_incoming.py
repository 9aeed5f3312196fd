"""What happens on GitHub becomes events: each once, the oldest first."""

from __future__ import annotations

from typing import Any


async def test_a_comment_becomes_an_event_once(desk: Any) -> None:
    pull = desk.hub.pull()
    desk.track(pull)
    await desk.poll()
    desk.hub.comment(pull, "ann", "please rename it")

    first, second = await desk.poll(), await desk.poll()

    assert [(event.type, event.body, event.pr, event.author.login) for event in first] == [
        ("pr_comment", "please rename it", pull.number, "ann")
    ]
    assert second == []
