"""The first rule that fits decides which pull requests prloom begins to look after."""

from __future__ import annotations

from typing import Any

import pytest

from prloom.core.pull_requests import adoption_rules
from prloom.core.pull_requests.adoption_rules import AdoptionRule, Candidate


def pull(number: int = 7, **fields: Any) -> Candidate:
    return Candidate(**{"number": number, "author": "ada", "base": "main", **fields})


@pytest.mark.parametrize(
    ("rule", "fields", "fits"),
    [
        ({}, {}, True),
        ({}, {"author": "ANN"}, False),
        ({}, {"author": None}, False),
        ({}, {"author": "ADA"}, True),
        ({"authors": ("ann", "@bob")}, {"author": "Bob"}, True),
        ({"authors": ("ann",)}, {}, False),
        ({"authors": ("*",)}, {"author": None}, True),
        ({"labels": ("prloom", "bot")}, {"labels": ("other", "PRLoom")}, True),
        ({"labels": ("prloom",)}, {"labels": ("other",)}, False),
        ({"base": ("release/*", "main")}, {"base": "release/2"}, True),
        ({"base": ("release/*",)}, {}, False),
        ({}, {"draft": True}, True),
        ({"drafts": False}, {"draft": True}, False),
        ({}, {"fork": True}, False),
        ({"forks": True}, {"fork": True}, True),
    ],
)
def test_a_rule_fits_by_all_that_it_names(rule: dict[str, Any], fields: dict[str, Any], *, fits: bool) -> None:
    assert AdoptionRule(**rule).fits(pull(**fields), "ada") is fits


def test_nobody_is_me_where_the_own_login_is_not_known() -> None:
    assert not AdoptionRule().fits(pull(), None)
    assert not AdoptionRule(authors=("@me", "ann")).fits(pull(author="@me"), None)


def test_the_first_rule_that_fits_decides_also_where_it_adopts_no_more() -> None:
    first, second = AdoptionRule(limit=1), AdoptionRule(authors=("*",))
    pulls = [pull(10, author="eve"), pull(9), pull(8), pull(7, author="eve")]
    found = adoption_rules.choose(pulls, [first, second], me="ada")

    assert [(each.number, each.rule) for each in found.proposals] == [(7, second), (8, first), (10, second)]
    assert found.over_limit == ((9, first),)


def test_what_is_left_out_is_not_adopted_and_present_plans_count_against_the_limit() -> None:
    rule = AdoptionRule(limit=3)
    pulls = [pull(1), pull(2), pull(3), pull(4), pull(5, author="eve")]
    found = adoption_rules.choose(pulls, [rule], me="ada", left_out={1}, present=[rule.name()])

    assert ([each.number for each in found.proposals], found.over_limit) == ([2, 3], ((4, rule),))


@pytest.mark.parametrize(
    ("work", "fields", "expected"),
    [
        (None, {}, True),
        (None, {"author": "ann"}, False),
        (True, {"author": "ann"}, True),
        (False, {}, False),
        (True, {"fork": True}, False),
    ],
)
def test_prloom_works_on_the_operators_own_and_never_on_a_fork(
    work: bool | None,  # noqa: FBT001
    fields: dict[str, Any],
    *,
    expected: bool,
) -> None:
    rule = AdoptionRule(authors=("*",), forks=True, work=work)
    (found,) = adoption_rules.choose([pull(**fields)], [rule], me="ada").proposals

    assert found.work is expected


@pytest.mark.parametrize(
    ("authors", "vouched"), [(("*",), False), (("*", "ann"), True), (("ann",), True), (("@me",), True)]
)
def test_only_an_author_who_is_named_is_vouched_for(authors: tuple[str, ...], *, vouched: bool) -> None:
    (found,) = adoption_rules.choose([pull(author="ann")], [AdoptionRule(authors=authors)], me="ann").proposals

    assert found.vouched is vouched


def test_a_rules_name_says_what_it_asks_for() -> None:
    rule = AdoptionRule(authors=("@me", "ann"), labels=("a", "b"), base=("main", "2"), drafts=False, forks=True)

    assert rule.name() == "authors=@me,ann labels=a,b base=main,2 drafts=no forks=yes"
    assert AdoptionRule().name() == "authors=@me"


@pytest.mark.parametrize(
    ("rule", "needed"),
    [({}, True), ({"authors": ("ann",)}, True), ({"authors": ("ann",), "work": True}, False)],
)
def test_the_own_login_is_requested_only_where_a_rule_needs_it(rule: dict[str, Any], *, needed: bool) -> None:
    assert adoption_rules.needs_own_login([AdoptionRule(**rule)]) is needed
