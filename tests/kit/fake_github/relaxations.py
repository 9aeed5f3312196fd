"""Where GitHub is known to depart from its own description; each entry says why, and there are no others."""

from __future__ import annotations

from collections.abc import Mapping

NULLABLE: Mapping[str, Mapping[str, str]] = {
    "pull-request-review-comment": {
        "line": "null once the line is no longer in the diff, and for comments on a file",
        "original_line": "null for comments on a file",
        "position": "null once the line is no longer in the diff",
    },
    "pull-request": {
        "user": "null where the account was deleted",
    },
    "pull-request-simple": {
        "user": "null where the account was deleted",
    },
}
"""Properties by schema that are null in practice where the description does not say so."""

NULLABLE_INSIDE: Mapping[str, Mapping[tuple[str, str], str]] = {
    "pull-request": {("head", "repo"): "null where the fork was deleted", ("head", "user"): "likewise its owner"},
    "pull-request-simple": {
        ("head", "repo"): "null where the fork was deleted",
        ("labels", "description"): "a label need not have one",
    },
}
"""The same, one level further down."""

STATUSES: Mapping[int, str] = {
    301: "a renamed repository, to any GET",
    304: "to any GET with a validator",
    307: "a renamed repository, to anything else",
    400: "a body that is not JSON",
    401: "a bad token",
    403: "missing permissions, locked conversations and rate limits",
    404: "what is gone or may not be seen",
    410: "what was deleted",
    422: "what does not pass validation",
    429: "rate limits",
}
"""Answers that any operation may give, described there or not; the body is a `basic-error` or `validation-error`."""
