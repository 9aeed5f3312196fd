"""`prloom demo` in a sandbox that hides the folder in which prloom is installed."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import prloom


def test_the_demo_comes_to_its_end_where_prloom_is_in_a_temporary_folder(tmp_path: Path):
    package = Path(prloom.__file__).parent
    shutil.copytree(package, tmp_path / "own/prloom", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("bridges", "plugins", "pyproject.toml"):
        (tmp_path / "own" / name).symlink_to(package.parent / name)
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (site / "own.pth").write_text(f"{tmp_path / 'own'}\n{sysconfig.get_path('purelib')}\n")

    told = subprocess.run(
        [tmp_path / "venv/bin/python", "-m", "prloom", "demo"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (told.returncode, told.stderr) == (0, "")
    assert 'Replace "Good day" with "Welcome" in greet.py' in told.stdout
