"""Parse the source of a module, for tests about the code itself."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def of(file: Path) -> ast.Module:
    """Return the syntax tree of a file.

    Python 3.11 raises SystemError where it parses other text while it makes a tree, as it does where something that is
    collected just then has its traceback logged (python/cpython#106905). So nothing is collected meanwhile.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(file.read_text("utf-8"))
    finally:
        if collects:
            gc.enable()
