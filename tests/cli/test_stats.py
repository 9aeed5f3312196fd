from __future__ import annotations

import json

from command_line import Prloom
from stage import Stage, said
from stage_parts import deferring

from prloom.api import Author, Refused


async def test_stats_say_what_was_done_how_long_it_took_and_what_failed(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.plugin("quiet-period", deferring(60_000, "people are still talking", saying="wait"))
    stage.bridge.refuse = lambda action: Refused("the thread is locked")
    await stage.poll(said("d", "wait"), said("h", author=Author("eve", "none")), said("t"))

    document = json.loads(prloom("stats", "--json").out)
    shown = prloom("stats").out

    assert (document["throughput"]["eventsIn"], document["throughput"]["triaged"]) == (3, 1)
    assert document["waits"]["count"] == 1
    assert [each["plugin"] for each in document["plugins"]] == ["quiet-period"]
    assert [(each["kind"], each["count"]) for each in document["failures"]] == [("delivery", 1)]
    assert shown.startswith("Events: 3 came in; 1 triaged.\n")
    assert "\nFailures\n  1  delivery in pr-7\n" in shown


def test_before_anything_has_happened_there_is_nothing_to_add_up(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()

    assert prloom("stats", "--since", "1h").out == (
        "Events: 0 came in.\nTODOs done: 0; actions delivered: 0; runs: 0.\n"
        "From the arrival of an event to its end: none yet.\n"
    )
