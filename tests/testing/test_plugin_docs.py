"""docs/writing-a-plugin.md says everything that an author needs, and its examples work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import plain_pytest
import pytest
from stage import Stage
from tool_bench import ToolBench, call

import prloom.testing
from prloom.api import HOOKS, Deferral, Event, HookContext, Payload, PluginContext, TriageContext
from prloom.api.manifest import Manifest
from prloom.model.hook_points import HOOK_SUBJECTS
from prloom.testing import GOLDEN_EVENTS, Harness, Shown, a_comment, harness

PAGE = (Path(__file__).parents[2] / "docs/writing-a-plugin.md").read_text("utf-8")
_BLOCK = re.compile(r"^(?:<!-- (?P<does>[^\n]*) -->\n)?```python\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [(found["does"] or "", found["text"]) for found in _BLOCK.finditer(PAGE)]
PLUGINS = [text for does, text in BLOCKS if "def register(" in text and does != "run"]


def public(of: type) -> set[str]:
    return {name for base in of.__mro__[:-1] for name in vars(base) if not name.startswith("_")}


def section(heading: str) -> str:
    start = PAGE.index(f"\n### {heading}\n")
    return PAGE[start : PAGE.index("\n##", start + 5)]


def named_in(text: str) -> set[str]:
    """Return the names that stand in the code of a text."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return {name for code in re.findall(r"`([^`]+)`", prose) for name in re.findall(r"\w+", code)}


# ---- it is complete


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_point_is_in_the_table_with_its_kind_and_its_arguments(hook: str) -> None:
    (row,) = re.findall(rf"^\| `{hook}` \|.*$", section("Hook points"), re.MULTILINE)
    _, kind, arguments, when = (cell.strip() for cell in row.strip("|").split("|"))

    assert kind == HOOKS[hook]
    names = {"event": "event", "lifecycle": "run", "action": "action", "tool_call": "call", "tool_result": "call"}
    first = names.get(HOOK_SUBJECTS.get(hook, HOOKS[hook]), "plan")
    assert arguments.startswith(f"`({first}, ")
    assert when


def fields(of: type) -> set[str]:
    return {field.name for field in msgspec.structs.fields(of)}


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Register", public(PluginContext) | {"key", "manifest", "config", "log", "registrations"}),
        ("Contexts", public(HookContext) | public(TriageContext) | {"plugin", "log"}),
        ("Contexts", fields(Deferral)),
        ("Events", fields(Event) | {"supersedes", "written_at"}),
        ("Events", {event.type for shape, event in GOLDEN_EVENTS.items() if shape != "event of an unknown type"}),
        ("Files and manifest", fields(Manifest)),
        ("Actions", {payload.__name__ for payload in get_args(Payload)}),
    ],
    ids=["plugin context", "contexts", "deferral", "event", "types of events", "manifest", "payloads"],
)
def test_everything_is_named_in_its_section(heading: str, names: set[str]) -> None:
    assert names - named_in(section(heading)) == set()


def test_every_public_name_of_the_testing_package_is_named() -> None:
    text = PAGE[PAGE.index("\n## Testing\n") :]

    assert set(prloom.testing.__all__) <= named_in(text)
    assert public(Harness) | {"now", "repo_root", "registered"} <= named_in(text)
    assert public(Shown) | {"fates", "faults", "log", "actions"} <= named_in(text)


# ---- its examples work


@pytest.mark.parametrize("code", PLUGINS, ids=range(len(PLUGINS)))
def test_every_plugin_of_the_page_loads_and_survives_every_golden_event(tmp_path: Path, code: str) -> None:
    path = tmp_path / "example.py"
    path.write_text(code)
    bench = harness(path, agent=lambda prompt: "an answer")

    bench.show(*GOLDEN_EVENTS.values(), a_comment("/count"), a_comment("this is flaky"), a_comment("WIP: x"))
    bench.advance("1h")

    assert bench.registered.hooks or bench.registered.commands
    assert bench.registered.warnings == ()


def test_the_page_has_plugins_for_settings_commands_state_and_actions() -> None:
    assert len(PLUGINS) == 5


def test_the_tests_of_the_first_plugin_pass_with_plain_pytest(tmp_path: Path) -> None:
    for does, text in BLOCKS:
        if does.startswith("file "):
            path = tmp_path / does.removeprefix("file ")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (tmp_path / "prloom/plugins/manners/plugin.yaml").touch()

    ended = plain_pytest.run(tmp_path, "prloom/plugins/manners")

    assert ended.returncode == 0, ended.stdout + ended.stderr


async def test_the_plugin_of_the_page_about_tools_counts_letters(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/tools.md").read_text("utf-8")
    ((does, code),) = [(found["does"], found["text"]) for found in _BLOCK.finditer(page)]
    bench = Stage(tmp_path)
    bench.adopt()
    made: dict[str, object] = {}
    exec(compile(code, does, "exec"), made)
    bench.plugin("greetings", made["register"])
    tools = ToolBench(bench)

    async with tools.run() as (parts, folder):
        said = await call(parts, folder, "count-letters", word="hello")
        refused = await call(parts, folder, "count-letters")

    assert (said["output"], said["data"]) == ("hello has 5 letters", {"letters": 5})
    assert refused["error_type"] == "validation_error"
