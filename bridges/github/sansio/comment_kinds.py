"""Name the kinds of comments, of which GitHub has a list each, and what GitHub calls what belongs to each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

CommentKind = Literal["comments", "inline"]
"""Comments in the conversation, and comments on lines. A stored cursor has these names, also as those of its feeds."""

COMMENT_KINDS: tuple[CommentKind, ...] = get_args(CommentKind)

ISSUE_COMMENT, REVIEW_COMMENT = "issuecomment-", "discussion_r"
"""How the names of comments, and of comments on lines, begin in GitHub's links; a number follows."""


class CommentNames(NamedTuple):
    """What GitHub calls a kind of comments.

    `mark` is the beginning of their names in links, `parent` the part of their addresses that says what they belong to,
    and `counter` the field of a pull request that says how many it has.
    """

    mark: str
    parent: str
    counter: str


NAMES: Mapping[CommentKind, CommentNames] = {
    "comments": CommentNames(ISSUE_COMMENT, parent="issues", counter="comments"),
    "inline": CommentNames(REVIEW_COMMENT, parent="pulls", counter="review_comments"),
}


def of_name(name: str) -> tuple[CommentKind, int] | None:
    """Return the kind and the number of a comment by its name in links; None for what is no comment's name."""
    for kind, names in NAMES.items():
        number = name.removeprefix(names.mark)
        if number != name and number.isdecimal():
            return kind, int(number)
    return None
