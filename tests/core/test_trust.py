from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from values import an_event

from prloom.core import trust
from prloom.core.trust import Held, Policy, Trusted, Unknown
from prloom.model.event import Author, Event
from prloom.model.kinds import TRUST_LEVELS


@pytest.mark.parametrize("permission", TRUST_LEVELS)
@pytest.mark.parametrize("minimum", TRUST_LEVELS)
def test_a_permission_is_enough_from_the_minimum_up(permission: str, minimum: str) -> None:
    judgement = trust.judge(an_event(author=Author("ann", permission)), Policy(minimum=minimum))

    enough = TRUST_LEVELS.index(permission) >= TRUST_LEVELS.index(minimum)
    has = "no permission here" if permission == "none" else f"{permission} permission"
    assert judgement == (Trusted() if enough else Held(f"ann has {has}; at least {minimum} is required"))


@pytest.mark.parametrize("permission", ["", "WRITE", "owner", "push", "write ", "COLLABORATOR"])
def test_a_permission_that_is_not_known_is_not_enough(permission: str) -> None:
    assert trust.judge(an_event(author=Author("ann", permission)), Policy(minimum="none")) == Held(
        f"ann has the permission '{permission}', which prloom does not know; at least none is required"
    )


def test_a_permission_that_nobody_looked_up_has_to_be() -> None:
    assert trust.judge(an_event(author=Author("ann")), Policy()) == Unknown("ann")


def test_an_event_without_an_author_speaks_for_the_operator() -> None:
    assert trust.judge(an_event(author=None), Policy(minimum="operator")) == Trusted()


@pytest.mark.parametrize(
    ("login", "trusted"),
    [
        ("ann", True),
        ("Ann", True),
        ("bob", False),
        ("an", False),
        ("ann ", False),
        ("", False),
        ("\N{KELVIN SIGN}im", False),  # lower() and casefold() make it "kim"
        ("mi\N{LATIN SMALL LETTER LONG S}s", False),
    ],
)
def test_users_are_trusted_by_their_login_and_nobody_who_only_looks_like_them(login: str, *, trusted: bool) -> None:
    policy = Policy(users=("ann", "KIM", "miss"))

    assert isinstance(trust.judge(an_event(author=Author(login, "none")), policy), Trusted) is trusted


@pytest.mark.parametrize(
    ("author", "trusted"),
    [
        (Author("ci", bot=True), True),
        (Author("CI", bot=True), True),
        (Author("ci[bot]", bot=True), True),
        (Author("CI[Bot]", bot=True), True),
        (Author("renovate", bot=True), True),
        (Author("renovate[bot]", bot=True), True),
        (Author("renovate[bot]", "none"), False),
        (Author("ci[bot]", "none"), False),
        (Author("ci[bot][bot]", bot=True), False),
        (Author("other", bot=True), False),
        (Author("other[bot]", "admin", bot=True), False),
        (Author("ann", bot=True), False),
        (Author("ci", "read"), False),
    ],
)
def test_a_bot_is_trusted_where_the_operator_names_it_and_by_nothing_else(author: Author, *, trusted: bool) -> None:
    judgement = trust.judge(an_event(author=author), Policy(users=("ann",), bots=("ci", "renovate[bot]")))

    assert isinstance(judgement, Trusted) is trusted


def test_a_bot_that_is_held_is_told_from_a_person() -> None:
    event = Event(id="e", source="s", type="t", author=Author("dependabot[bot]", bot=True))

    assert trust.judge(event, Policy()) == Held("dependabot[bot] is a bot that is not listed in trust.bots")


def test_a_permission_that_could_not_be_looked_up_holds_and_says_why() -> None:
    assert trust.unknown("ann", "no answer") == Held("the permission of ann is not known: no answer")


LOGINS = st.text(min_size=1) | st.sampled_from(["ann", "ANN", "ci"])
TRUSTS = st.none() | st.text() | st.sampled_from(TRUST_LEVELS)


@given(
    author=st.builds(Author, login=LOGINS, trust=TRUSTS, bot=st.booleans()),
    policy=st.builds(
        Policy,
        minimum=st.sampled_from(TRUST_LEVELS),
        users=st.lists(LOGINS).map(tuple),
        bots=st.lists(LOGINS).map(tuple),
    ),
)
def test_no_author_below_the_threshold_is_ever_trusted(author: Author, policy: Policy) -> None:
    event = Event(id="e", source="s", type="pr_comment", author=author)

    trusted = isinstance(trust.judge(event, policy), Trusted)

    ranks = author.trust in TRUST_LEVELS and TRUST_LEVELS.index(author.trust) >= TRUST_LEVELS.index(policy.minimum)
    login, logins = author.login, policy.users
    if author.bot:
        login, logins = trust.bot_name(login), tuple(map(trust.bot_name, policy.bots))
    named = {name.casefold() for name in logins}
    assert not trusted or login.casefold() in named or (ranks and not author.bot)
