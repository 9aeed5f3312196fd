"""Background plugins through the real command: hooks, orders, settings, and a dispatcher that is killed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_server import ForkedProcess
from real_command import Repository
from waiting import until

from prloom import processes

DAEMON = """
import json, os, socket

with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(os.environ["PRLOOM_SOCKET_PATH"])
    listening.listen()
    while True:
        connection, _ = listening.accept()
        with connection, connection.makefile("rw") as stream:
            for line in stream:
                request = json.loads(line)
                if "id" not in request:
                    continue
                result = {}
                if request["method"] == "run_hook":
                    events = request["params"]["call"]["events"]
                    comment = {"type": "comment", "message": os.environ["PLUGIN_CONFIG_GREETING"]}
                    target = {"target": "plan"}
                    result = {
                        "marks": [{"eventId": each["id"], "verdict": "handled"} for each in events],
                        "actions": [
                            {"target": target, "relatedEventId": each["id"], "payload": comment}
                            for each in events
                        ],
                    }
                stream.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\\n")
                stream.flush()
"""
MANIFEST = """
name: greeter
background:
  command: python3
  args: [daemon.py]
  startup_timeout: 60000
  shutdown_grace_period: 1000
  healthcheck: {timeout: 60000}
provides_hooks: [beforeTriage]
config_schema:
  greeting: {type: string, required: true}
  token: {type: string, secret: true}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo", tmp_path)
    folder = made.root / "prloom/plugins/greeter"
    folder.mkdir(parents=True)
    (folder / "daemon.py").write_text(DAEMON)
    (folder / "plugin.yaml").write_text(MANIFEST)
    made.configure('[plugins]\nenabled = ["greeter"]\n[plugins.settings.greeter]\ngreeting = "Hello from the daemon"\n')
    return made


@pytest.fixture
def running(repository: Repository) -> Iterator[ForkedProcess]:
    """Run the dispatcher until the test is over."""
    with (repository.root / "start.log").open("wb") as log:
        started = repository.begin("start", said=log)
    yield started
    if started.poll() is None:
        started.send_signal(signal.SIGTERM)
        started.wait()


def daemon(repository: Repository) -> Any:
    return repository.json("plugins", "status")["plugins"][0]


def test_a_daemon_answers_a_hook_of_start_once_and_is_gone_afterwards(repository: Repository):
    repository.run("adopt", "--branch", "work")
    repository.run("emit", "work", "--id", "c-1", "--body", "Hi")

    repository.run("start", "--once")

    assert "Hello from the daemon" in (repository.local / "review.md").read_text()
    assert repository.json("events", "work")["events"][0]["state"] == "handled"
    assert repository.agent_runs == 0
    assert (daemon(repository)["state"], daemon(repository)["pid"]) == ("stopped", None)


def test_a_daemon_is_stopped_and_started_by_orders_and_gone_after_a_kill_of_the_dispatcher(
    repository: Repository, running: ForkedProcess
):
    until(lambda: daemon(repository)["state"] == "running")
    repository.run("plugins", "stop", "greeter")
    assert daemon(repository)["state"] == "stopped"
    repository.run("plugins", "restart", "greeter")
    pid = daemon(repository)["pid"]
    assert processes.living(pid)

    os.kill(running.pid, signal.SIGKILL)
    running.wait()

    until(lambda: not processes.living(pid))
    assert daemon(repository)["state"] == "stopped"


def switch_off(repository: Repository) -> None:
    repository.configure("")


def remove(repository: Repository) -> None:
    shutil.rmtree(repository.root / "prloom/plugins/greeter")


def take_out_the_daemon(repository: Repository) -> None:
    (repository.root / "prloom/plugins/greeter/plugin.yaml").write_text("name: greeter\n")
    (repository.root / "prloom/plugins/greeter/__init__.py").write_text("def register(ctx): pass\n")


def break_manifest(repository: Repository) -> None:
    (repository.root / "prloom/plugins/greeter/plugin.yaml").write_text("name: [greeter\n")


