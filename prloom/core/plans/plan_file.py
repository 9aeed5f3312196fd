"""Read and change the TODOs of a plan: `plan.md`, a Markdown file that people edit too.

The format: front matter, a `# <title>` heading, any text, and a `## TODO` section of items with their context indented
below. `[ ]` is open, `[x]` done, `[b]` blocked, `[-]` dropped. An item that prloom knows carries
`<!-- prloom:todo <id> -->` on its first line, the events that it came from in `<!-- prloom:events <id>… -->` as the
last line of its context, and why it is blocked in a line that ends with `<!-- prloom:blocked -->`. Lines that are not
touched keep every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from urllib.parse import quote, unquote

from msgspec import Struct

from prloom.core.plans import plan_lines, plan_reader
from prloom.core.plans.plan_reader import BOXES, INDENT, MARK_END, REASON_MARK, TODO_MARK, Item, TodoState
from prloom.core.text import markdown

_SECTION = "## TODO"
_EVENTS_MARK = "<!-- prloom:events "
_REASON = "Blocked: "
_SAFE_IN_MARK = ":/@+,=#"


class PlanTodo(Struct, frozen=True):
    """A TODO to be written. Title and context may be text from outside; the ids are prloom's."""

    id: str
    title: str
    context: str = ""
    event_ids: tuple[str, ...] = ()


class TodoItem(Struct, frozen=True):
    """A TODO as it was read; `id` is None where a person wrote it. `reason` says why it is blocked, if it is."""

    id: str | None
    title: str
    state: TodoState = "open"
    context: str = ""
    event_ids: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Whether its box is checked."""
        return self.state == "done"

    @property
    def over(self) -> bool:
        """Whether nothing is left to do: it is done or was dropped."""
        return self.state in {"done", "dropped"}


def ended(todos: Iterable[TodoItem]) -> frozenset[str]:
    """Return the ids of those TODOs of which nothing is left to do."""
    return frozenset(todo.id for todo in todos if todo.id is not None and todo.over)


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
    reader = plan_reader.read(text)
    known = {item.id for item in reader.items}
    fresh: dict[str, PlanTodo] = {}
    for todo in todos:
        if not todo.id:
            raise ValueError("a TODO needs an id")
        if todo.id not in known:
            fresh.setdefault(todo.id, todo)
    if not fresh:
        return text
    block = [line for todo in fresh.values() for line in _written(todo)]
    if reader.end is None:
        return plan_lines.as_section(text, reader, _SECTION, block)
    return plan_lines.at_end_of_section(text, reader.end, block, joined=reader.end_in_item)


def todos(text: str) -> tuple[TodoItem, ...]:
    """Return the TODOs of the plan in their order; what stands in a fenced block or a comment is none."""
    return tuple(_value(item) for item in plan_reader.read(text).items)


def with_ids(text: str, new_id: Callable[[int, str], str], taken: Collection[str] = ()) -> str:
    """Return the text with an id on each of its TODOs; every other byte stays.

    `new_id` gets the position and the title of a TODO and returns an id. Where that is used in the plan or `taken`, it
    is asked again with a higher number. A TODO that was copied with the mark of another gets another.
    """
    items = plan_reader.read(text).items
    lines = text.split("\n")
    used = {*taken, *(item.id for item in items if item.id)}
    for number, item in enumerate(items, 1):
        if item.id is None:
            todo_id = _free_id(new_id, number, item.title, used)
            lines[item.line] = _with_mark(lines[item.line], item, todo_id)
            used.add(todo_id)
    return "\n".join(lines)


def set_state(text: str, todo_id: str, state: TodoState) -> str:
    """Return the text with the box of this TODO in this state; unchanged if it has that, or was taken out.

    What prloom wrote there about a block goes with the block.
    """
    item = plan_reader.read(text).find(todo_id)
    if item is None:
        return text
    if item.state != state:
        lines = text.split("\n")
        line = lines[item.line]
        lines[item.line] = f"{line[: item.box]}{BOXES[state]}{line[item.box + 1 :]}"
        text = "\n".join(lines)
    if state == "blocked":
        return text
    return set_reason(text, todo_id, "")


def set_reason(text: str, todo_id: str, reason: str) -> str:
    """Return the text with the reason for which this TODO is blocked, in place of an earlier one; "" takes it away.

    It stands in the first line below the TODO. It may be text from outside.
    """
    item = plan_reader.read(text).find(todo_id)
    if item is None:
        return text
    lines = _without_reason(text.split("\n"), item)
    words = markdown.escaped_comments(markdown.one_line(reason))
    if words:
        lead = next((line for line in item.below if line.strip() and not _is_reason(line)), None)
        if lead is None:
            indent = item.lead + INDENT
        else:
            indent = lead[: len(lead) - len(lead.lstrip(" \t"))]
        return plan_lines.with_lines(text, lines, item.line + 1, [f"{indent}{_REASON}{words} {REASON_MARK}"])
    return "\n".join(lines)


def counts(text: str) -> tuple[int, int]:
    """Return how many TODOs there are without those that were dropped, and how many of them are done."""
    states = [item.state for item in plan_reader.read(text).items]
    return len(states) - states.count("dropped"), states.count("done")


def title(text: str) -> str:
    """Return the plan's title: the first heading of the first level; empty if there is none."""
    return markdown.unescaped_comments(markdown.plain_heading(plan_reader.read(text).title))


