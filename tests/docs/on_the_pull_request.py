"""Play a conversation on a pull request, and write it down as its author sees it.

`make conversation` writes docs/on-the-pull-request.md anew.
"""

# ruff: noqa: E402 - prloom is to be that of this tree, and not one that is installed

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/kit"), str(ROOT)]

from fake_github.things import Post
from played_forge import PlayedForge, Reader

PAGE = ROOT / "docs/on-the-pull-request.md"

HEAD = """<!-- Written by `make conversation`: change the program, not this page. -->
# On the pull request

This is a whole conversation on a pull request, as its people see it. Ada runs prloom, so that it posts with her
account. Ann and Bob may write to the repository, and Eve may not. The forge and the agents' answers are played; all
else is what prloom does.
"""

CONFIG = """
[work]
checks = ["make test"]
"""

PLAN = """---
status: queued
---
# Import large files piece by piece

An import reads the whole file, so that one of 4 GB needs 4 GB of memory. It is to read one piece at a time.

## TODO

- [ ] Rename the variable that holds the whole file.
- [ ] Read one piece at a time
- [ ] Choose how large a piece is
"""

ATTEMPTS_THAT_FAIL = 2
QUESTION = "Should the size of a piece be a setting, or always 64 KiB?"

SAID: Mapping[str, Mapping[str, Any]] = {
    "Could `buf`": {"verdict": "todo", "reply": None, "todos": [{"title": "Rename `buf` to `piece`"}]},
    "Why not `mmap`": {
        "verdict": "answered",
        "reply": "`mmap` needs a real file, and imports also come through a pipe (`src/engine.py:31`).",
    },
    "A comment here": {"verdict": "todo", "reply": None, "todos": [{"title": "Explain the loop in a comment"}]},
    "Please make 65536": {
        "verdict": "todo",
        "reply": "I will do both. `load()` stays as it is, because others call it.",
        "todos": [{"title": "Make 65536 a constant"}, {"title": "Close the file in every case"}],
    },
    "The errors need tests": {"verdict": "todo", "reply": None, "todos": [{"title": "Test the errors"}]},
    "Just delete": {
        "verdict": "declined",
        "reply": "I leave `test_slow` in: it is the only test of a file above 2 GB.",
    },
    "Nice": {"verdict": "acknowledged", "reply": None},
    "Make the progress bar": {"verdict": "todo", "reply": None, "todos": [{"title": "Make the progress bar smooth"}]},
    "CSV": {"verdict": "answered", "reply": "This pull request is about the import of binary files only."},
    "A generator": {
        "verdict": "todo",
        "reply": "I will, with a wrapper for the callers that need a list.",
        "todos": [{"title": "Turn `pieces()` into a generator"}],
    },
}
DONE: Mapping[str, str] = {
    "Rename the variable that holds the whole file.": "`data` is now `content` in `src/engine.py`.",
    "Read one piece at a time": "`load()` reads one piece, hands it on, and reads the next.",
    "Choose how large a piece is": "A piece is 64 KiB, or what `[import] piece` says.",
    "Rename `buf` to `piece`": "Renamed in `src/engine.py` and its test.",
    "Explain the loop in a comment": "The comment says why the last piece may be short.",
    "Make 65536 a constant": "`PIECE = 65_536`, at the top of `src/engine.py`.",
    "Close the file in every case": "A `with` block closes the file, also after an error.",
    "Test the errors": "`tests/test_errors.py` has a test for each of the three errors.",
    "Make the progress bar smooth": "The bar moves with each piece.",
    "Turn `pieces()` into a generator": "`pieces()` yields; `all_pieces()` returns the list.",
    "Make the failed check pass: tests": "The test expected the old name `buf`.",
}