LEFT_OUT = "the dispatcher's next start leaves it out: "


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (switch_off, f"{LEFT_OUT}not enabled; `prloom plugins enable greeter` enables it"),
        (remove, f"{LEFT_OUT}it cannot be loaded: plugins.enabled: there is no plugin"),
        (take_out_the_daemon, f"{LEFT_OUT}its manifest has no `background`"),
        (break_manifest, "it cannot be loaded: "),
    ],
)
def test_a_daemon_whose_plugin_is_not_to_run_any_more_is_shown_with_the_reason_and_stopped_by_an_order(
    repository: Repository, running: ForkedProcess, change: Callable[[Repository], None], reason: str
):
    until(lambda: daemon(repository)["state"] == "running")
    pid = daemon(repository)["pid"]
    change(repository)

    shown = daemon(repository)
    assert (shown["name"], shown["state"], shown["pid"]) == ("greeter", "running", pid)
    assert reason in shown["reason"]
    refused = repository.run("plugins", "restart", "greeter", code=1).stderr
    assert "the daemon of plugin greeter cannot be started again: " in refused
    assert reason.removeprefix(LEFT_OUT) in refused
    assert "`prloom plugins stop greeter` stops the daemon that runs" in refused
    assert "registered no action" in repository.run("action", "greeter", "wave", code=1).stderr
    assert processes.living(pid)

    assert "The daemon of greeter is stopped." in repository.run("plugins", "stop", "greeter").stdout
    assert not processes.living(pid)
    repository.run("plugins", "stop", "greeter")
    assert not [each for each in repository.json("plugins", "status")["plugins"] if each["state"] == "stopped"]


def test_a_daemon_is_stopped_while_prloom_toml_cannot_be_read(repository: Repository, running: ForkedProcess):
    until(lambda: daemon(repository)["state"] == "running")
    pid = daemon(repository)["pid"]
    (repository.root / "prloom.toml").write_text("[plugins\n")

    repository.run("plugins", "stop", "greeter")

    assert not processes.living(pid)


def test_an_order_from_a_shell_with_another_runtime_folder_reaches_the_dispatcher(
    repository: Repository, running: ForkedProcess, tmp_path: Path
):
    until(lambda: daemon(repository)["state"] == "running")
    (tmp_path / "cron").mkdir(mode=0o700)
    repository.env["XDG_RUNTIME_DIR"] = str(tmp_path / "cron")

    repository.run("plugins", "stop", "greeter")

    assert daemon(repository)["state"] == "stopped"
    assert not list((tmp_path / "cron").iterdir())


def test_a_plugin_without_its_settings_is_not_started_until_they_are_given_and_a_secret_is_kept_elsewhere(
    repository: Repository, running: ForkedProcess
):
    repository.configure('[plugins]\nenabled = ["greeter"]\n')
    until(lambda: daemon(repository)["state"] != "stopped")
    failed = repository.run("plugins", "restart", "greeter", code=1).stderr
    assert "its required settings are missing: greeting; run `prloom plugins config greeter`" in failed

    repository.run("plugins", "config", "greeter", "--set", "greeting=Hi", "--set", "token=a-secret")

    assert daemon(repository)["state"] == "running"
    assert "a-secret" not in (repository.root / "prloom.toml").read_text()
    (kept,) = Path(repository.env["PRLOOM_HOME"]).glob("secrets/*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    activity = (repository.root / "prloom/.local/activity.jsonl").read_text()
    assert [kind in activity for kind in ("PLUGIN_CONFIG_REQUEST", "PLUGIN_CONFIG_COMPLETE")] == [True, True]


def test_without_a_dispatcher_an_order_says_what_to_do(repository: Repository):
    assert (
        "no dispatcher is running; `prloom start` runs it"
        in repository.run("plugins", "start", "greeter", code=1).stderr
    )
    assert (
        "no plugin greter with a background process is enabled; did you mean greeter?"
        in repository.run("plugins", "logs", "greter", code=1).stderr
    )
