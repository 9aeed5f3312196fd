from __future__ import annotations

import pytest

from prloom.core.text import link_targets


@pytest.mark.parametrize(
    ("links", "leaves"),
    [
        ({"a": "b"}, False),
        ({"d/a": "../b"}, False),
        ({"a": "."}, False),
        ({"a": "d/../b"}, False),
        ({"a": ".."}, True),
        ({"d/a": "../../b"}, True),
        ({"a": "/etc/passwd"}, True),
        ({"a": "d//.//../.."}, True),
        ({"a": ".git/config"}, True),
        ({"a": "lib/.GIT/hooks"}, True),
        ({"a": "b/x", "b": "/etc"}, True),
        ({"a": "x/y/z/../s", "x/y/z": "../.."}, True),  # without the other link it would stay
        ({"a": "b", "b": "a"}, False),
        ({"a": "a/a/a"}, False),
    ],
)
def test_a_link_leaves_the_tree_or_stays(links: dict[str, str], leaves: bool):  # noqa: FBT001 -- a table's column
    assert link_targets.follow("a" if "a" in links else "d/a", links).leaves is leaves


@pytest.mark.parametrize(("target", "end"), [("../docs/./x", "docs/x"), ("../b/x", "c/x"), ("..", "")])
def test_a_link_that_stays_leads_to_a_path_of_the_tree(target: str, end: str):
    assert link_targets.follow("d/a", {"d/a": target, "b": "c"}).end == end


def test_the_links_on_the_way_are_named():
    assert link_targets.follow("a", {"a": "b/x", "b": "c", "z": "y"}).passed == {"a", "b"}
