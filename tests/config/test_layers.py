import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from prloom.config import loading
from prloom.config.layers import DEFAULT_WORKTREES_DIR, peek_worktrees_dir
from prloom.config.models import Config
from prloom.errors import ConfigError


def test_the_default_is_that_of_the_whole_configuration() -> None:
    assert Path(DEFAULT_WORKTREES_DIR) == Config().worktrees_dir


def test_without_a_file_worktrees_are_below_prlooms_own_folder(tmp_path: Path) -> None:
    assert peek_worktrees_dir(tmp_path, {}) == tmp_path / "prloom/.local/worktrees"


@pytest.mark.parametrize(
    ("environ", "overrides"),
    [
        ({}, ()),
        ({"PRLOOM_WORKTREES_DIR": "trees"}, ()),
        ({"PRLOOM_WORKTREES_DIR": "7"}, ()),
        ({}, ("worktrees_dir=8",)),
    ],
)
def test_a_peek_finds_what_the_whole_configuration_says(
    tmp_path: Path, environ: Mapping[str, str], overrides: tuple[str, ...]
) -> None:
    (tmp_path / "prloom.toml").write_text('worktrees_dir = "from-file"')

    whole = loading.load(tmp_path, environ, overrides).worktrees_dir

    assert peek_worktrees_dir(tmp_path, environ, overrides) == tmp_path / whole


def test_an_absolute_folder_and_one_at_home_are_taken_as_they_are(tmp_path: Path) -> None:
    assert peek_worktrees_dir(tmp_path, {"PRLOOM_WORKTREES_DIR": "/trees"}) == Path("/trees")
    assert peek_worktrees_dir(tmp_path, {"PRLOOM_WORKTREES_DIR": "~/trees"}) == Path.home() / "trees"


def test_a_mistake_elsewhere_does_not_keep_anybody_from_looking(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").write_text('nonsense = 1\nworktrees_dir = "trees"')

    assert peek_worktrees_dir(tmp_path, {"PRLOOM_NOPE__NOPE": "1"}) == tmp_path / "trees"


def test_a_folder_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").write_text("worktrees_dir = 3")

    with pytest.raises(ConfigError, match=r"^prloom.toml: worktrees_dir is 3; name a folder, in quotes$"):
        peek_worktrees_dir(tmp_path, {})


def test_a_file_that_is_no_toml_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").write_text("worktrees_dir = \n")

    with pytest.raises(ConfigError, match=r"prloom\.toml:1:17: not valid TOML: Invalid value"):
        peek_worktrees_dir(tmp_path, {})


def test_a_peek_does_not_pay_for_pydantic(tmp_path: Path) -> None:
    (tmp_path / "prloom.toml").write_text('worktrees_dir = "trees"')
    program = (
        "import sys, pathlib; from prloom.config.layers import peek_worktrees_dir;"
        "peek_worktrees_dir(pathlib.Path(sys.argv[1]), {'PRLOOM_BASE_BRANCH': 'x'});"
        "print(sorted({'pydantic', 'difflib', 'dataclasses', 'asyncio', 'json'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
