"""Break every call of a story in every way, once, twice in a row or by a power cut, and see what is wrong then."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import calls
import injectors
import work_story
from calls import Call, Layer
from pull_story import REQUEST
from stories import STORIES
from story import Story

SOON_AFTER = (1, 2, 3, 5, 8, 13, 21, 34)
"""Changes of the second telling in which it is broken again."""

LATER = (3, 17, 40, 90, 150, 230, 340, 470)
"""The same where git is at work, whose calls are many."""

KINDS = ("once", "twice", "power")
APART = ("work", "pull")
"""Stories that are only told where they are named: they take seconds each."""
WELL, TOLD = 0, 3


class BrokenStoryError(Exception):
    """A story goes wrong although nothing breaks it: what a fault does to it would mean nothing."""


class Cell(NamedTuple):
    """One way to break a story: at a change (from 1), by a fault; `again` is where, and by what, the second time."""

    story: str
    call: Call
    at: int
    fault: str
    again: tuple[int, str] | None = None

    @property
    def row(self) -> str:
        """The line of the table to which it belongs."""
        return f"{self.call.protocol}|{self.call.name}"

    def __str__(self) -> str:
        again = f", then {self.again[1]} at {self.again[0]}" if self.again else ""
        return f"{self.story}: {self.call.protocol}: {self.fault} at {self.call.name} (change {self.at}){again}"


def cells(kind: str, stories: Sequence[str] = ()) -> list[Cell]:
    """Return all ways of a kind to break some stories, or all that are not apart."""
    named = stories or [story for story in STORIES if story not in APART]
    return [cell for story in named for cell in _cells(story, kind, _made(STORIES[story]))]


def only(found: Sequence[Cell], stories: Sequence[str], protocols: Sequence[str], faults: Sequence[str]) -> list[Cell]:
    """Return the cells of some stories, protocols and faults; of all where none are named."""
    ours = [cell for cell in found if not stories or cell.story in stories]
    ours = [cell for cell in ours if not protocols or cell.call.protocol in protocols]
    return [cell for cell in ours if not faults or {cell.fault, cell.fault.split()[0]}.intersection(faults)]


def _cells(story: str, kind: str, made: Sequence[Call]) -> Iterable[Cell]:
    if not made and kind == "once":  # what is to be seen needs no fault
        yield Cell(story, Call("flock", "", story), 0, "held")
    if story == "work":
        yield from _kills(story, kind, made)
        return
    if story == "pull":
        yield from _requests(story, kind, made)
        return
    for at, call in enumerate(made, 1):
        if story == "github" and call.protocol != calls.REQUEST:  # the others are those of the life of events
            continue
        if kind == "power":
            yield from (Cell(story, call, at, f"cut {seed}") for seed in range(injectors.SEEDS))
            continue
        for turn, fault in enumerate(injectors.faults_of(call.name), at):
            again = (SOON_AFTER[turn % len(SOON_AFTER)], ("kill", "EIO", "ENOSPC")[turn % 3])
            yield Cell(story, call, at, fault, again if kind == "twice" else None)


def _kills(story: str, kind: str, made: Sequence[Call]) -> Iterable[Cell]:
    """Yield the kills before all that changes something: before a look, all is as before what comes next."""
    for turn, (at, call) in enumerate((at, call) for at, call in enumerate(made, 1) if not work_story.is_look(call)):
        if kind == "once":
            yield Cell(story, call, at, "kill")
        elif kind == "twice":
            yield Cell(story, call, at, "kill", (LATER[turn % len(LATER)], "kill"))


def _requests(story: str, kind: str, made: Sequence[Call]) -> Iterable[Cell]:
    """Yield the kills and the broken connections before and after each request to the forge."""
    for turn, (at, call) in enumerate((at, each) for at, each in enumerate(made, 1) if each.protocol == REQUEST):
        for fault in ("kill", "EIO"):
            if kind == "once":
                yield Cell(story, call, at, fault)
            elif kind == "twice":
                yield Cell(story, call, at, fault, (LATER[turn % len(LATER)], "kill"))


def sample(found: Sequence[Cell], each: int, turn: int = 0, *, of: str = "call") -> list[Cell]:
    """Return some cells of each call, or protocol, and fault, spread over all; each turn, an integer, takes others.

    Where all of a call's second faults or cuts are as good as one another, they are of one kind.
    """
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in found:
        place = cell.row if of == "call" else cell.call.protocol
        groups[place, cell.fault if cell.again is None and "cut" not in cell.fault else ""].append(cell)
    return [
        group[((2 * number + 1) * len(group) // (2 * min(each, len(group))) + turn) % len(group)]
        for group in groups.values()
        for number in range(min(each, len(group)))
    ]


def _made(story: Story) -> list[Call]:
    """Tell a story without a fault, and return the changes that it makes."""
    _rehearse(story)
    root = story.prepare()
    layer = Layer(str(root))
    _, problems = _in_a_child(lambda: told(story, root, layer, 0), lambda: [list(call) for call in layer.made])
    story.clear(root)
    return [Call(*call) for call in problems]


def _rehearse(story: Story) -> None:
    """Tell a story in this process, so that its forks need not each import and compile what is first met on the way.

    Raises BrokenStoryError.
    """
    root, handlers = story.prepare(), logging.root.handlers[:]
    problems = told(story, root, None, 0)
    logging.root.handlers[:] = handlers
    problems += story.wrong(root)
    story.clear(root)
    if problems:
        raise BrokenStoryError(f"a story goes wrong without any fault: {'; '.join(problems)}")


def broken(cell: Cell) -> list[str]:
    """Break a story, go on until nothing is left to do, and return all that is wrong then."""
    story = STORIES[cell.story]
    root = story.prepare()
    found = []
    try:
        for telling, layer in enumerate(_layers(root, cell)):
            _, problems = _in_a_child(partial(told, story, root, layer, telling))
            found += problems
        return found + ended(story, root)
    finally:
        story.clear(root)
        shutil.rmtree(injectors.side(str(root)), ignore_errors=True)


def ended(story: Story, root: Path) -> list[str]:
    """Tell a story that was broken to its end, in a process of its own, and return all that is wrong then."""
    return _in_a_child(lambda: [*told(story, root, None, 2), *story.wrong(root)])[1]


def _layers(root: Path, cell: Cell) -> Iterable[Layer]:
    yield injectors.injector(str(root), cell.at, cell.fault)
    if cell.again is not None:
        yield injectors.injector(str(root), *cell.again)


class Bugs(logging.Handler):
    """Collects what prloom itself calls a bug, and every traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        if entry.exc_info is not None or "a bug" in entry.getMessage():  # the name of a temporary file may hold a "bug"
            error = entry.exc_info[1] if entry.exc_info else None
            self.found.append(f"a bug: {entry.getMessage()} {error!r}")


