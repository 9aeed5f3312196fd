"""Find the parts of a plan's text in one pass: its front matter, its title, its sections and the items of its TODOs."""

from __future__ import annotations

from typing import Literal
from urllib.parse import unquote

from msgspec import Struct, field

from prloom.core.text import markdown

TodoState = Literal["open", "done", "blocked", "dropped"]

LEVEL = 2
"""The level of the headings of the sections."""
TODO = "todo"
TODO_MARK = "<!-- prloom:todo "
REASON_MARK = "<!-- prloom:blocked -->"
MARK_END = markdown.COMMENT_END
INDENT = "  "
FRONT_FENCE = "---"
LONGEST_FRONT = 16 * 1024
"""Characters that front matter may have; what is longer is taken for text."""

BOXES: dict[TodoState, str] = {"open": " ", "done": "x", "blocked": "b", "dropped": "-"}
_STATES: dict[str, TodoState] = {box: state for state, box in BOXES.items()}


class Item(Struct):
    """An item as it stands in the text: its line and the place of its box there, and the lines below it.

    `lead` is what its line is indented with. `mark` is where in the line its id stands, with the comment around it;
    None where it has none. A line that was copied with the mark of another item has no `id`, but a `mark`.
    """

    line: int
    lead: str
    box: int
    state: TodoState
    id: str | None
    mark: tuple[int, int] | None
    title: str
    below: list[str] = field(default_factory=list)

    def context(self) -> list[str]:
        """Return the lines below the item without the indentation that makes them its own."""
        if self.mark is not None:
            columns = self.box - 1 - len(self.lead)
            return [_outdented(line.removeprefix(self.lead), columns) for line in self.below]
        full = [line for line in self.below if line.strip()]
        shared = min((len(line) - len(line.lstrip()) for line in full), default=0)
        return [line[shared:].rstrip() for line in self.below]


class Heading(Struct, frozen=True):
    """A heading of the first or second level: its line, and its text in lower case."""

    line: int
    level: int
    name: str


class Reader(Struct):
    """What one pass over the lines has found so far.

    `start` is the line after the front matter, `title_line` that of the title. `end` is the line after the last TODO
    section's content, `end_in_item` whether that content ends with an item. `fence` is the mark that closes the block
    we are in, `opened` the line where that block began.
    """

    start: int = 0
    title: str = ""
    title_line: int | None = None
    headings: list[Heading] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    in_todo: bool = False
    item: Item | None = None
    item_indent: int = 0
    end: int | None = None
    end_in_item: bool = False
    fence: str = ""
    opened: int = 0
    ids: dict[str, Item] = field(default_factory=dict)

    def take(self, number: int, line: str) -> None:
        """Read one more line."""
        blank = not line.strip()
        if blank and self.item is None and not self.fence:
            return
        if self.item is not None and (blank or markdown.indentation(line) >= self.item_indent + len(INDENT)):
            self.item.below.append(line)
        else:
            self.item = None
            self._take_outside(number, line)
        if self.in_todo and not blank and not self.fence:
            self.end, self.end_in_item = number + 1, self.item is not None

    def _take_outside(self, number: int, line: str) -> None:
        block = line
        if self.in_todo:  # a list may be indented as a whole, and then a block of code between its items is too
            block = line.lstrip(" \t")
        if self.fence:
            if markdown.closes(block, self.fence):
                self.fence = ""
            return
        begin = line.lstrip(" \t")[:1]
        if begin in markdown.FENCE_BEGINS:  # as no heading and no item does
            self.fence, self.opened = markdown.fence(block), number
        elif begin == "#":
            self._take_heading(number, line)
        elif self.in_todo and (item := _item(number, line)):
            if item.id is not None:
                self._keep_id(item, item.id)
            self.item, self.item_indent = item, markdown.indentation(line)
            self.items.append(item)

    def _keep_id(self, item: Item, todo_id: str) -> None:
        """Leave the id to one of the items that have it: the first, or the first that is done, which was worked on."""
        other = self.ids.get(todo_id)
        if other is None or (item.state == "done" and other.state == "open"):
            self.ids[todo_id] = item
            if other is not None:
                other.id = None
        else:
            item.id = None

    def _take_heading(self, number: int, line: str) -> None:
        level, text = markdown.heading(line)
        if level == 1 and not self.title:
            self.title, self.title_line = text, number
        if level in {1, LEVEL}:
            self.in_todo = level == LEVEL and text.casefold() == TODO
            self.headings.append(Heading(number, level, text.casefold()))

    def find(self, todo_id: str) -> Item | None:
        """Return the first item with this id."""
        return next((item for item in self.items if item.id == todo_id), None)


def read(text: str) -> Reader:
    """Return what stands in the text; each line is looked at once, so the work grows with the text and no faster."""
    lines = text.removeprefix("\ufeff").split("\n")
    reader = Reader(start=front_matter_lines(text))
    for number in range(reader.start, len(lines)):
        reader.take(number, lines[number].removesuffix("\r"))
    return reader


def front_matter_lines(text: str) -> int:
    """Return how many lines of the text are front matter, with the lines of `---`; 0 if it has none."""
    start = text.removeprefix("\ufeff")
    if not start.startswith(FRONT_FENCE):
        return 0
    first, *lines = start[:LONGEST_FRONT].split("\n")
    if len(start) > LONGEST_FRONT:
        lines = lines[:-1]  # it may be cut
    if first.rstrip() != FRONT_FENCE:
        return 0
    return next((number for number, line in enumerate(lines, 2) if line.rstrip() == FRONT_FENCE), 0)


def _item(number: int, line: str) -> Item | None:
    box = markdown.checkbox(line)
    if box is None:
        return None
    begin = box + len(" ]")
    todo_id, mark, text = _marked(line[begin:])
    if mark is not None:
        mark = (begin + mark[0], begin + mark[1])
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    return Item(number, lead, box, _STATES[line[box].lower()], todo_id, mark, markdown.unescaped_comments(text))


def _marked(text: str) -> tuple[str | None, tuple[int, int] | None, str]:
    """Return the id in an item's last mark, where the mark stands, and the item's text without it."""
    before, mark, rest = text.rpartition(TODO_MARK)
    inside, end, after = rest.partition(MARK_END)
    todo_id = inside.strip()
    if not mark or not end or not todo_id or " " in todo_id:
        return None, None, text.strip()
    place = (len(before), len(text) - len(after))
    return unquote(todo_id), place, f"{before.rstrip()}{after.rstrip()}".strip()


def _outdented(line: str, columns: int) -> str:
    """Return the line without this much of its indentation; a tab counts for all of it."""
    if line.startswith("\t"):
        return line[1:].rstrip()
    own = line[:columns]
    return line[len(own) - len(own.lstrip(" ")) :].rstrip()
