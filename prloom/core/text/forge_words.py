"""Take from an agent's words what forges and CI systems obey: requests to skip checks, and to close issues.

An agent's words become commit messages and descriptions of pull requests. Whether checks run, and whether an issue is
closed at the merge, is for people to decide, and what an agent says may have been put into its mouth.
"""

from __future__ import annotations

import re
from typing import Final

# `[skip ci]`, `[ci-skip]`, `[skip_ci]`, `[skipci]`: GitHub, GitLab, Bitbucket, CircleCI, Travis, AppVeyor, Semaphore,
# Buildkite, Drone, Woodpecker, Cirrus, Bitrise, Cloudflare, Codemagic. Most also honour their own name in place of
# `ci` (`[azp skip]`, `[skip netlify]`, `[vercel skip]`, `[CF-Pages-Skip]`, `[skip-cd]` of Amplify, `[skipRun]` of
# JFrog), so whatever stands beside `skip` in the brackets counts. `[no ci]` is GitHub's, `***NO_CI***` that of Azure,
# Drone and Vela, `--skip-ci` that of Codeship, and `skip-checks: true` GitHub's and Azure's.
_SKIP: Final = re.compile(
    r"\[(?:[ \t]*skip(?:(?:[^a-z\[\]\n][^\[\]\n]{0,60})?|ci|cd|run)|(?:ci|cd|[^\[\]\n]{0,60}[^a-z\[\]\n])skip[ \t]*"
    r"|[ \t]*no[ \t_-]*(?:ci|cd|builds?|deploy)[ \t]*)\]"
    r"|\*{3}[ \t]*no[ \t_-]?ci[ \t]*\*{3}"
    r"|(?<![\w-])--(?:skip[_-]ci|ci[_-]skip)(?![\w-])"
    r"|^[ \t]*skip[ _-]checks?[ \t]*:.*$|skip[ _-]checks?[ \t]*:[ \t]*true",
    re.IGNORECASE | re.MULTILINE,
)
# GitHub has close, fix and resolve; GitLab also their forms in `-ing`, and implement; Gitea, Forgejo and Bitbucket
# reopen, too; Bitbucket hold, wontfix and invalidate; Azure Boards, Linear and Tracker complete, finish and deliver.
_VERB: Final = (
    r"clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|complet(?:e[sd]?|ing)"
    r"|finish(?:e[sd]|ing)?|deliver(?:s|ed|ing)?|re-?open(?:s|ed|ing)?|hold(?:s|ing)?|wontfix|invalidat(?:e[sd]?|ing)"
)
_BETWEEN: Final = r"(?:[\s:*_`~(\[<\\]|(?:issue|bug|ticket|story|task|pull request|merge request)s?\b){0,20}"
_NUMBER_SIGN: Final = r"(?:#|&#0*35;?|&#[xX]0*23;?|&num;)"
# Such a name and a number is a standard, and no key of an issue in a tracker such as Jira's.
_STANDARDS: Final = "AES|ANSI|BASE|CVE|CWE|ECMA|ES|GHSA|GPT|HTTP|IEC|IEEE|ISO|MD|MP|PEP|PKCS|RFC|RSA|SHA|TLS|UCS|US|UTF"
_URL: Final = (
    r"https?://[^\s<>()\[\]]+/(?:issues|pulls?|pull-requests|merge_requests|work_items|_workitems/edit|browse)/\w"
)
_ISSUE: Final = (
    rf"(?:[\w.-]+/)*(?:[\w.-]+)?{_NUMBER_SIGN}\d|GH-\d|(?-i:(?!(?:{_STANDARDS})-)[A-Z][A-Z0-9_]+-\d+\b(?!-))"
    rf"|{_URL}|\[[^\[\]\n]{{0,200}}\]\({_URL}"
)
_CLOSING: Final = re.compile(rf"(?<![\w-])(?:{_VERB})(?={_BETWEEN}(?:{_ISSUE}))", re.IGNORECASE)
# Jira's "smart commits" move an issue by `#close`, beside its key.
_TRANSITION: Final = re.compile(
    r"(?<![\w&/])#(?=(?:close|closed|done|fixed|resolve|resolved|reopen|finish|in-progress)\b)", re.IGNORECASE
)
_TAKEN_OUT: Final = "…"


def muted(text: str) -> str:
    """Return the text without requests to skip checks, and with references to issues in the place of their closing."""
    muted_text = _SKIP.sub("", text)
    while _SKIP.search(muted_text):  # what was around a request may be one now; each time there are fewer
        muted_text = _SKIP.sub(_TAKEN_OUT, muted_text)
    return _TRANSITION.sub("", _CLOSING.sub(_reference, muted_text))


def _reference(found: re.Match[str]) -> str:
    if found[0][0].isupper():
        return "Refs"
    return "refs"
