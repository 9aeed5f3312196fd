"""What every document keeps: its links lead somewhere, and its blocks of code are what they say they are."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prloom.config import loading
from prloom.model import record


def test_every_link_leads_to_a_page_and_to_a_heading_that_it_has(page: Any, named: Callable[[str], Any], root: Path):
    wrong = []
    for link in page.links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        if not target.exists():
            wrong.append(f"{link}: there is no such file")
        elif anchor and anchor not in named(str(target.relative_to(root))).anchors:
            wrong.append(f"{link}: there is no such heading")

    assert wrong == []


def test_a_page_names_no_place_of_the_machine_that_it_was_written_on(page: Any):
    assert re.findall(r"(?<![\w.])/(?:work|root|tmp)/\S*", page.text) == []


def test_every_json_block_is_json(json_block: Any):
    json.loads(json_block.text)


def test_every_toml_block_is_toml(toml_block: Any):
    tomllib.loads(toml_block.text)


def test_what_begins_as_prloom_toml_is_a_valid_configuration(toml_block: Any):
    if toml_block.text.startswith("# prloom.toml"):
        loading.parse(tomllib.loads(toml_block.text))


def test_every_python_block_compiles(python_block: Any):
    compile(python_block.text, str(python_block), "exec")


def test_a_python_block_that_is_marked_runs(python_block: Any, tmp_path: Path):
    if python_block.does != "run":
        return
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", python_block.text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_record_in_the_documents_can_be_read_and_has_no_field_that_nobody_knows(record_block: Any):
    _, name, *place = record_block.does.split()
    module, _, attribute = name.rpartition(".")
    value = json.loads(record_block.text)
    for step in place[0].split(".") if place else ():
        value = value[int(step)] if step.isdigit() else value[step]

    read = record.from_wire(getattr(importlib.import_module(module), attribute), value)

    assert _unknown(value, record.to_builtins(read)) == []


def _unknown(value: Any, read: Any, path: str = "") -> list[str]:
    """Return the fields of a document that were not read."""
    if isinstance(value, dict) and isinstance(read, dict):
        missing = [f"{path}.{key}" for key in value.keys() - read.keys() if value[key] not in ({}, [], None, False, "")]
        return missing + [
            found for key in value.keys() & read.keys() for found in _unknown(value[key], read[key], f"{path}.{key}")
        ]
    if isinstance(value, list) and isinstance(read, list):
        return [found for each, other in zip(value, read, strict=True) for found in _unknown(each, other, f"{path}[]")]
    return []


def test_the_index_lists_every_document(named: Callable[[str], Any], root: Path):
    listed = {link.partition("#")[0] for link in named("docs/README.md").links}

    there = {path.name for path in (root / "docs").glob("*.md")} - {"README.md"}
    assert there <= listed


def test_the_decisions_are_numbered_without_gaps_and_listed(named: Callable[[str], Any], root: Path):
    pages = sorted((root / "docs" / "decisions").glob("0*.md"))

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    assert {page.name for page in pages} == set(named("docs/decisions/README.md").links)


def test_the_readme_shows_the_demo_between_its_marks(named: Callable[[str], Any]):
    text = named("README.md").text

    shown = text.partition("<!-- demo -->")[2].partition("<!-- /demo -->")[0]
    assert "$ prloom status" in shown
    assert "$ prloom why" in shown


def test_every_make_target_that_a_document_shows_exists(page: Any, root: Path):
    targets = re.findall(r"^([\w-]+):", (root / "Makefile").read_text("utf-8"), re.MULTILINE)
    shown = re.findall(r"^\$ make ([\w-]+)", page.text, re.MULTILINE) + re.findall(r"`make ([\w-]+)`", page.text)

    assert set(shown) <= set(targets)
