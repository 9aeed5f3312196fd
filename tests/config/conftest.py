"""A repository that has, or has not, a prloom.toml."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from prloom.config import loading
from prloom.config.models import Config
from prloom.errors import ConfigError

Load = Callable[..., Config]
Complaints = Callable[..., list[str]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load a configuration whose prloom.toml has this text."""

    def _load(
        toml: str = "",
        environ: Mapping[str, str] | None = None,
        overrides: Iterable[str] = (),
        preset: str | None = None,
    ) -> Config:
        (tmp_path / "prloom.toml").write_text(toml, encoding="utf-8")
        return loading.load(tmp_path, environ or {}, overrides, preset)

    return _load


@pytest.fixture
def complaints(load: Load) -> Complaints:
    """Return the lines with which a configuration is refused."""

    def _complaints(
        toml: str = "", environ: Mapping[str, str] | None = None, overrides: Iterable[str] = ()
    ) -> list[str]:
        with pytest.raises(ConfigError) as refused:
            load(toml, environ, overrides)
        return str(refused.value).split("\n")

    return _complaints
