"""Names of events on the command line."""

from __future__ import annotations

import pytest

from prloom.core.text import event_names
from prloom.core.text.event_names import ByAuthor, ById


@pytest.mark.parametrize("event_id", ["a", "@eve", "@@eve", "@", "-x", "a@b", ""])
def test_the_name_of_an_event_means_this_event(event_id: str) -> None:
    assert repr(event_names.read(event_names.of(event_id))) == repr(ById(event_id))


@pytest.mark.parametrize(
    ("name", "meant"),
    [("eve", ById("eve")), ("@eve", ByAuthor("eve")), ("@@eve", ById("@eve")), ("@", ByAuthor(""))],
)
def test_a_name_with_an_at_sign_is_an_author_and_with_two_an_id(name: str, meant: ById | ByAuthor) -> None:
    assert repr(event_names.read(name)) == repr(meant)
