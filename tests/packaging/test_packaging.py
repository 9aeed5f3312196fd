"""However prloom was installed, it finds the same extensions and the same texts."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LOOK = """
import json
from pathlib import Path
from prloom.config.models import Config
from prloom.engine import configured_bridges
from prloom.extensions import discovery
from prloom.core.prompts import prompt_text
found = discovery.discover(discovery.PluginPaths(bundled=discovery.bundled("plugins")))
loaded = configured_bridges.load(Path("."), Config())
print(json.dumps({
    "plugins": sorted([p.key, p.source, p.error] for p in found),
    "bridges": sorted(b.name for b in loaded.loaded), "failed": list(loaded.failed),
    "prompt": bool(prompt_text._templates().get_template("triage.md.j2")),
}))
"""


def seen(path: Path, cwd: Path) -> str:
    """Return what a prloom that lies at the path finds."""
    env = {"PYTHONPATH": str(path), "PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    ended = subprocess.run([sys.executable, "-c", LOOK], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def built(folder: Path, *, through_sdist: bool) -> Path:
    """Build the wheel, from the tree or from the source distribution, and return it unpacked."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(ROOT)]
    command += [] if through_sdist else ["--wheel"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize("through_sdist", [False, True], ids=["from the tree", "from the source distribution"])
def test_a_wheel_finds_the_extensions_that_a_checkout_finds(tmp_path: Path, *, through_sdist: bool):
    site = built(tmp_path, through_sdist=through_sdist)

    assert seen(site, tmp_path) == seen(ROOT, tmp_path)


def test_a_checkout_finds_the_bundled_extensions(tmp_path: Path):
    found = seen(ROOT, tmp_path)

    assert '"local"' in found
    assert '["memory", "bundled", null]' in found
    assert '"failed": []' in found
