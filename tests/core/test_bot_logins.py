"""The entries of `[trust]` that trust no bot, or half of one."""

from __future__ import annotations

import pytest

from prloom.core import bot_logins


def found(*bots: str, users: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [tuple(each) for each in bot_logins.problems(users, bots)]


@pytest.mark.parametrize(
    "login", ["dependabot[bot]", "dependabot", "Renovate[bot]", "my-own-bot", "team_bot[bot]", "ci"]
)
def test_a_login_that_may_be_a_bots_is_no_problem(login: str) -> None:
    assert found(login) == []


@pytest.mark.parametrize("entry", ["app/dependabot", "dependabot [bot]", "dependabot[bot", "https://github.com/apps/x"])
def test_what_is_no_login_is_reported(entry: str) -> None:
    fix = "write the login, such as dependabot[bot]; see docs/github.md"

    assert found(entry) == [(f"{entry} in trust.bots is not a login", fix)]


def test_a_mistyped_login_is_told_with_the_one_that_may_be_meant() -> None:
    assert found("dependbot") == [
        ("dependbot in trust.bots is not a bot that is known", "did you mean dependabot[bot]?")
    ]


@pytest.mark.parametrize("own", ["copilot-pull-request-reviewer", "copilot-swe-agent[bot]"])
def test_both_logins_of_copilot_are_to_be_listed(own: str) -> None:
    ((what, fix),) = found(own)

    assert what.startswith("Copilot, as a ")
    assert what.endswith(", also writes as Copilot")
    assert fix == "add Copilot to trust.bots"
    assert found(own, "copilot") == []


def test_the_login_that_copilots_share_is_not_enough_either() -> None:
    assert found("Copilot") == [
        (
            "Copilot also writes as copilot-swe-agent[bot] or copilot-pull-request-reviewer[bot]",
            "add what you use of these to trust.bots",
        )
    ]


def test_a_bot_among_the_people_trusts_nobody() -> None:
    assert found(users=("ann", "dependabot[bot]")) == [
        ("dependabot[bot] in trust.users is a bot, and trusts nobody", "move it to trust.bots")
    ]
