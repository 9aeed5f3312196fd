from __future__ import annotations

from operator_scene import OperatorScene, every_state
from stage import Stage, said
from stage_parts import deferring

from prloom.engine.views import snapshot
from prloom.engine.views.snapshot import SnapshotCache


async def test_a_cache_shows_what_is_there_whatever_has_changed_since(stage: Stage):
    stage.adopt()
    stage.plugin("quiet", deferring(saying="wait"))
    cache = SnapshotCache()
    assert cache.every(stage.paths) == snapshot.every(stage.paths)

    stage.append(said("d1", "wait"))
    assert cache.every(stage.paths) == snapshot.every(stage.paths)
    assert cache.every(stage.paths)[0].bus.untaken == {"d1"}

    await stage.tick()
    assert cache.every(stage.paths) == snapshot.every(stage.paths)
    assert cache.every(stage.paths)[0].bus.state.open["d1"].state == "deferred"

    (stage.local() / "plan.md").write_text("# A plan\n\n## TODO\n\n- [ ] Do it\n")
    assert [todo.title for todo in cache.every(stage.paths)[0].todos] == ["Do it"]

    stage.adopt("other", pr=8)
    (stage.local() / "state.json").write_text("{")
    assert cache.every(stage.paths) == snapshot.every(stage.paths)


def test_a_plan_whose_files_are_as_they_were_is_not_read_again(stage: Stage):
    scene = every_state(OperatorScene(stage.root))
    cache = SnapshotCache()

    cache.every(scene.where)  # prloom makes files private when it first reads them

    first, second = cache.every(scene.where), cache.every(scene.where)

    read_again = [one.plan.id for one, other in zip(first, second, strict=True) if one is not other]
    assert read_again == []
