"""Read and change the text of a plan: `plan.md`, a Markdown file that people edit too.

The format: a `# <title>` heading, any text, and a `## TODO` section of `- [ ] title` items with their context indented
below. An item that prloom wrote carries `<!-- prloom:todo <id> -->` at the end of its first line, and the events that
it came from in `<!-- prloom:events <id>… -->` as the last line of its context. Lines that are not touched keep every
byte. The reader looks at each line once, so its work grows with the text and no faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote

from msgspec import Struct, field

from prloom.core import markdown

_SECTION = "## TODO"
_LEVEL = 2
_TODO_MARK = "<!-- prloom:todo "
_EVENTS_MARK = "<!-- prloom:events "
_MARK_END = markdown.COMMENT_END
_INDENT = "  "
_SAFE_IN_MARK = ":/@+,=#"


class PlanTodo(Struct, frozen=True):
    """A TODO to be written. Title and context may be text from outside; the ids are prloom's."""

    id: str
    title: str
    context: str = ""
    event_ids: tuple[str, ...] = ()


class TodoItem(Struct, frozen=True):
    """A TODO as it was read; `id` is None where a person wrote it."""

    id: str | None
    title: str
    done: bool = False
    context: str = ""
    event_ids: tuple[str, ...] = ()


def new_plan(title: str, body: str, branch: str, pr: int | None) -> str:
    """Return the text of a new plan. Title, body and branch may be text from outside: they cannot add items."""
    heading = markdown.heading_text(_text(title))
    origin = f"Branch {markdown.code(markdown.one_line(branch))}" + ("" if pr is None else f", pull request #{pr}")
    # In a quotation neither a heading, nor a fence, nor a comment that is never closed reaches further than its end.
    quoted = [f"> {line}".rstrip() for line in markdown.clean(body)]
    parts = [f"# {heading}", origin, "\n".join(quoted), _SECTION]
    return "\n\n".join(part for part in parts if part) + "\n"


def append_todos(text: str, todos: Iterable[PlanTodo]) -> str:
    """Return the text with the TODOs at the end of its TODO section; those whose id it already has are left out.

    The section is made where it is missing. What a TODO brings stays within its item.
    """
    reader = _read(text)
    known = {item.id for item in reader.items}
    fresh: dict[str, PlanTodo] = {}
    for todo in todos:
        if not todo.id:
            raise ValueError("a TODO needs an id")
        if todo.id not in known:
            fresh.setdefault(todo.id, todo)
    if not fresh:
        return text
    return _insert(text, reader, [line for todo in fresh.values() for line in _written(todo)])


def todos(text: str) -> tuple[TodoItem, ...]:
    """Return the TODOs of the plan in their order; what stands in a fenced block or a comment is none."""
    return tuple(item.value() for item in _read(text).items)


def check(text: str, todo_id: str) -> str:
    """Return the text with the box of this TODO checked; unchanged if it is checked or was taken out."""
    lines = text.split("\n")
    for item in _read(text).items:
        if item.id == todo_id and not item.done:
            line = lines[item.line]
            lines[item.line] = f"{line[: item.box]}x{line[item.box + 1 :]}"
    return "\n".join(lines)


def counts(text: str) -> tuple[int, int]:
    """Return how many TODOs there are, and how many of them are done."""
    items = _read(text).items
    return len(items), sum(item.done for item in items)


def title(text: str) -> str:
    """Return the plan's title: the first heading of the first level; empty if there is none."""
    return markdown.unescaped_comments(markdown.plain_heading(_read(text).title))


class _Item(Struct):
    """An item while it is read: its line and the place of its box there, and the lines below it."""

    line: int
    box: int
    done: bool
    id: str | None
    title: str
    below: list[str] = field(default_factory=list)

    def value(self) -> TodoItem:
        if self.id is None:
            lines = _dedented(self.below)
        else:
            lines = [_outdented(line) for line in self.below]
        mark = next((line for line in lines if line.startswith(_EVENTS_MARK) and line.endswith(_MARK_END)), None)
        events = () if mark is None else tuple(map(unquote, mark[len(_EVENTS_MARK) : -len(_MARK_END)].split()))
        kept = [line for line in lines if line is not mark]
        if self.id is None:
            context = kept
        else:
            context = [markdown.unescaped(line) for line in kept]
        return TodoItem(self.id, self.title, self.done, "\n".join(markdown.trimmed(context)), events)


