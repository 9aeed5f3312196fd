"""For authors: build events, and show them to a plugin as the dispatcher would.

    from prloom.testing import a_comment, harness

    def test_a_note_is_kept():
        plugin = harness("prloom/plugins/notes")

        shown = plugin.show(a_comment("!note tabs"))

        assert shown.handled and shown.comments == ("Noted.",)

`prloom.testing.plugin_contract` and `prloom.testing.bridge_contract` contain the promises that all plugins and all
bridges make, as tests to derive from.
"""

from typing import TYPE_CHECKING, Any

from prloom.backoff import Backoff
from prloom.model.hook import Limits
from prloom.testing.events import (
    GOLDEN_EVENTS,
    NOW,
    PLAN,
    a_checks_report,
    a_comment,
    a_failed_check,
    a_request,
    a_review,
    a_review_comment,
    an_event,
)
from prloom.testing.harness import REPOSITORY, Harness, harness
from prloom.testing.shown import Fate, Fault, Shown

if TYPE_CHECKING:
    from prloom.testing.background_contract import BackgroundPluginContract

__all__ = [
    "GOLDEN_EVENTS",
    "NOW",
    "PLAN",
    "REPOSITORY",
    "BackgroundPluginContract",
    "Backoff",
    "Fate",
    "Fault",
    "Harness",
    "Limits",
    "Shown",
    "a_checks_report",
    "a_comment",
    "a_failed_check",
    "a_request",
    "a_review",
    "a_review_comment",
    "an_event",
    "harness",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module has anything
    """Import what only tests of background plugins use when it is asked for: it takes the dispatcher's parts."""
    if name == "BackgroundPluginContract":
        from prloom.testing.background_contract import BackgroundPluginContract  # noqa: PLC0415 - see above

        return BackgroundPluginContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
