"""Read the operator's own words for agents, from the checkout in which prloom was started."""

from __future__ import annotations

import logging
from pathlib import Path

from prloom import regular_files

log = logging.getLogger(__name__)


def read(root: Path, name: str) -> str | None:
    """Return the text of a file in the checkout's folder `prloom`, or None where there is none that can be read."""
    file = root / "prloom" / name
    try:
        content = regular_files.read(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        log.warning("%s cannot be read: %s; agents run without it", file, error.strerror)
        return None
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
