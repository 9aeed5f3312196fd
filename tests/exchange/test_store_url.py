from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import git_folder
import pytest

from prloom.exchange import store_url
from prloom.exchange.errors import StoreError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(store_url.VARIABLE, raising=False)


@pytest.mark.parametrize("server", store_url.SERVERS, ids=lambda server: server.product)
def test_each_server_has_a_store_and_an_extra_that_installs_its_library(server: store_url.ServerStore):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert isinstance(getattr(import_module(server.module), server.store), type)
    assert any(each.startswith(server.library) for extra in extras.values() for each in extra)
    assert server.schemes[0] in store_url.NAMES


def test_the_environment_names_the_exchange_where_the_call_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(store_url.VARIABLE, str(tmp_path / "named.db"))

    store_url.open_store(start=tmp_path).close()

    assert (tmp_path / "named.db").exists()


def test_a_repository_has_its_own_exchange_which_is_found_from_below(tmp_path: Path):
    git_folder.make(tmp_path / ".git")
    (tmp_path / "deep/down").mkdir(parents=True)

    store_url.open_store(start=tmp_path / "deep/down").close()

    assert (tmp_path / "prloom/.local/exchange.db").exists()
    assert (tmp_path / "prloom/.local").stat().st_mode & 0o777 == 0o700


def test_git_ignores_a_repositorys_exchange_without_prloom_init(tmp_path: Path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    store_url.open_store(start=tmp_path).close()

    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, check=True, capture_output=True, text=True).stdout == ""


def test_a_folder_that_was_there_before_is_left_as_it_is(tmp_path: Path):
    git_folder.make(tmp_path / ".git")
    (tmp_path / "prloom/.local").mkdir(parents=True)

    store_url.open_store(start=tmp_path).close()

    assert not (tmp_path / "prloom/.local/.gitignore").exists()


def test_outside_of_a_repository_an_exchange_has_to_be_named(tmp_path: Path):
    with pytest.raises(
        StoreError, match=r"no git repository at .*; or name a database with --database or PRLOOM_EXCHANGE"
    ):
        store_url.open_store(start=tmp_path)


@pytest.mark.parametrize("link", ["prloom", "prloom/.local"])
def test_a_repositorys_folder_that_is_a_link_is_refused(tmp_path: Path, link: str):
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    git_folder.make(repository / ".git")
    outside.mkdir()
    (repository / link).parent.mkdir(exist_ok=True)
    (repository / link).symlink_to(outside)

    with pytest.raises(StoreError, match=rf"{link} is a symbolic link; remove it, or name a database with"):
        store_url.open_store(start=repository)

    assert list(outside.iterdir()) == []


def test_opening_a_database_imports_nothing_heavy(tmp_path: Path):
    program = (
        "import sys; from prloom.exchange import connect; connect(sys.argv[1]).publish('t', 'x');"
        "heavy = ('asyncio', 'pydantic', 'rich', 'click', 'psycopg', 'multiprocessing');"
        "print([name for name in heavy if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "my.db"], capture_output=True, text=True, check=False
    )

    assert (ended.stdout, ended.stderr) == ("[]\n", "")