def _value(item: Item) -> TodoItem:
    if not any(map(str.strip, item.below)):
        return TodoItem(item.id, item.title, item.state, "", (), None)
    lines = item.context()
    mark = next((line for line in lines if line.startswith(_EVENTS_MARK) and line.endswith(MARK_END)), None)
    events = () if mark is None else tuple(map(unquote, mark[len(_EVENTS_MARK) : -len(MARK_END)].split()))
    kept = [line for line in lines if line is not mark and not _is_reason(line)]
    if item.mark is not None:
        kept = [markdown.unescaped(line) for line in kept]
    context = markdown.trimmed(kept)
    reason = None
    if item.state == "blocked":
        written = [_reason(line) for line in lines if _is_reason(line)]
        reason = next((each.strip() for each in (*written, *context) if each), None)
    return TodoItem(item.id, item.title, item.state, "\n".join(context), events, reason)


def _is_reason(line: str) -> bool:
    return line.rstrip().endswith(REASON_MARK)


def _reason(line: str) -> str:
    words = line.strip().removesuffix(REASON_MARK).strip().removeprefix(_REASON.rstrip())
    return markdown.unescaped_comments(words.strip())


def _without_reason(lines: list[str], item: Item) -> list[str]:
    """Return the lines without those that prloom wrote below an item to say why it is blocked."""
    below = range(item.line + 1, item.line + 1 + len(item.below))
    gone = {number for number in below if _is_reason(lines[number])}
    kept = [line for number, line in enumerate(lines) if number not in gone]
    if len(lines) - 1 in gone:
        kept[-1] = kept[-1].removesuffix("\r")
    return kept


def _free_id(new_id: Callable[[int, str], str], number: int, title: str, used: Collection[str]) -> str:
    """Return the first id of this and the next numbers that is free."""
    for each in range(number, number + len(used) + 1):
        found = new_id(each, title)
        if found and found not in used:
            return found
    raise ValueError("new_id has to return another id for another number")


def _with_mark(line: str, item: Item, todo_id: str) -> str:
    mark = f"{TODO_MARK}{_in_mark(todo_id)} {MARK_END}"
    if item.mark is not None:
        begin, end = item.mark
        return f"{line[:begin]}{mark}{line[end:]}"
    text = line.rstrip()
    return f"{text} {mark}{line[len(text) :]}"


def _written(todo: PlanTodo) -> list[str]:
    lines = [f"- [ ] {_text(todo.title)} {TODO_MARK}{_in_mark(todo.id)} {MARK_END}"]
    lines += [f"{INDENT}{markdown.escaped(line)}" if line else "" for line in markdown.clean(todo.context)]
    if todo.event_ids:
        lines.append(f"{INDENT}{_EVENTS_MARK}{' '.join(map(_in_mark, todo.event_ids))} {MARK_END}")
    return lines


def _text(title: str) -> str:
    return markdown.escaped_comments(markdown.one_line(title)) or "(no title)"


def _in_mark(name: str) -> str:
    return quote(name, safe=_SAFE_IN_MARK, errors="replace")