class _Reader(Struct):
    """What one pass over the lines has found so far.

    `end` is the line after the last TODO section's content, `end_in_item` whether that content ends with an item;
    `fence` is the mark that closes the block we are in, `opened` the line where that block began.
    """

    title: str = ""
    items: list[_Item] = field(default_factory=list)
    in_todo: bool = False
    item: _Item | None = None
    end: int | None = None
    end_in_item: bool = False
    fence: str = ""
    opened: int = 0

    def take(self, number: int, line: str) -> None:
        blank = not line.strip()
        if self.item is not None and (blank or line.startswith((_INDENT, "\t"))):
            self.item.below.append(line)
        elif not blank or self.fence:
            self.item = None
            self._take_outside(number, line)
        if self.in_todo and not blank and not self.fence:
            self.end, self.end_in_item = number + 1, self.item is not None

    def _take_outside(self, number: int, line: str) -> None:
        if self.fence:
            if markdown.closes(line, self.fence):
                self.fence = ""
            return
        self.fence, self.opened = markdown.fence(line), number
        if self.fence:
            return
        level, text = markdown.heading(line)
        if level == 1 and not self.title:
            self.title = text
        if level in {1, _LEVEL}:
            self.in_todo = level == _LEVEL and text.casefold() == "todo"
        elif self.in_todo and (item := _item(number, line)):
            self.item = item
            self.items.append(item)


def _read(text: str) -> _Reader:
    reader = _Reader()
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n")):
        reader.take(number, line.removesuffix("\r"))
    return reader


def _item(number: int, line: str) -> _Item | None:
    box = markdown.checkbox(line)
    if box is None:
        return None
    todo_id, text = _marked(line[box + 2 :])
    return _Item(number, box, line[box] != " ", todo_id, markdown.unescaped_comments(text))


def _marked(text: str) -> tuple[str | None, str]:
    """Return the id in an item's mark, and the item's text without the mark."""
    before, mark, rest = text.partition(_TODO_MARK)
    inside, end, after = rest.partition(_MARK_END)
    todo_id = inside.strip()
    if not mark or not end or not todo_id or " " in todo_id:
        return None, text.strip()
    return unquote(todo_id), f"{before.rstrip()}{after.rstrip()}".strip()


def _insert(text: str, reader: _Reader, block: list[str]) -> str:
    lines = text.split("\n")
    if reader.end is not None:
        at = reader.end
        if reader.end_in_item:
            new = block
        else:
            new = ["", *block]
    else:
        # never into a block that nobody closes
        if reader.fence:
            at = reader.opened
        else:
            at = len(lines)
        while at and not lines[at - 1].strip():
            at -= 1
        if at:
            new = ["", _SECTION, "", *block]
        else:
            new = [_SECTION, "", *block]
    after = lines[at:] or [""]
    if after[0].strip():
        new = [*new, ""]
    cr = ""
    if "\r\n" in text:
        cr = "\r"
    if cr and at and at == len(lines):
        lines[at - 1] = lines[at - 1].removesuffix(cr) + cr
    return "\n".join([*lines[:at], *(line + cr for line in new), *after])


def _written(todo: PlanTodo) -> list[str]:
    lines = [f"- [ ] {_text(todo.title)} {_TODO_MARK}{_in_mark(todo.id)} {_MARK_END}"]
    lines += [f"{_INDENT}{markdown.escaped(line)}" if line else "" for line in markdown.clean(todo.context)]
    if todo.event_ids:
        lines.append(f"{_INDENT}{_EVENTS_MARK}{' '.join(map(_in_mark, todo.event_ids))} {_MARK_END}")
    return lines


def _text(title: str) -> str:
    return markdown.escaped_comments(markdown.one_line(title)) or "(no title)"


def _in_mark(name: str) -> str:
    return quote(name, safe=_SAFE_IN_MARK, errors="replace")


def _outdented(line: str) -> str:
    return line.removeprefix("\t" if line.startswith("\t") else _INDENT).rstrip()


def _dedented(lines: Sequence[str]) -> list[str]:
    """Return the lines below an item that a person wrote, without the indentation that they share."""
    full = [line for line in lines if line.strip()]
    shared = min((len(line) - len(line.lstrip()) for line in full), default=0)
    return [line[shared:].rstrip() for line in lines]
