from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from request_bench import RequestBench


@pytest.fixture
def closed(tmp_path: Path) -> RequestBench:
    return RequestBench(tmp_path)


@pytest.fixture
def bench(closed: RequestBench) -> Iterator[RequestBench]:
    with closed.open():
        yield closed
