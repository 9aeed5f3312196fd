"""What forges and CI systems would obey in an agent's words has no effect."""

from __future__ import annotations

import pytest

from prloom.core.text import forge_words


@pytest.mark.parametrize(
    "request_",
    [
        *("[skip ci]", "[CI skip]", "[skip-ci]", "[skip_ci]", "[skipci]", "[ciskip]", "[no ci]", "[no-ci]", "[skip]"),
        *("[skip actions]", "[actions skip]", "[skip azurepipelines]", "[azurepipelines skip]", "[azp skip]"),
        *("[skip travis]", "[travis-ci skip]", "[circleci skip]", "[skip circleci]", "[skip appveyor]"),
        *("[skip netlify]", "[netlify skip]", "[vercel skip]", "[skip vercel]", "[skip deploy]", "[CF-Pages-Skip]"),
        *("[skip buildkite]", "[skip cirrus]", "[skip-cd]", "[skipRun]", "[ skip ci ]", "[skip woodpecker]"),
        *("***NO_CI***", "***no_ci***", "--skip-ci", "--ci-skip", "skip-checks: true", "skip-checks:true"),
    ],
)
def test_a_request_to_skip_checks_is_taken_out(request_: str):
    assert forge_words.muted(f"Fix it {request_}").rstrip() == "Fix it"


def test_a_trailer_that_asks_to_skip_checks_is_taken_out():
    assert forge_words.muted("Fix it\n\nSkip-Checks: yes\nCc: ann") == "Fix it\n\n\nCc: ann"


@pytest.mark.parametrize(
    ("nested", "left"),
    [("[skip [skip ci]ci]", "…"), ("***NO***NO_CI***_CI***", "…"), ("[skip [skip [no ci]ci]ci]", "…")],
)
def test_what_is_left_where_a_request_was_taken_out_is_none(nested: str, left: str):
    assert forge_words.muted(nested) == left


@pytest.mark.parametrize(
    ("closing", "reference"),
    [
        ("Closes #1", "Refs #1"),
        ("This fixes acme/other#2.", "This refs acme/other#2."),
        ("RESOLVED: GH-3", "Refs: GH-3"),
        ("Fixing issue #4, #5 and #6", "Refs issue #4, #5 and #6"),
        ("implements\n#7", "refs\n#7"),
        ("Closes https://github.com/a/b/issues/8", "Refs https://github.com/a/b/issues/8"),
        ("closed [the bug](https://x.org/a/-/issues/8)", "refs [the bug](https://x.org/a/-/issues/8)"),
        ("close **[#9](x)**", "refs **[#9](x)**"),
        ("Closes &#35;1", "Refs &#35;1"),
        ("Fixed AB#12 and reopens #3", "Refs AB#12 and refs #3"),
        ("[Finishes #44]", "[Refs #44]"),
        ("Closes ACME-7", "Refs ACME-7"),
        ("ACME-7 #close #comment Done", "ACME-7 close #comment Done"),
    ],
)
def test_an_issue_is_referred_to_and_not_closed(closing: str, reference: str):
    assert forge_words.muted(closing) == reference


@pytest.mark.parametrize(
    "words",
    [
        *("Fix UTF-8 in titles", "Close the file", "See #12", "Fix the crash of #12", "Resolve CVE-2024-1 at last"),
        *("It skips [a list]", "[skipped] 3 tests", "pytest --skip", "- [ ] skip the ci job", "prefix #1", "No CI yet"),
    ],
)
def test_other_words_stay(words: str):
    assert forge_words.muted(words) == words


def test_muting_takes_time_in_proportion_to_the_text():
    forge_words.muted("[" * 50_000 + "close " * 20_000 + "a/" * 50_000 + "skip-" * 20_000)
