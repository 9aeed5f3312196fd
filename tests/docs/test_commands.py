"""docs/commands.md has every command, option, choice and exit code that there is, and none that there is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from prloom.cli import main
from prloom.cli.lazy import LazyGroup
from prloom.core.commands import comment_commands

PAGE = "docs/commands.md"


def tree(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield the command and all below it, by their whole names."""
    yield name, command
    if isinstance(command, LazyGroup):
        ctx = click.Context(command)
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None
            yield from tree(f"{name} {below}", found)


def section(named: Callable[[str], Any], name: str) -> str:
    return str(named(PAGE).section(f"prloom {name}"))


def spellings(command: click.Command) -> list[str]:
    options = [param for param in command.params if isinstance(param, click.Option)]
    return [spelled for option in options for spelled in (*option.opts, *option.secondary_opts)]


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_option_argument_and_choice_of_a_command_is_in_its_section(name: str, named: Callable[[str], Any]):
    text = section(named, name)
    top = main.cli.get_command(click.Context(main.cli), name)
    assert top is not None
    missing = []
    for full, command in tree(f"prloom {name}", top):
        missing += [full] if full not in text else []
        missing += [f"{full} {spelled}" for spelled in spellings(command) if f"`{spelled}`" not in text]
        for param in command.params:
            if (
                isinstance(param, click.Argument)
                and str(param.make_metavar(click.Context(command))).strip("[].…") not in text
            ):
                missing.append(f"{full} {param.name}")
            if isinstance(param.type, click.Choice):
                missing += [f"{full} {param.name} {each}" for each in param.type.choices if f"`{each}`" not in text]

    assert missing == []


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_option_in_a_commands_section_exists(name: str, named: Callable[[str], Any]):
    top = main.cli.get_command(click.Context(main.cli), name)
    assert top is not None
    known = {spelled for _, command in tree(name, top) for spelled in spellings(command)}
    ours = re.sub(r"```.*?```", "", section(named, name), flags=re.DOTALL)

    said = set(re.findall(r"`(--[a-z-]+)`", ours)) | set(re.findall(r"\[(--[a-z-]+)", section(named, name)))
    assert said <= known


def test_the_options_of_all_commands_are_in_their_section(named: Callable[[str], Any]):
    text = named(PAGE).section("For all commands")

    assert [spelled for spelled in (*spellings(main.cli), "-h", "--help") if f"`{spelled}`" not in text] == []


def test_the_page_has_no_section_of_a_command_that_does_not_exist(named: Callable[[str], Any]):
    assert set(re.findall(r"^## prloom (\S+)$", named(PAGE).text, re.MULTILINE)) == set(main.COMMANDS)


def test_the_table_of_contents_has_every_section_of_a_command_once(named: Callable[[str], Any]):
    contents = str(named(PAGE).text).partition("\n## ")[0]

    assert sorted(re.findall(r"\[`(\S+)`\]\(#prloom-\1\)", contents)) == sorted(main.COMMANDS)


def test_every_built_in_command_of_comments_is_in_the_page(named: Callable[[str], Any]):
    text = named(PAGE).section("Commands in comments")

    assert set(re.findall(r"^\| `/prloom (\w+)` \|", text, re.MULTILINE)) == set(comment_commands.BUILT_IN)


def test_every_prloom_command_that_a_document_shows_exists(page: Any):
    shown = [line for block in page.blocks for line in block.text.splitlines() if line.startswith("$ ")]
    spelled = [*shown, *re.findall(r"`prloom [^`]*`", page.prose)]
    named = [match[1] for text in spelled for match in re.finditer(r"(?:^\$ |`|&& )prloom ([a-z]+)\b", text)]

    assert set(named) <= set(main.COMMANDS)
