"""One line says that a machine writes, for whom, with which agents, and what it can be asked."""

from __future__ import annotations

import pytest

from prloom.core.pull_requests import cockpit, signature
from prloom.core.pull_requests.cockpit import CockpitView
from prloom.model.action import Comment, InlineComment, Merge, Payload, Review


def test_the_line_names_the_agents_and_says_what_can_be_asked() -> None:
    assert signature.line("Ada's bot.", ("claude (opus)", "codex")) == (
        f"*Ada's bot, with claude (opus) and codex.* {signature.HELP}"
    )


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("prloom, a program, writes here for the owner of this account", "*— prloom*"),
        ("Ada's bot.", "*— Ada's bot*"),
        (" ", ""),
        (", with a comma", ""),
    ],
)
def test_later_posts_are_signed_with_the_text_as_far_as_its_first_comma(text: str, mark: str) -> None:
    assert signature.short(text) == mark


@pytest.mark.parametrize(
    ("payload", "signed"),
    [
        (Comment("Done.\n", appends_to="a-1"), Comment("Done.\n\n*— x*", appends_to="a-1")),
        (InlineComment("a.py", 3, "Here."), InlineComment("a.py", 3, "Here.\n\n*— x*")),
        (Review("comment", "Fine."), Review("comment", "Fine.\n\n*— x*")),
        (Review("approve"), Review("approve")),
        (Comment(" "), Comment(" ")),
        (Merge(), Merge()),
    ],
)
def test_only_what_has_words_is_signed_and_only_where_there_is_a_signature(payload: Payload, signed: Payload) -> None:
    assert signature.signed(payload, "*— x*") == signed
    assert signature.signed(payload, "") == payload


def test_an_empty_text_leaves_it_out() -> None:
    assert signature.line(" ", ("claude",)) == ""


@pytest.mark.parametrize(
    ("worked", "chosen", "model", "shown"),
    [
        ([], "claude", "opus", ("claude (opus)",)),
        ([], "auto", None, ()),
        ([], "auto", "opus", ()),
        (["claude", "claude"], "auto", "opus", ("claude (opus)",)),
        (["codex", "claude"], "claude", None, ("codex", "claude")),
        (["codex"], "claude", "opus", ("codex",)),
    ],
)
def test_the_agents_are_those_that_worked_or_the_one_that_is_to(
    worked: list[str], chosen: str, model: str | None, shown: tuple[str, ...]
) -> None:
    assert signature.agents(worked, chosen, model) == shown


def test_the_cockpit_begins_with_it() -> None:
    assert cockpit.render(CockpitView(signature="*A bot.*", text="Why.")).split("\n\n")[1:3] == ["*A bot.*", "Why."]
