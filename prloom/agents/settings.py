"""Read the operator's own settings of an agent program, as far as prloom has to know them."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from prloom.agents import run_folder
from prloom.errors import AgentError


def read(files: Iterable[Path]) -> dict[Path, str]:
    """Return the texts of the operator's settings files that exist; raise AgentError for one that cannot be read."""
    texts = {}
    for path in files:
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > run_folder.SMALL:
                raise AgentError(
                    f"{path} is not an ordinary file of at most 1 MiB; prloom has to read it, so correct it"
                )
            texts[path] = path.read_text("utf-8")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise AgentError(f"{path} cannot be read ({error.strerror}); make it readable") from error
        except UnicodeDecodeError as error:
            raise AgentError(f"{path} is not UTF-8 text; correct it") from error
    return texts
