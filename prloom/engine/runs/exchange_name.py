"""Name the exchange of a repository's runs."""

from __future__ import annotations

import os
from pathlib import Path

from prloom.storage import paths


def of(root: Path, url: str) -> str:
    """Return the address that is configured (`[exchange] url`), or else the path of the repository's own exchange."""
    return url or os.fspath(root.joinpath(*paths.LOCAL, paths.EXCHANGE).absolute())


def is_shared(name: str) -> bool:
    """Whether workers on other machines can reach the exchange of this name."""
    return "://" in name
