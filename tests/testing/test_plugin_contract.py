"""A plugin that keeps its promises passes the contract; one that breaks a promise is found out by the test of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from prloom.testing.plugin_contract import PluginContract

GOOD = """
    def register(ctx):
        @ctx.hook("beforeTriage")
        def look(plan, triage):
            for event in triage.events:
                if "total" in event.body and event.reply_to:
                    triage.update_global_state("seen", lambda seen: (seen or 0) + 1)
                    triage.emit_comment(event.reply_to, "Seen.")
                    triage.mark_event_handled(event.id)

        @ctx.hook("onEvent")
        def see(event, hook):
            hook.set_state("last", event.id)

        @ctx.hook("afterDesign")
        async def design(plan, hook):
            return plan + await hook.run_agent("more?")

        @ctx.command("seen")
        def seen(event, triage):
            triage.emit_comment(event.reply_to, str(triage.get_global_state("seen", 0)))
"""


class TestGood(PluginContract):
    @pytest.fixture(autouse=True)
    def _write(self, tmp_path: Path) -> None:
        self.plugin = a_plugin(tmp_path, GOOD)


def a_plugin(folder: Path, code: str, manifest: str = "") -> Path:
    path = folder / "noted"
    path.mkdir()
    (path / "__init__.py").write_text(textwrap.dedent(code))
    (path / "plugin.toml").write_text(manifest)
    return path


def a_hook(body: str, hook: str = "beforeTriage") -> str:
    """Return a plugin with one hook, whose arguments are `it` and `ctx`."""
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    begin = "import itertools\ncounter = itertools.count()\n\ndef register(ctx):\n"
    return f"{begin}    @ctx.hook({hook!r})\n    def look(it, ctx):\n{lines}\n"


BROKEN = {
    "registers what is no hook": (
        a_hook("pass", "beforeTriagee"),
        "test_it_registers_without_a_warning",
        "no hook point is named 'beforeTriagee'; did you mean 'beforeTriage'",
    ),
    "trips over what is not there": (
        a_hook("for event in ctx.events: event.author.login"),
        "test_it_survives_every_golden_event",
        r"^beforeTriage of a comment without an author: plugin noted: beforeTriage raised AttributeError",
    ),
    "trips over an event alone": (
        a_hook("it.context['file']", "onEvent"),
        "test_it_survives_every_golden_event",
        r"^onEvent of a comment: plugin noted: onEvent raised KeyError: 'file'",
    ),
    "trips over a plan": (
        a_hook("return it.splitlines()[0]", "afterDesign"),
        "test_it_survives_every_golden_event",
        r"^afterDesign: plugin noted: afterDesign raised IndexError",
    ),
    "trips over company": (
        a_hook("(event,) = ctx.events"),
        "test_it_survives_all_golden_events_at_once",
        r"^together with all golden events: plugin noted: beforeTriage raised ValueError",
    ),
    "trips over a second look": (
        a_hook(
            """
            for event in ctx.events:
                assert ctx.deferral(event.id) is None
                ctx.mark_event_deferred(event.id, "later", 3_600_000)
            """
        ),
        "test_it_survives_all_golden_events_at_once",
        "beforeTriage raised AssertionError",
    ),
    "answers what it was not asked": (
        a_hook(
            'ctx.emit_action({"target": {"target": "x"}, "payload": {"type": "close_pr"}, "relatedEventId": "nope"})'
        ),
        "test_it_marks_only_what_it_is_shown",
        r"it names events that it was not shown: \['nope'\]",
    ),
    "says something else each time": (
        a_hook("ctx.emit_comment(None, str(next(counter)))"),
        "test_p2_the_same_call_has_the_same_outcome",
        "two runs of one call differ",
    ),
    "writes a file and then fails": (
        a_hook(
            """
            (ctx.repo_root / "notes.txt").write_text("noted")
            ctx.set_state("noted", True)
            """
        ),
        "test_p2_a_hook_that_fails_leaves_no_trace",
        r"it failed, but these files are new: \['notes.txt'\]",
    ),
    "hides that there is no room": (
        a_hook(
            """
            try:
                ctx.set_state("noted", True)
            except Exception:
                raise RuntimeError("oops") from None
            """
        ),
        "test_p2_a_hook_that_fails_leaves_no_trace",
        "without space for its state, it failed in another way: plugin noted: beforeTriage raised RuntimeError: oops",
    ),
    "knows where it runs": (
        a_hook(
            """
            import sys
            if "pytest" in sys.modules:
                ctx.mark_event_handled(ctx.events[0].id)
            """
        ),
        "test_a_process_of_its_own_makes_no_difference",
        "in a process it does",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_plugin_that_breaks_a_promise_is_found_out(tmp_path: Path, how: str) -> None:
    code, promise, message = BROKEN[how]
    contract = PluginContract()
    contract.plugin = a_plugin(tmp_path, code)

    with pytest.raises(AssertionError, match=message):
        getattr(contract, promise)()


def test_every_promise_is_broken_by_one_of_these_plugins() -> None:
    promises = {name for name in vars(PluginContract) if name.startswith("test_")}

    assert {promise for _, promise, _ in BROKEN.values()} == promises


def test_every_promise_says_what_it_means() -> None:
    assert all(method.__doc__ for name, method in vars(PluginContract).items() if name.startswith("test_"))
