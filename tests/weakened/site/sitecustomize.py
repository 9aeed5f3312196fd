"""Weaken one function of prloom, by its name, in every Python process that has this folder on its path.

PRLOOM_WEAKENED names the weakening. Its function is replaced as soon as its module has been imported, so what other
modules import from there is the weak one too.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

sys.path.append(str(Path(__file__).parents[1]))

import weakenings

NO_SUCH_NAME = 96
"""The exit code of a process in which the name to weaken does not exist."""


class Weakener:
    """A finder of modules that weakens one of them when it is imported."""

    def __init__(self, weakening: weakenings.Weakening, called: str) -> None:
        self._weakening = weakening
        self._called = called
        self._busy = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module as everybody does, and have it weakened after it was executed."""
        ours = {
            self._weakening.module,
            f"prloom_{self._weakening.module}",
        }  # bundled extensions are loaded as the latter
        if self._busy or name not in ours:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return None
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._weaken(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _weaken(self, module: ModuleType) -> None:
        try:
            weakenings.weaken(self._weakening, module, weakenings.noter(self._called))
        except weakenings.NoSuchNameError as error:
            os.write(2, f"{error}\n".encode())
            os._exit(NO_SUCH_NAME)  # nothing that a test might take for its own failure


if name := os.environ.get("PRLOOM_WEAKENED"):
    sys.meta_path.insert(0, Weakener(weakenings.named(name), os.environ["PRLOOM_WEAKENED_CALLED"]))
