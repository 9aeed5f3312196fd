from __future__ import annotations

from pathlib import Path

import pytest
from stage import Stage
from tool_bench import ToolBench


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    stage = Stage(tmp_path)
    stage.adopt()
    (stage.local() / "plan.md").write_text("# Greet people\n\n- [ ] Say hello\n")
    return ToolBench(stage)
