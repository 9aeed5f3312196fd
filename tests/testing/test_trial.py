"""The promises of a plugin, tried in a process of their own."""

from __future__ import annotations

import os
import textwrap
from datetime import timedelta
from pathlib import Path

from prloom.extensions.discovery import DiscoveredPlugin
from prloom.testing import runners, trial

PATIENCE = timedelta(minutes=4)
"""The limit of a trial that comes to its end by itself, however busy the machine is."""

KEEPS = """
    import os
    print("what is printed is not the answer")

    def register(ctx):
        @ctx.hook("beforeTriage")
        def look(plan, triage):
            assert "GITHUB_TOKEN" not in os.environ
            for event in triage.events:
                triage.mark_event_handled(event.id, ctx.config.get("why"))
"""


def a_plugin(folder: Path, code: str) -> DiscoveredPlugin:
    path = folder / "noted.py"
    path.write_text(textwrap.dedent(code))
    return runners.find_plugin(path)


def test_a_plugin_that_keeps_them_all_has_none_that_is_broken_and_sees_no_token(tmp_path: Path) -> None:
    environ = {**os.environ, "GITHUB_TOKEN": "secret"}

    assert trial.broken_promises(a_plugin(tmp_path, KEEPS), {"why": "so"}, environ, PATIENCE) == ()


def test_a_promise_that_is_broken_is_named_with_what_it_means(tmp_path: Path) -> None:
    code = """
        import itertools
        counter = itertools.count()

        def register(ctx):
            @ctx.hook("beforeTriage")
            def look(plan, triage):
                triage.emit_comment(None, str(next(counter)))
    """

    broken = trial.broken_promises(a_plugin(tmp_path, code), {}, os.environ, PATIENCE)

    (found,) = [each for each in broken if each.name == "test_p2_the_same_call_has_the_same_outcome"]
    assert found.promise.startswith("A hook runs again after a crash")
    assert found.problem.startswith("beforeTriage of a comment: two runs of one call differ:")


def test_a_trial_that_hangs_is_stopped_and_reported(tmp_path: Path) -> None:
    limit = timedelta(seconds=3)

    (broken,) = trial.broken_promises(a_plugin(tmp_path, "import time; time.sleep(60)"), {}, os.environ, limit)

    assert broken.problem.startswith("the trial was stopped after 3 s: the plugin hangs")


def test_a_trial_that_dies_is_reported(tmp_path: Path) -> None:
    (broken,) = trial.broken_promises(a_plugin(tmp_path, "import os; os._exit(3)"), {}, os.environ, PATIENCE)

    assert broken.problem.startswith("the process that ran the tests ended with status 3")
