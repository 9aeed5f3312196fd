"""One line says that a machine writes, for whom, with which agents, and what it can be asked."""

from __future__ import annotations

import pytest

from prloom.core.pull_requests import cockpit, signature
from prloom.core.pull_requests.cockpit import CockpitView


def test_the_line_names_the_agents_and_says_what_can_be_asked() -> None:
    assert signature.line("Ada's bot.", ("claude (opus)", "codex")) == (
        f"*Ada's bot, with claude (opus) and codex.* {signature.HELP}"
    )


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
