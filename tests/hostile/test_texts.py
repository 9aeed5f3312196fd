"""Texts and ids from outside, through the real command to the agent's prompt, the terminal, the files and the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import command_line
import pytest
from attacks import CANARY, IDS, TEXTS, Attack
from real_command import Repository

AGENT = r"""
import json, re, sys
prompt = sys.stdin.buffer.read()
open(__file__ + ".prompt", "ab").write(prompt)
text = prompt.decode()
ids = [json.loads(found) for found in re.findall(r"^id: (.*)$", text, re.M)][1:]
body = r"^-----BEGIN body of event \d+ (\S+)-----\n(.*?)\n-----END body of event \d+ \1-----$"
bodies = re.findall(body, text, re.M | re.S)
echo = [body for _, body in bodies]
items = [{"eventId": i, "verdict": "todo", "reply": "Echo: " + echo[n][:3000]} for n, i in enumerate(ids)]
todos = [{"title": echo[n][:300] or "x", "context": echo[n][:3000], "eventIds": [i]} for n, i in enumerate(ids)]
print(json.dumps({"items": items, "todos": todos, "rebaseRequested": False}))
"""

SEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e0fff]"
)
"""What must reach neither an agent nor a terminal."""
SHOWN = (["status"], ["status", "--all"], ["events"], ["why", "t0"], ["doctor"], ["-v", "poll"])


def line(kind: str, data: str) -> str:
    return f'{{"ts":"","kind":"{kind}","schemaVersion":1,"data":{data}}}\n'


KNOWN = '"source":"forge","type":"pr_comment","body":"text","author":{"login":"ann","trust":"write"}'
DEEP_AND_WIDE = "".join((
    "[" * 200_000 + "\n",
    '{"a":' * 200_000 + "\n",
    line("event", "[" * 100_000 + "]" * 100_000),
    line("event", f'{{"id":"d0",{KNOWN},"context":' + '{"d":' * 200 + "1" + "}" * 201),
    line("event", f'{{"id":"d1",{KNOWN},"context":{json.dumps({f"k{n}": n for n in range(100_000)})}}}'),
))  # fmt: skip


@dataclass(frozen=True)
class Played:
    """What came of all attacks, played at once."""

    prompt: str
    outputs: Mapping[str, str]
    replies: str
    todos: list[str]
    states: list[str]
    strays: list[str]
    events_after: int


def lines(attacks: tuple[Attack, ...], letter: str) -> str:
    """Return the bus's lines for texts, whose ids are ours, or for ids, whose texts are."""
    found = ""
    for number, attack in enumerate(attacks):
        ours = letter == "t"
        event = {
            "id": f"t{number}" if ours else attack.payload,
            "source": "forge",
            "type": "pr_comment",
            "title": attack.payload[:500] if ours else "",
            "body": attack.payload if ours else f"text {number}",
            "author": {"login": attack.payload[:80] if ours else "ann", "trust": "write"},
            "url": f"https://forge.example/{attack.payload[:80]}",
        }
        found += json.dumps({"ts": "", "kind": "event", "schemaVersion": 1, "data": event}) + "\n"
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    home = tmp_path_factory.mktemp("hostile")
    repository = Repository(home / "repository", home)
    repository.isolate()
    repository.agent.write_text(AGENT)
    repository.configure()
    repository.run("adopt", "--branch", "work")
    before = strays(home)
    with (repository.local / "bus/events.jsonl").open("a") as file:
        file.write(lines(TEXTS, "t") + DEEP_AND_WIDE + lines(IDS, "i"))
    repository.run("-v", "start", "--once")
    outputs = {" ".join(args): ran(repository, *args) for args in SHOWN}
    outputs |= {
        f"why {attack.name}": ran(repository, "why", "--", attack.payload)
        for attack in IDS
        if "\0" not in attack.payload
    }
    rows = repository.json("events")["events"]
    repository.run("start", "--once")
    return Played(
        prompt=repository.agent.with_name("agent.py.prompt").read_text(),
        outputs=outputs,
        replies=(repository.local / "review.md").read_text(),
        todos=[line for line in (repository.local / "plan.md").read_text().splitlines() if line.startswith("- [")],
        states=[row["state"] for row in rows],
        strays=sorted(set(strays(home)) - set(before)),
        events_after=len(repository.json("events")["events"]),
    )


def ran(repository: Repository, *args: str) -> str:
    ran = command_line.run("-C", str(repository.root), *args)
    return ran.out + ran.err


def strays(home: Path) -> list[str]:
    """Return the names of all files but those of a plan's own folders and of git's."""
    found = [str(path.relative_to(home)) for path in home.rglob("*")]
    return [name for name in found if "/runs/" not in name and ".git" not in name and "/state/" not in name]


@pytest.mark.parametrize("attack", TEXTS, ids=lambda attack: attack.name)
def test_a_text_reaches_the_agent_as_data_only(attack: Attack, played: Played):
    number = TEXTS.index(attack) + 1
    fence = re.search(r"-----BEGIN facts of the plan (\S+)-----", played.prompt)
    assert fence is not None
    outside = re.sub(
        rf"-----BEGIN [^\n]* {fence[1]}-----\n.*?\n-----END [^\n]* {fence[1]}-----", "", played.prompt, flags=re.DOTALL
    )
    assert CANARY not in outside
    inside = played.prompt.split(f"-----BEGIN body of event {number} {fence[1]}-----\n")[1].split(f" {fence[1]}-----")[
        0
    ]
    assert inside.count(CANARY) == attack.payload.count(CANARY)


def test_an_agent_sees_no_character_that_people_do_not_see(played: Played):
    assert SEEN.findall(played.prompt) == []
    assert re.findall("[\u200c\u200d]{2}|[\ufe00-\ufe0f]{2}", played.prompt) == []
    assert "\r" not in played.prompt


def test_no_text_makes_a_prompt_long(played: Played):
    assert len(played.prompt) < 500_000


def test_no_command_sends_a_terminal_what_it_would_obey(played: Played):
    assert {name: SEEN.findall(output) for name, output in played.outputs.items() if SEEN.search(output)} == {}


def test_no_command_stumbles(played: Played):
    assert [name for name, output in played.outputs.items() if "Traceback" in output or "a bug" in output] == []


def test_every_event_comes_to_its_end_whatever_its_text_and_its_id(played: Played):
    assert played.states == ["triaged"] * len(played.states)
    assert len(played.states) == len(TEXTS) + len(["d0", "d1"]) + len({attack.payload for attack in IDS})


def test_what_an_agent_repeats_becomes_neither_an_item_nor_a_todo(played: Played):
    assert played.events_after == len(played.states)
    assert len(played.todos) == len(played.states)
    assert not re.search(r"^- \[.\]", played.replies.partition("## replies")[2], re.MULTILINE)


def test_nothing_is_written_where_it_has_no_business(played: Played):
    assert [name for name in played.strays if CANARY in name or "passwd" in name or name.endswith("..")] == []
    assert [
        name for name in played.strays if not name.startswith(("repository/prloom/.local", "agent.py", "prloom"))
    ] == []
