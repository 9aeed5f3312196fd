from __future__ import annotations

import os
from pathlib import Path

import pytest

from prloom.engine.tools import skills
from prloom.engine.tools.skills import OfferedSkillText
from prloom.errors import PrloomError


def a_skill(path: Path) -> OfferedSkillText:
    return OfferedSkillText("house/review", "skill://house/review", "How we review", path)


def test_a_skill_is_its_file_or_the_main_file_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("Read all of it.")

    assert skills.text(a_skill(tmp_path)) == skills.text(a_skill(tmp_path / "SKILL.md")) == "Read all of it."


def test_a_pipe_in_the_place_of_a_skill_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    os.mkfifo(file)

    for path in (tmp_path, file):
        with pytest.raises(PrloomError) as raised:
            skills.text(a_skill(path))
        assert str(raised.value) == f"skill house/review: {file} cannot be read (It is not a regular file)"
