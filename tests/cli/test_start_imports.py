from __future__ import annotations

import subprocess
import sys


def test_a_start_waits_for_no_library_that_only_a_request_or_a_prompt_needs() -> None:
    program = (
        "import sys; from prloom.cli import start; from prloom.engine import dryrun;"
        "from prloom.engine.assembly import dispatcher;"
        "print(sorted({'httpx', 'jinja2', 'rich', 'git', 'psycopg'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
