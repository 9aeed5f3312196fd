"""Command lines of prloom, run in the process of the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from click.testing import CliRunner

from prloom.cli import main


class Ran(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Prloom = Callable[..., Ran]
Refusal = Callable[..., str]


def run(*args: str, stdin: bytes | str = "") -> Ran:
    """Run a command line as the entry point does."""
    with CliRunner().isolation(input=stdin) as (out, err, _):
        code = main.run(main.cli, args)
        return Ran(code, out.getvalue().decode(), err.getvalue().decode())