def told(story: Story, root: Path, layer: Layer | None, telling: int) -> list[str]:
    """Tell a story with a layer beneath it, and return the bugs that prloom met."""
    bugs = Bugs()
    logging.root.addHandler(bugs)
    calls.put(layer)
    try:
        story.tell(root, telling)
    finally:
        calls.put(None)
        logging.root.removeHandler(bugs)
    return bugs.found


def _in_a_child(work: Callable[[], list[Any]], report: Callable[[], list[Any]] | None = None) -> tuple[bool, list[Any]]:
    """Do something in a process of its own; return whether it was killed, and what it returned."""
    reading, writing = os.pipe()
    gc.freeze()  # or each collection in the child copies all pages
    child = os.fork()
    if child == 0:
        try:
            found = work()
            found = found if report is None else report()
        except BaseException as error:  # noqa: BLE001 - the forked child must end here, whatever happens
            found = [f"a bug: {_where(error)}"]
        calls.put(None)
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(found))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), json.loads(said) if said else []


def _where(error: BaseException) -> str:
    import traceback  # noqa: PLC0415 - in a child that is about to end

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} in {last.filename}:{last.lineno}"


class Row(NamedTuple):
    """What became of the cells of one row and one fault."""

    row: str
    fault: str
    runs: int
    failed: int


def run(
    found: Sequence[Cell], breaking: Callable[[Cell], list[str]], *, jobs: int, stop: bool = False
) -> tuple[list[Row], list[str]]:
    """Break all the cells, in some processes at once; return the table, and what was wrong."""
    parts = [_begin(found[part::jobs], breaking, stop=stop) for part in range(jobs)]
    outcomes = [outcome for pid, reading in parts for outcome in _end(pid, reading)]
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row, fault, problems in outcomes:
        count = counts[row, fault.split()[0]]
        count[0] += 1
        count[1] += bool(problems)
    return [Row(*key, *count) for key, count in counts.items()], [each for *_, wrong in outcomes for each in wrong]


def _begin(part: Sequence[Cell], breaking: Callable[[Cell], list[str]], *, stop: bool) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        with os.fdopen(writing, "w") as pipe:
            for cell in part:
                problems = [f"{cell}: {problem}" for problem in breaking(cell)]
                pipe.write(json.dumps([cell.row, cell.fault, problems]) + "\n")
                if problems and stop:
                    break
    finally:
        os._exit(0)


def _end(pid: int, reading: int) -> list[Any]:
    with os.fdopen(reading) as pipe:
        lines = pipe.readlines()
    os.waitpid(pid, 0)
    return [json.loads(line) for line in lines]
