"""Offer plugins' skills, which are instructions for agents: list them, and read the text of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from prloom import regular_files
from prloom.engine.plan.plugin_set import PluginSet
from prloom.errors import PrloomError
from prloom.extensions import keys

LONGEST: Final = 1 << 20
"""Bytes of a skill's text."""

_MAIN: Final = ("SKILL.md", "skill.md", "README.md")
"""The files of a skill that is a folder, of which the first that exists is its text."""


class OfferedSkillText(NamedTuple):
    """A skill: `name` is that of its MCP prompt, `uri` that of its resource."""

    name: str
    uri: str
    description: str
    path: Path


def offered(plugins: PluginSet, disabled: Sequence[str] = ()) -> tuple[OfferedSkillText, ...]:
    """Return the skills of all plugins, but for those of plugins that a plan disables."""
    found = []
    for key, skills in plugins.skills(disabled).items():
        slug = keys.slug(key)
        for name, skill in skills.items():
            found.append(
                OfferedSkillText(f"{slug}/{name}", f"skill://{slug}/{name}", skill.description, Path(skill.path))
            )
    return tuple(found)


def text(skill: OfferedSkillText) -> str:
    """Return the text of a skill; raises PrloomError where it cannot be read."""
    path = skill.path
    if path.is_dir():
        path = next((path / name for name in _MAIN if (path / name).is_file()), path / _MAIN[0])
    try:
        content = regular_files.read(path, limit=LONGEST + 1)
    except OSError as error:
        raise PrloomError(f"skill {skill.name}: {path} cannot be read ({error.strerror})") from error
    if len(content) > LONGEST:
        raise PrloomError(f"skill {skill.name}: {path} is larger than {LONGEST} bytes")
    return content.decode("utf-8", "replace")
