"""The promises that every plugin makes, as tests: derive from `PluginContract`, and say which plugin it is.

    class TestNotes(PluginContract):
        plugin = Path(__file__).parent.parent
        settings = {"file": "AGENTS.md"}
        events = {"a note": a_comment("!note tabs")}

Each test loads the plugin anew, and gives it an empty folder for a repository. A promise that is broken is an
AssertionError that says which, and of which event.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prloom.api import Event, Json
from prloom.errors import ExtensionError
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.process import ProcessHost
from prloom.model.hook import OBSERVERS, Limits, Outcome
from prloom.model.hook_points import BEFORE_TRIAGE, ON_GLOBAL_EVENT
from prloom.testing import runners
from prloom.testing.events import GOLDEN_EVENTS, PLAN, a_comment
from prloom.testing.harness import REPOSITORY, Harness
from prloom.testing.runners import HostedRunner, Runner

__all__ = ["PluginContract"]

_PLANS = ("", "# Plan\n\n- [ ] Rename it\n", "größe \U0001f600 \x00\r\n" + "- [ ] x\n" * 500)
_LATER = "4h"
_NO_ROOM = 2
"""Bytes of an empty store."""

Call = tuple[str, str, tuple[Event, ...]]
"""A description, a hook point, and the events that it is called with."""


class PluginContract:
    """The promises.

    `plugin` is its folder or its `.py` file, `settings` its table of `[plugins.settings.<name>]`, and `events`, by a
    description of each, are shown beside the golden ones: such as the plugin has something to do with.
    """

    plugin: str | Path
    settings: Mapping[str, Json] = {}
    events: Mapping[str, Event] = {}

    def found(self) -> DiscoveredPlugin:
        """Return the plugin as the dispatcher would find it."""
        return runners.find_plugin(self.plugin)

    def answer(self, prompt: str) -> str:
        """Play the agent, if the plugin runs one."""
        return "All is well."

    def test_it_registers_without_a_warning(self) -> None:
        """It can be loaded with these settings, and has kept what its manifest announces."""
        with self._harness() as harness:
            warnings = harness.registered.warnings
        _expect(not warnings, f"it was loaded with warnings: {'; '.join(warnings)}")

    def test_it_survives_every_golden_event(self) -> None:
        """No hook raises over an event of any shape, nor over any plan's text."""
        with self._harness() as harness:
            for call in _calls(harness, self._events):
                _outcome(harness, call)

    def test_it_survives_all_golden_events_at_once(self) -> None:
        """A batch of everything is dealt with, and so are the waits that it leaves."""
        with self._harness(strict=False) as harness:
            shown = harness.show(*self._events.values())
            later = harness.advance(_LATER)
        faults = [fault.message for fault in (*shown.faults, *later.faults)]
        _expect(not faults, f"together with all golden events: {'; '.join(faults)}")

    def test_it_marks_only_what_it_is_shown(self) -> None:
        """A mark, and an action's cause, is an event of the call."""
        with self._harness() as harness:
            for call in _calls(harness, self._events):
                outcome, ids = _outcome(harness, call), {event.id for event in call[2]}
                named = {mark.event_id for mark in outcome.marks}
                named |= {each.related_event_id for each in outcome.actions if each.related_event_id is not None}
                _expect(named <= ids, f"{call[0]}: it names events that it was not shown: {sorted(named - ids)}")

    def test_p2_the_same_call_has_the_same_outcome(self) -> None:
        """A hook runs again after a crash; were its outcome another, so would be what the pull request shows."""
        with self._harness() as harness:
            for call in _calls(harness, self._events):
                first, second = _outcome(harness, call), _outcome(harness, call)
                _expect(first == second, f"{call[0]}: two runs of one call differ:\n{first}\n{second}")

    def test_p2_a_hook_that_fails_leaves_no_trace(self) -> None:
        """Where there is no room for its state, it fails by that and by nothing else, and has changed no file."""
        with self._harness(strict=False, limits=Limits(state_bytes=_NO_ROOM)) as harness:
            before = _files(harness.repo_root)
            shown = harness.show(*self._events.values())
            after = _files(harness.repo_root)
        for fault in shown.faults:
            _expect(
                "the limit is" in fault.message,
                f"without space for its state, it failed in another way: {fault.message}",
            )
        if shown.faults:
            _expect(before == after, f"it failed, but these files are new: {sorted(after.keys() - before.keys())}")

    def test_a_process_of_its_own_makes_no_difference(self) -> None:
        """What it does in the dispatcher's process and in one of its own is the same."""
        with self._harness(strict=False) as here:
            expected = _full_run(here, self._events)
        with self._harness(strict=False, process=True) as there:
            found = _full_run(there, self._events)
        _expect(found == expected, f"in a process it does {found},\nbut inline {expected}")

    @property
    def _events(self) -> Mapping[str, Event]:
        return {**GOLDEN_EVENTS, **self.events}

    @contextmanager
    def _harness(self, *, process: bool = False, **more: Any) -> Iterator[Harness]:  # noqa: ANN401 - Harness's arguments
        """Yield the plugin at work, on a repository that is there for as long as this lasts."""
        found = self.found()
        with tempfile.TemporaryDirectory(prefix="prloom-contract-") as folder:
            root = Path(folder).resolve() / "repository"
            root.mkdir()
            runner: Runner = runners.of_folder(found, self.settings)
            if process:
                runner = HostedRunner(ProcessHost(found, dict(self.settings), repo_root=root, environ=os.environ))
            try:
                yield Harness(runner, repo_root=root, agent=self.answer, **more)
            finally:
                runner.stop()


def _calls(harness: Harness, events: Mapping[str, Event]) -> Iterator[Call]:
    """Yield a call of every hook and command with each event; plan hooks get plans of every kind."""
    for hook in harness.registered.hooks:
        if hook in {*OBSERVERS, BEFORE_TRIAGE}:
            for shape, event in events.items():
                yield f"{hook} of a {shape}", hook, (event,)
        else:
            yield hook, hook, ()
    for name in harness.registered.commands:
        for words in ("", " 1", " help", " add 'x", " 👩‍👩‍👧 \x1b[31m", " " + "9" * 5000, "\nand more\nlines"):
            yield f"/{name}{words!r}", f"command:/{name}", (a_comment(f"/{name}{words}", id=f"said:{len(words)}"),)


def _outcome(harness: Harness, call: Call) -> Outcome:
    """Return the outcome of a call on every kind of plan; for events, the plan is of no matter."""
    description, hook, events = call
    if hook == ON_GLOBAL_EVENT:
        plan = REPOSITORY
    else:
        plan = PLAN
    outcome = Outcome()
    for text in _PLANS if not events else _PLANS[:1]:
        harness.write_plan(text, plan)
        try:
            outcome = harness.call(hook, *events, plan=plan)
        except ExtensionError as error:
            raise AssertionError(f"{description}: {error}") from error
    return outcome


def _full_run(harness: Harness, events: Mapping[str, Event]) -> Sequence[object]:
    """Return all that comes of showing everything, and of a day's waiting."""
    shown = [harness.show(*events.values()), harness.advance(_LATER)]
    return [harness.registered, [(each.fates, each.actions) for each in shown], harness.state(), harness.global_state]


def _files(root: Path) -> Mapping[str, bytes]:
    """Return the files of the repository by their paths; prloom's own folder is not the plugin's."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".local" not in path.parts
    }


def _expect(kept: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not kept:
        raise AssertionError(otherwise)