class Story:
    """The conversation: ann wrote the code that is changed, bob reviews, eve may not write, and ada runs prloom."""

    def __init__(self, folder: Path) -> None:
        self.forge = PlayedForge(folder, _triage, self._work, config=CONFIG)
        (self.forge.root / "Makefile").write_text("test:\n\t@true\n")
        self.forge.git("add", "Makefile", "prloom.toml")
        self.forge.git("commit", "--quiet", "--message=tests")
        self.forge.git("push", "--quiet", "origin", "main")
        for login, role in (("ann", "write"), ("bob", "write"), ("eve", "none")):
            self.forge.hub.person(login, role)
        self._asked = False
        self._tried = 0
        self._reader = Reader(self.forge)
        self._parts: list[str] = []
        self._told: set[int] = set()

    def _work(self, title: str) -> Mapping[str, Any]:
        if title.startswith("Choose") and not self._asked:
            self._asked = True
            return {"outcome": "blocked", "summary": "It is not said how large a piece is.", "question": QUESTION}
        if title.startswith("Make the progress bar"):
            self._tried += 1
            if self._tried <= ATTEMPTS_THAT_FAIL:
                return {"outcome": "unsure"}
        return {"outcome": "done", "summary": DONE[title], "commitMessage": title}

    async def play(self) -> str:
        """Let everybody speak, and return the page."""
        forge, hub = self.forge, self.forge.hub
        forge.plan("large-imports", PLAN)
        await forge.tick()
        pull = forge.pull
        self._describe("## prloom opens the pull request")
        hub.comment(pull, "ann", "Could `buf` be called `piece`?\n\nIt confuses me each time.")
        hub.comment(pull, "bob", "Why not `mmap`?")
        await forge.tick(3)
        hub.comment(pull, "ann", "64 KiB is fine as a default, and it should be a setting.")
        await forge.tick()
        hub.inline(pull, "ann", "A comment here, please.")
        hub.inline(pull, "bob", "Please make 65536 a constant, and close the file.")
        hub.review(pull, "bob", "CHANGES_REQUESTED", "The errors need tests.")
        await forge.tick(4)
        self._talk("## People ask, request and review")
        self._describe("The description, meanwhile:")
        hub.comment(pull, "ann", "Just delete `test_slow`.")
        hub.comment(pull, "ann", "Nice!")
        hub.comment(pull, "bob", "A generator would read better.")
        hub.comment(pull, "eve", "CSV would be useful too!")
        await forge.tick(4)
        hub.comment(pull, "ann", "/prloom status")
        await forge.tick()
        hub.comment(pull, "ann", "/prloom approve")
        await forge.tick(2)
        self._talk("## More requests, and a stranger")
        hub.comment(pull, "ann", "Make the progress bar smooth.")
        await forge.tick(4)
        self._talk("## Something goes wrong")
        self._describe("The description says so, too:")
        hub.comment(pull, "ann", "/prloom status")
        await forge.tick()
        hub.comment(pull, "ann", "/prloom resume")
        await forge.tick(3)
        self._talk("")
        hub.check(pull, "tests", "failure", log="E  NameError: name 'buf' is not defined\n1 failed")
        await forge.tick(4)
        self._talk("## A check fails")
        hub.merge(pull, "bob")
        await forge.tick(2)
        self._describe("## bob merges it")
        self._talk("")
        return "\n\n".join(filter(None, (HEAD.strip(), *self._parts))) + "\n"

    def _describe(self, heading: str) -> None:
        shown = self._reader.text(self.forge.pull.body)
        self._parts += [heading, "\n".join(f"> {line}".rstrip() for line in shown.splitlines())]

    def _talk(self, heading: str) -> None:
        """Show what has been said since."""
        posts: list[Post] = [post for post in self._reader.posts() if post.id not in self._told]
        self._told |= {post.id for post in posts}
        self._parts += [heading, *map(self._reader.shown, posts)]


def _triage(text: str) -> Mapping[str, Any]:
    said = (answer for start, answer in SAID.items() if text.startswith(start))
    return next(said, {"verdict": "acknowledged", "reply": None})


def page(folder: Path) -> str:
    """Return the page."""
    return asyncio.run(Story(folder.resolve()).play())


if __name__ == "__main__":
    with TemporaryDirectory(prefix="prloom-conversation-") as made:
        PAGE.write_text(page(Path(made)), "utf-8")
