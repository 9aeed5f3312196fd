"""Whoever follows a document in an empty folder sees what it says."""

from __future__ import annotations

import re
from typing import Any


def test_a_reader_who_follows_the_page_sees_what_it_shows(walked: Any, shop: Any):
    if str(walked) == "README.md":
        shop.isolate()
    for block, ran in shop.follow(walked):
        expected = [line for line in block.text.splitlines() if line.strip() and not line.startswith("$ ")]
        missing = [line for line in expected if not _is_in(line, ran.said)]
        refused = any(line.startswith("prloom: ") for line in expected)

        assert missing == [], f"{block}:\n{ran.said}"
        assert refused or ran.code == 0, f"{block}: exit code {ran.code}\n{ran.said}"


def _is_in(line: str, said: str) -> bool:
    """Whether a line was printed; `…` stands for anything, spaces for any number of them."""
    parts = [re.escape(part) for part in " ".join(line.split()).split("…")]
    pattern = re.compile(".*".join(parts) + ".*")
    return any(pattern.fullmatch(" ".join(each.split())) for each in said.splitlines())
