"""The agent of `prloom demo`: a program that answers a triage prompt as an agent would, and always alike.

It understands nothing: a text that ends in a question mark is answered, any other becomes a TODO.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

REPLY = "It opens the file anew for every name; keeping it open would help."

_FACTS = re.compile(r"^-----BEGIN facts of event (\d+) ")
_BODY = re.compile(r"^-----BEGIN body of event (\d+) ")


def events(prompt: str) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each event that a triage prompt shows."""
    ids: dict[str, str] = {}
    lines = iter(prompt.splitlines())
    for line in lines:
        facts, body = _FACTS.match(line), _BODY.match(line)
        if facts:
            ids[facts[1]] = json.loads(next(lines).removeprefix("id: "))
        elif body and body[1] in ids:
            yield ids[body[1]], "\n".join(_until(lines, line.replace("BEGIN", "END", 1)))


def _until(lines: Iterator[str], end: str) -> Iterator[str]:
    for line in lines:
        if line == end:
            return
        yield line


def answer(prompt: str) -> dict[str, object]:
    """Return the answer to a triage prompt, in the shape that the prompt asks for."""
    items: list[dict[str, object]] = []
    todos: list[dict[str, object]] = []
    for event_id, text in events(prompt):
        if text.rstrip().endswith("?"):
            reply = "It reads the whole file on every call; a cache would help. (The demo agent always says this.)"
            items.append({"eventId": event_id, "verdict": "answered", "reply": reply})
        else:
            items.append({"eventId": event_id, "verdict": "todo", "reply": "Noted as a TODO of the plan."})
            todos.append({"title": text.partition("\n")[0], "context": text, "eventIds": [event_id]})
    return {"items": items, "todos": todos, "rebaseRequested": False}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answer(sys.stdin.read())) + "\n")
