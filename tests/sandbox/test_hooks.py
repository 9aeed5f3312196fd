"""The operator's commit hooks run in the sandbox, with the files that they consist of."""

from __future__ import annotations

import executable
from workbench import Run, Workbench

DONE = {"outcome": "done", "summary": "x", "commitMessage": "Be fast"}


async def test_a_hook_of_husky_finds_the_one_that_it_stands_for(bench: Workbench):
    bench.configure("git_hooks = true", "[limits]\nmax_attempts = 1\n")
    folder = bench.project.root / ".husky"
    found = '$(dirname "$(dirname "$0")")/pre-commit'
    executable.write(folder / "_/pre-commit", f'#!/bin/sh\n[ ! -f "{found}" ] && exit 0\nexec sh "{found}"\n')
    executable.write(folder / "pre-commit", "#!/bin/sh\necho not really\nexit 1\n")
    bench.project.git("config", "core.hooksPath", ".husky/_")
    bench.script(Run({"fast.py": "fast\n"}, answer=DONE))

    await bench.work_on("- [ ] Make it fast")

    assert "the hook pre-commit refused the commit" in bench.block.reason
    assert "not really" in bench.block.reason
