"""The documents, cut into what can be checked: links, headings, and blocks of code, each with what is to be done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import command_server
import pytest

ROOT = Path(__file__).parents[2]
PAGES = tuple(sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))))

_BLOCK = re.compile(
    r"^(?:<!-- (?P<does>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code; `does` is the comment before it, which says what is to be done with it."""

    page: Path
    line: int
    language: str
    text: str
    does: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Page:
    """A document."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def blocks(self) -> tuple[Block, ...]:
        text = self.text
        return tuple(
            Block(
                self.path, text.count("\n", 0, found.start()) + 1, found["language"], found["text"], found["does"] or ""
            )
            for found in _BLOCK.finditer(text)
        )

    @property
    def prose(self) -> str:
        """The text without blocks of code."""
        return _BLOCK.sub("", self.text)

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(found["target"] for found in _LINK.finditer(_CODE.sub("", self.prose)))

    @property
    def anchors(self) -> frozenset[str]:
        """What a link to a heading may be, as forges make them."""
        slugs: dict[str, int] = {}
        found = set()
        for heading in _HEADING.finditer(self.prose):
            slug = re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-")
            count = slugs.get(slug, 0)
            slugs[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
        return frozenset(found)

    def section(self, heading: str) -> str:
        """Return the text under a heading, up to the next one of its level or above."""
        text = self.text
        masked = _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)  # a comment in code is no heading
        start = re.search(rf"^(#+) +{re.escape(heading)}$", masked, re.MULTILINE)
        assert start is not None, f"{self} has no heading {heading!r}"
        end = re.compile(rf"^#{{1,{len(start[1])}}} ", re.MULTILINE).search(masked, start.end())
        return text[start.end() : end.start() if end else None]


ALL = tuple(Page(path) for path in PAGES)
BLOCKS = tuple(block for page in ALL for block in page.blocks)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for a page, or for blocks of a language, all that there are."""
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", ALL, ids=str)
    for language in ("json", "toml", "python"):
        if f"{language}_block" in metafunc.fixturenames:
            blocks = [block for block in BLOCKS if block.language == language]
            metafunc.parametrize(f"{language}_block", blocks, ids=str)
    if "record_block" in metafunc.fixturenames:
        metafunc.parametrize("record_block", [block for block in BLOCKS if block.does.startswith("record ")], ids=str)
    if "walked" in metafunc.fixturenames:
        walks = [page for page in ALL if any(_is_walked(block) for block in page.blocks)]
        metafunc.parametrize("walked", walks, ids=str)


@pytest.fixture
def named() -> Callable[[str], Page]:
    """Return the page of a name, from the root of the repository."""
    return lambda name: Page(ROOT / name)


@pytest.fixture
def root() -> Path:
    return ROOT


def _is_walked(block: Block) -> bool:
    return block.does.startswith("file ") or (block.does == "run" and block.language == "console")


@dataclass
class Ran:
    """How a program ended, and all that it printed."""

    code: int
    said: str


INLINE = "PRLOOM_PLUGINS__ISOLATION"
"""Python is started for each plugin that has a process of its own: most of what a short run of prloom costs."""


class Shop:
    """A new git repository of somebody who follows a page, and a shell in it."""

    def __init__(self, folder: Path, agent: list[str]) -> None:
        self.folder = folder / "shop"
        home = folder / "home"
        home.mkdir()
        self.folder.mkdir()
        programs = os.pathsep.join(
            (sysconfig.get_path("scripts"), str(Path(sys.executable).parent), os.environ["PATH"])
        )
        self.environ = {
            "PATH": programs,
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            # The agent of the reader's machine: what a page says of agents itself is stronger by its own file.
            "PRLOOM_STAGES__DEFAULT": "command",
            "PRLOOM_AGENTS__COMMAND__ARGV": json.dumps(agent),
            INLINE: "inline",
        }
        commands = folder / "commands"
        commands.mkdir()
        variable, self._inherited = command_server.shell_command(commands)
        self._forked = {"PATH": f"{commands}{os.pathsep}{programs}", **variable}
        self.run("git init -q -b main && echo 'TIMEOUT = 2' > app.py && git add app.py && git commit -q -m 'Begin'")

    def isolate(self) -> None:
        """Give each plugin a process of its own, as a reader has it."""
        self.environ.pop(INLINE)

    def run(self, script: str) -> Ran:
        """Run commands as the reader's shell does; `prloom` is forked, and not started anew."""
        ended = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environ | self._forked,
            pass_fds=(self._inherited,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=command_server.LIMIT,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout)

    def follow(self, page: Page) -> Iterator[tuple[Block, Ran]]:
        """Do what the page says, and yield what came of each block that is run."""
        for block in page.blocks:
            if block.does.startswith("file "):
                path = self.folder / block.does.removeprefix("file ")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, "utf-8")
                if path.name == "prloom.toml":  # from here on, the page's own configuration is to be enough
                    self.environ = {key: value for key, value in self.environ.items() if not key.startswith("PRLOOM_")}
            elif _is_walked(block):
                commands = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
                yield block, self.run("\n".join(commands))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, [sys.executable, "-P", "-m", "prloom.agents.demo"])
