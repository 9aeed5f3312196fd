"""However prloom was installed, it finds the same extensions and the same texts."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

LOOK = """
import json
from pathlib import Path
from prloom.config.models import Config
from prloom.engine import configured_bridges
from prloom import bundled
from prloom.extensions import discovery
from prloom.core.prompts import prompt_text
found = discovery.discover(discovery.PluginPaths(bundled=bundled.folder("plugins")))
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


def test_a_wheel_of_the_source_distribution_finds_the_extensions_that_a_checkout_finds(tmp_path: Path):
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")

    found = seen(tmp_path / "site", tmp_path)

    assert found == seen(ROOT, tmp_path)
    assert '"local"' in found
    assert '["memory", "bundled", null]' in found
    assert '"failed": []' in found
