from __future__ import annotations

from pathlib import Path

from stage import Stage, said

from prloom.api import Author, PluginContext, TriageContext


async def test_a_hook_can_tell_a_vouched_text_from_that_of_somebody_trusted(tmp_path: Path) -> None:
    seen: dict[str, bool] = {}

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def look(plan: str, triage: TriageContext) -> None:
            seen.update({event.id: triage.is_vouched(event.id) for event in triage.events})

    stage = Stage(tmp_path)
    stage.adopt()
    stage.plugin("looker", register)

    await stage.poll(
        said("stranger", author=Author("eve", "none")),
        said("known", author=Author("ann", "write")),
        said("ok", body="/prloom approve stranger", author=Author("ann", "write")),
    )

    assert seen == {"stranger": True, "known": False}
