"""The agent of `prloom demo`: a program that answers prompts as an agent would, and always alike.

It understands next to nothing. Of feedback, a text that ends in a question mark is answered, any other becomes a TODO.
As a worker it understands `Replace "this" with "that" in FILE`, and otherwise notes the TODO in a file; where there are
checks it makes a mistake first, so that one can see how prloom has it corrected, and leaves a note for the TODOs after
this one. As a reviewer it rejects what still says FIXME.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_FACTS = re.compile(r"^-----BEGIN facts of event (\d+) ")
_BODY = re.compile(r"^-----BEGIN body of event (\d+) ")
_BEGIN = re.compile(r"^-----BEGIN (?P<label>.+) \S+-----$")
_REPLACE = re.compile(r'replace "(?P<old>[^"]+)" (?:with|by) "(?P<new>[^"]*)" in `?(?P<file>[\w./-]+\w)', re.IGNORECASE)
_FILE = re.compile(r"[\w./-]+\.\w+")
_NOTES = "NOTES.md"
_LESSON = "Run the checks before you say that a TODO is done."

DemoAnswer = dict[str, object]


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


def answer(prompt: str) -> DemoAnswer:
    """Return the answer to a triage prompt, in the shape that the prompt asks for."""
    items: list[DemoAnswer] = []
    todos: list[DemoAnswer] = []
    for event_id, text in events(prompt):
        if text.rstrip().endswith("?"):
            reply = "It reads the whole file on every call; a cache would help. (The demo agent always says this.)"
            items.append({"eventId": event_id, "verdict": "answered", "reply": reply})
        else:
            items.append({"eventId": event_id, "verdict": "todo", "reply": "Noted as a TODO of the plan."})
            todos.append({"title": text.partition("\n")[0], "context": text, "eventIds": [event_id]})
    return {"items": items, "todos": todos, "rebaseRequested": False}


def blocks(prompt: str) -> dict[str, str]:
    """Return the texts that a prompt shows as data, by their labels; what stands around them is under ""."""
    found: dict[str, str] = {}
    around: list[str] = []
    lines = iter(prompt.splitlines())
    for line in lines:
        begun = _BEGIN.match(line)
        if begun:
            found[begun["label"]] = "\n".join(_until(lines, line.replace("BEGIN", "END", 1)))
        else:
            around.append(line)
    return found | {"": "\n".join(around)}


def work(prompt: str, folder: Path) -> DemoAnswer:
    """Carry out the TODO of a worker's prompt in a folder, and return the answer."""
    parts = blocks(prompt)
    said = _work(parts, folder)
    if "failure" in parts and _LESSON not in parts.get("notes", ""):
        said["notes"] = _LESSON
    return said


def _work(parts: dict[str, str], folder: Path) -> DemoAnswer:
    title = next(
        json.loads(line[len("title: ") :]) for line in parts["TODO"].splitlines() if line.startswith("title: ")
    )
    careless = "## Checks" in parts[""] and not {"failure", "notes"} & parts.keys()
    wanted = _REPLACE.search(parts["TODO"].replace('\\"', '"'))
    if title.endswith("?"):
        return _answered("blocked", "This is for a person to decide.", title, question=title)
    if wanted is None:
        return _noted(title, parts["TODO"], folder, careless=careless)
    file = folder / wanted["file"]
    if not _is_inside(file, folder):
        return _answered("blocked", "The file is not there.", title, question=f"Which file is `{wanted['file']}`?")
    return Replacement(file, wanted["old"], wanted["new"]).carry_out(title, careless=careless)


@dataclass(frozen=True)
class Replacement:
    """One text of a file that is to become another one."""

    file: Path
    old: str
    new: str

    def carry_out(self, title: str, *, careless: bool) -> DemoAnswer:
        """Replace the text, with two letters swapped where the agent is careless."""
        before = self.file.read_text("utf-8")
        mistake = misspelt(self.new)
        if careless:
            after = before.replace(self.old, mistake)
        elif mistake in before:
            after = before.replace(mistake, self.new)
        else:
            after = before.replace(self.old, self.new)
        if after == before:
            return _answered("nothing_to_do", f"`{self.file.name}` says so already.", title)
        self.file.write_text(after, "utf-8")
        return _answered("done", f"`{self.file.name}` now says `{self.new}`.", title)


def misspelt(text: str) -> str:
    """Return the text with its first two different neighbouring letters swapped."""
    for at, (first, second) in enumerate(pairwise(text)):
        if first != second and first.isalpha() and second.isalpha():
            return f"{text[:at]}{second}{first}{text[at + 2 :]}"
    return f"{text} "


def _noted(title: str, todo: str, folder: Path, *, careless: bool) -> DemoAnswer:
    """Note the TODO in the first file that it names, or in one for notes; carelessly, as no comment."""
    named = [folder / name for name in _FILE.findall(todo)]
    file = next((each for each in named if _is_inside(each, folder)), folder / _NOTES)
    before = ""
    if file.exists():
        before = file.read_text("utf-8")
    right, wrong = f"# {title}\n", f"{title} (\n"
    if right in before:
        return _answered("nothing_to_do", f"`{file.name}` has it already.", title)
    file.write_text(before.replace(wrong, "") + (wrong if careless else right), "utf-8")
    return _answered("done", f"Noted in `{file.name}`. (The demo agent can do no more.)", title)


def _is_inside(file: Path, folder: Path) -> bool:
    return file.is_file() and file.resolve().is_relative_to(folder.resolve())


def _answered(outcome: str, summary: str, title: str, *, question: str | None = None) -> DemoAnswer:
    return {
        "outcome": outcome,
        "summary": summary,
        "commitMessage": title,
        "question": question,
        "todos": [],
        "notes": None,
    }


def review(prompt: str) -> DemoAnswer:
    """Return the verdict on the change that a reviewer's prompt shows."""
    added = [line for line in blocks(prompt)["diff"].splitlines() if line.startswith("+")]
    if any("FIXME" in line for line in added):
        return {"verdict": "reject", "comments": [], "summary": "It still says FIXME."}
    return {"verdict": "approve", "comments": [], "summary": "It does what the TODO asks for."}


def respond(prompt: str, folder: Path) -> DemoAnswer:
    """Return the answer to any prompt of prloom."""
    heading = prompt.partition("\n")[0]
    if heading.startswith("# Carry out"):
        return work(prompt, folder)
    if heading.startswith("# Review"):
        return review(prompt)
    return answer(prompt)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(respond(sys.stdin.read(), Path.cwd())) + "\n")
