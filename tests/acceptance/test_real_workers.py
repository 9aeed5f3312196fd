"""The real agent programs carry out a TODO, with a model server on this machine; see tests/agents/test_real_agents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import environment
import pytest
from model_server import DATA, EACH, PATH, Server, folder_on_disk, require, serving
from real_command import PLAN, Repository

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(600)]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with folder_on_disk() as folder:
        yield folder


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    home = tmp_path / "home"
    home.mkdir()
    return Repository(tmp_path / "repository", home)


@pytest.fixture
def model(repository: Repository, tmp_path: Path) -> Iterator[Server]:
    log = tmp_path / "asked.jsonl"
    log.touch()
    clone = str(repository.root / "prloom/.local/clones" / PLAN)
    with serving(str(DATA / "stub_model.py"), "--log", str(log), "--cwd", clone, log=log) as server:
        yield server


def sign_in(repository: Repository, url: str) -> None:
    """Give the operator each program's settings for the model server."""
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "stub", "models": {"stub-model": {"name": "stub"}}}
    files = {
        ".codex/config.toml": 'model = "stub-model"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nrequest_max_retries = 1\nstream_max_retries = 1\n',
        ".config/opencode/opencode.json": json.dumps(
            {
                "provider": {"stub": provider | {"options": {"baseURL": f"{url}/v1", "apiKey": "key"}}},
                "model": "stub/stub-model",
            }
        ),
        ".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
    }
    home = Path(repository.env["HOME"])
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content)
    repository.env |= {
        "PATH": f"{PATH}{os.pathsep}{repository.env['PATH']}",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-stub",
        "OPENAI_API_KEY": "sk-stub",
        "GEMINI_API_KEY": "stub",
        "GOOGLE_GEMINI_BASE_URL": url,
    }


@pytest.mark.parametrize("sandbox", ["off", "required"])
@pytest.mark.parametrize("name", EACH)
def test_a_real_worker_fails_the_check_once_goes_on_with_its_session_and_completes_the_todo(
    name: str, sandbox: str, repository: Repository, model: Server
) -> None:
    require(name)
    if sandbox == "required":
        repository.env["PATH"] = environment.sandboxed(repository.env["PATH"])
    repository.git("config", "user.name", "Ann")
    repository.git("config", "user.email", "ann@example.com")
    sign_in(repository, f"{model.url}/s/work")
    check = "grep -q written hello.txt"
    (repository.root / "prloom.toml").write_text(
        f'[stages]\ndefault = "{name}"\n[sandbox]\nmode = "{sandbox}"\n[work]\nchecks = [{json.dumps(check)}]\n'
    )
    repository.run("adopt", "--branch", PLAN)
    repository.run("todo", PLAN, "add", "Add hello.txt")

    repository.run("start", "--once", limit=500)

    runs = repository.json("runs")["runs"]
    assert [(run["stage"], run["status"], run["attempt"]) for run in runs] == [
        ("worker", "ok", 1),
        ("check", "failed", 1),
        ("worker", "ok", 2),
        ("check", "ok", 2),
    ], repository.run("why", todo_id(repository)).stdout
    assert repository.git("show", f"{PLAN}:hello.txt") == "written by stub\n"
    assert repository.git("log", "--format=%s", f"main..{PLAN}") == "Add hello.txt\n"
    assert f"Prloom-Todo: {todo_id(repository)}" in repository.git("log", "-1", "--format=%B", PLAN)
    assert sessions(repository) == 1
    # Three calls of the model for each attempt, of 1,234 tokens.
    assert [run["usage"]["inputTokens"] for run in runs if run["stage"] == "worker"] == [3702, 3702]
    (todo,) = repository.json("todo", PLAN)["todos"]
    assert todo["state"] == "done"


def todo_id(repository: Repository) -> str:
    (todo,) = repository.json("todo", PLAN)["todos"]
    return str(todo["id"])


def sessions(repository: Repository) -> int:
    """Return how many sessions the worker had."""
    results = (repository.local / "runs").glob("*-worker-*/result.json")
    return len({json.loads(result.read_text())["sessionId"] for result in results})
