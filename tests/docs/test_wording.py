"""What people read is plain English: phrases that readers stumbled over stay away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from prloom.cli import main

STUMBLED_OVER = re.compile(
    r"\bmend(s|ed|ing)?\b|\bthis is no \w+|\bno TOML\b|\bhas none permission|\bdid not get done with"
    r"|\bLook what it does\b|\bguards best\b|\bHow grave\b|\bago, well\b",
    re.IGNORECASE,
)


def commands(of: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command and all those below it."""
    yield of, context
    if isinstance(of, click.Group):
        for name in of.list_commands(context):
            found = of.get_command(context, name)
            assert found is not None
            yield from commands(found, click.Context(found, info_name=name, parent=context))


def test_no_page_has_a_phrase_that_readers_stumbled_over(page: Any):
    assert STUMBLED_OVER.findall(page.text) == []


def test_no_help_text_has_a_phrase_that_readers_stumbled_over():
    root = click.Context(main.cli, info_name="prloom", **main.cli.context_settings)  # a command keeps its help option
    texts = [each.get_help(context) for each, context in commands(main.cli, root)]

    assert len(texts) > 60
    assert [found for text in texts for found in STUMBLED_OVER.findall(text)] == []
