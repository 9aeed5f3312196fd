"""What a dispatcher that is killed leaves behind, and what the next one makes of it: with the real command."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import command_server
import environment
import pytest
import waiting
from command_server import ForkedProcess
from project import Project
from stage import Stage, said

from prloom import processes

AGENT = """
import json, os, re, sys, time
here = os.path.dirname(os.path.abspath(__file__))
prompt = sys.stdin.read()
ids = [json.loads(found) for found in re.findall(r"BEGIN facts of event .*\\nid: (.*)", prompt)]
open(os.path.join(here, "begun"), "a").write(" ".join(ids) + "\\n")
while not os.path.exists(os.path.join(here, "go")):
    time.sleep(0.01)
items = [{"eventId": i, "verdict": "todo", "reply": f"On {i}."} for i in ids]
print(json.dumps({"items": items, "todos": [{"title": f"do {i}", "eventIds": [i]} for i in ids]}))
"""


class Killed:
    """A repository whose dispatcher the test kills while the agent is at work."""

    def __init__(self, project: Project, stage: Stage, home: Path) -> None:
        home.mkdir()
        (home / "agent.py").write_text(AGENT)
        self.root, self.stage, self.home = project.root, stage, home
        argv = json.dumps([*environment.AGENT_PYTHON, str(home / "agent.py")])
        stage.configure(f'[stages]\ndefault = "command"\n[agents.command]\nargv = {argv}\n[work]\nmode = "off"\n')
        project.adopt(stage)
        self.env: Mapping[str, str] = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PRLOOM_HOME": str(home / "prloom"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PRLOOM_PLUGINS__ISOLATION": "inline",  # a start of Python for each plugin says nothing here
        }

    def start(self, *args: str) -> ForkedProcess:
        with (self.home / "said").open("ab") as said_so:
            return command_server.begin(["start", *args], cwd=self.root, env=self.env, said=said_so)

    def said(self) -> str:
        """Return what all dispatchers have said."""
        return (self.home / "said").read_text()

    def once(self) -> None:
        ended = command_server.run(["start", "--once"], cwd=self.root, env=self.env)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def kill_while_the_agent_works(self) -> None:
        dispatcher = self.start("--once")
        waiting.until(lambda: self.begun() > 0)
        dispatcher.send_signal(signal.SIGKILL)
        dispatcher.wait(60)

    def begun(self) -> int:
        """Return how many runs the agent has begun."""
        file = self.home / "begun"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def go(self) -> None:
        (self.home / "go").touch()

    def run(self) -> Path:
        (folder,) = (self.stage.local("work") / "runs").iterdir()
        return folder

    def supervised(self) -> Mapping[str, Any]:
        supervisor = self.run() / "supervisor.json"
        waiting.until(supervisor.exists)  # it is written just after the agent is started
        return json.loads(supervisor.read_text())

    def review(self) -> str:
        return (self.stage.local("work") / "review.md").read_text()


@pytest.fixture
def killed(project: Project, git_stage: Stage, tmp_path: Path) -> Iterator[Killed]:
    found = Killed(project, git_stage, tmp_path / "home")
    git_stage.append(said("a", source="ci", reply_to=None, pr=None), plan_id="work")
    yield found
    found.go()


def test_the_answer_of_a_run_that_outlived_its_dispatcher_is_used_and_no_second_agent_runs(killed: Killed):
    killed.kill_while_the_agent_works()
    pid = killed.supervised()["supervisor"]["pid"]
    assert processes.living(pid)
    killed.go()
    waiting.until(lambda: not processes.living(pid))

    killed.once()

    assert killed.begun() == 1
    assert killed.stage.state("work")["done"] == {"triaged": 1}
    assert killed.review().count("On a.") == 1


def test_a_run_that_still_goes_on_is_waited_for(killed: Killed):
    killed.kill_while_the_agent_works()
    dispatcher = killed.start("--once")
    owner = killed.root / "prloom/.local/dispatcher.owner.json"
    waiting.until(lambda: json.loads(owner.read_text())["pid"] == dispatcher.pid)
    killed.go()

    assert dispatcher.wait(60) == 0
    assert killed.begun() == 1
    assert killed.review().count("On a.") == 1


def test_where_the_supervisor_was_killed_too_the_run_is_begun_again_and_counts_as_no_attempt(killed: Killed):
    killed.kill_while_the_agent_works()
    watched = killed.supervised()
    os.kill(watched["supervisor"]["pid"], signal.SIGKILL)
    dispatcher = killed.start("--once")
    waiting.until(lambda: killed.begun() == 2)
    assert not processes.living(watched["agent"]["pid"])
    killed.go()

    dispatcher.wait(60)

    verdicts = [
        change["verdict"] for decision in killed.stage.decisions("work") for change in decision.get("changes", ())
    ]
    assert verdicts == ["admitted", "started", "cut_short", "started", "todo"]
    assert killed.review().count("On a.") == 1


def test_a_dispatcher_that_is_asked_to_end_does_so_within_seconds_and_takes_its_agent_along(killed: Killed):
    dispatcher = killed.start()
    waiting.until(lambda: killed.begun() > 0 and (killed.run() / "supervisor.json").exists())
    agent = killed.supervised()["agent"]["pid"]
    dispatcher.send_signal(signal.SIGINT)

    code = dispatcher.wait(60)  # its agent takes ten minutes

    assert code == 130, killed.said()
    waiting.until(lambda: not processes.living(agent))
    assert killed.stage.open("work")["a"]["state"] == "pending"


def test_p9_a_second_dispatcher_says_who_has_the_repository_and_exits(killed: Killed):
    first = killed.start()
    waiting.until(lambda: killed.begun() > 0)

    second = killed.start("--once")
    code = second.wait(60)

    assert code == 1
    refused = [line for line in killed.said().splitlines() if "already runs here" in line]
    assert len(refused) == 1
    assert f"a dispatcher already runs here: process {first.pid}" in refused[0]
    first.send_signal(signal.SIGTERM)
    first.wait(60)


def test_p9_after_a_kill_the_next_dispatcher_has_the_repository_at_once(killed: Killed):
    killed.kill_while_the_agent_works()
    killed.go()

    killed.once()

    assert killed.stage.open("work") == {}
