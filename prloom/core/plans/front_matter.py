"""Read and write the front matter of a plan: YAML between two lines of `---` at the top of the text.

All values are texts, whatever YAML would make of them: a branch may be called `1.10` or `no`. Errors are PrloomErrors
that name the line of the text; the caller adds the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct, structs

from prloom.core.plans import plan_reader
from prloom.core.plans.plan_reader import FRONT_FENCE, LONGEST_FRONT
from prloom.core.text import naming
from prloom.errors import PrloomError
from prloom.model.kinds import PlanDraftStatus

if TYPE_CHECKING:
    from yaml import Node

_MOST_NAMES = 100


class PlanSource(Struct, frozen=True):
    """What a plan was made from, such as an issue of a forge."""

    system: str
    kind: str
    id: str


class FrontMatter(Struct, frozen=True, kw_only=True):
    """What the front matter says; what it leaves out is None or empty, and without a status a plan is a draft."""

    status: PlanDraftStatus = "draft"
    branch: str | None = None
    base: str | None = None
    preset: str | None = None
    reviewers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    source: PlanSource | None = None


class PlanBranches(Struct, frozen=True):
    """The branch that a plan gets, and the branch that it starts from and will be merged into."""

    branch: str
    base: str


def split(text: str) -> tuple[str, str]:
    """Return the front matter, with the lines of `---` around it, and the rest of the text."""
    count = plan_reader.front_matter_lines(text)
    lines = text.split("\n")
    if count == len(lines):
        return text, ""
    block = "".join(f"{line}\n" for line in lines[:count])
    return block, text[len(block) :]


def parse(text: str) -> FrontMatter:
    """Return what the front matter of a plan says; raises PrloomError, which names the line, the key and what to do."""
    block, _rest = split(text)
    if not block:
        if text.removeprefix("\ufeff").split("\n", 1)[0].rstrip() == FRONT_FENCE:
            raise PrloomError(
                f"line 1 opens front matter that no line of {FRONT_FENCE} closes within {LONGEST_FRONT} characters; "
                f"close it, or remove line 1"
            )
        return FrontMatter()
    values: dict[str, Any] = {}
    for key, value in _pairs(block):
        name = key.value
        if name not in _READERS:
            raise _wrong(key, f"has the unknown key {_quoted(name)}", _suggestion(name, _READERS))
        if name in values:
            raise _wrong(key, f"repeats the key {_quoted(name)}", "remove one of the two")
        values[name] = None if _is_nothing(value) else _READERS[name](value)
    return FrontMatter(**{key: value for key, value in values.items() if value is not None})


def write(front: FrontMatter, text: str) -> str:
    """Return the text with this front matter in place of its own; every byte after it stays."""
    keys: dict[str, object] = {key: value for key, value in structs.asdict(front).items() if value}
    if front.source is not None:
        keys["source"] = structs.asdict(front.source)
    dumped = "".join(f"{key}: {_dumped(value)}\n" for key, value in keys.items())
    bom, _, rest = _parts(text)
    block = _with_ends(f"{FRONT_FENCE}\n{dumped}{FRONT_FENCE}\n", text)
    if len(block) > LONGEST_FRONT:
        raise PrloomError(
            f"the front matter would have more than {LONGEST_FRONT} characters; name fewer people and labels"
        )
    return bom + block + rest


def _dumped(value: object) -> str:
    """Return a value as YAML on one line."""
    import yaml  # noqa: PLC0415 - it takes 20 ms, and most plans have no front matter

    if isinstance(value, tuple):
        value = list(value)
    listed = yaml.safe_dump([value], allow_unicode=True, default_flow_style=True, sort_keys=False, width=1 << 20)
    return str(listed).strip()[1:-1]


def with_status(text: str, status: PlanDraftStatus) -> str:
    """Return the text with this status in its front matter, which is made where it is missing; every other byte stays.

    Raises PrloomError where the front matter cannot be used.
    """
    if parse(text).status == status:
        return text
    bom, block, rest = _parts(text)
    line = _with_ends(f"status: {status}\n", text)
    if not block:
        fence = _with_ends(f"{FRONT_FENCE}\n", text)
        return bom + fence + line + fence + rest
    lines = block.split("\n")
    for key, value in _pairs(block):
        if key.value == "status" and key.start_mark.line == value.start_mark.line and not _is_nothing(value):
            old = lines[key.start_mark.line]
            lines[key.start_mark.line] = old[: value.start_mark.column] + status + old[value.end_mark.column :]
            return bom + "\n".join(lines) + rest
    return write(structs.replace(parse(text), status=status), text)


def without_status(text: str) -> str:
    """Return the text of an active plan: a status is only for the inbox, and front matter that says no more goes."""
    bom, block, rest = _parts(text)
    kept = block.split("\n")
    for key, value in _pairs(block):
        if key.value == "status":
            del kept[key.start_mark.line : value.end_mark.line + 1]
    if len([line for line in kept if line.strip()]) <= len((FRONT_FENCE, FRONT_FENCE)):
        return bom + rest
    return bom + "\n".join(kept) + rest


def plan_branches(front: FrontMatter, plan_id: str, default_base: str) -> PlanBranches:
    """Return the branches of a plan; raises PrloomError where they cannot be used."""
    found = PlanBranches(front.branch or plan_id, front.base or default_base)
    if found.branch == found.base:
        raise PrloomError(
            f"branch {naming.printable(found.branch)} is also the plan's base; choose another `branch:`",
        )
    if found.branch.startswith("refs/"):
        raise PrloomError(
            f"`branch:` is the name of a branch, without refs/heads/: {naming.printable(found.branch)}",
        )
    return found


def _parts(text: str) -> tuple[str, str, str]:
    """Return the byte order mark, the front matter and the rest."""
    block, rest = split(text)
    if not block:
        block, rest = "", text
    bom = ""
    if text.startswith("\ufeff"):
        bom = "\ufeff"
        if block:
            block = block.removeprefix(bom)
        else:
            rest = rest.removeprefix(bom)
    return bom, block, rest


def _with_ends(block: str, text: str) -> str:
    if "\r\n" in text:
        return block.replace("\n", "\r\n")
    return block


def _pairs(block: str) -> list[tuple[Node, Node]]:
    """Return the keys and values of the front matter; marks count lines from the line of `---`, which is line 0."""
    import yaml  # noqa: PLC0415 - likewise

    inner = "\n".join(["", *block.rstrip().split("\n")[1:-1]])
    try:
        # Nodes are only composed: no object is made of them, and an alias is a node that is met again.
        node = yaml.compose(inner, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1} "
        raise PrloomError(
            f"{line}of the front matter is not valid YAML: {naming.printable(str(error.problem))}; correct it"
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise PrloomError("the front matter is not valid YAML; correct it, or remove it") from error
    if node is None:
        return []
    simple = isinstance(node, yaml.MappingNode) and not node.flow_style
    if not simple or not all(isinstance(key.value, str) for key, _value in node.value):
        raise _wrong(node, "is not a list of keys and values", "write `key: value` lines")
    return list(node.value)


def _is_nothing(node: Node) -> bool:
    return node.value in ("", "~", "null")


def _text(node: Node) -> str:
    value = node.value
    if not isinstance(value, str):
        raise _wrong(node, "has a list where one text belongs", "write one value")
    if not value.isprintable() or not value.strip():
        raise _wrong(node, f"has the value {_quoted(value)}, which is empty or cannot be printed", "write one line")
    return value


def _status(node: Node) -> str:
    value = _text(node)
    allowed = get_args(PlanDraftStatus)
    if value not in allowed:
        raise _wrong(node, f"has the status {_quoted(value)}", f"write {' or '.join(allowed)}")
    return value


def _branch(node: Node) -> str:
    value = _text(node)
    if value.startswith("-") or not naming.is_branch_name(value):
        raise _wrong(node, f"names {_quoted(value)}, which is not a valid name for a branch", "choose another name")
    return value


def _names(node: Node) -> tuple[str, ...]:
    if isinstance(node.value, str):
        return (_text(node),)
    items = node.value
    if len(items) > _MOST_NAMES or any(isinstance(item, tuple) for item in items):
        raise _wrong(node, "has a value that is not a list of names", "write a list such as [ann, bob]")
    return tuple(_text(item) for item in items)


def _logins(node: Node) -> tuple[str, ...]:
    return tuple(name.removeprefix("@") for name in _names(node))


def _source(node: Node) -> PlanSource:
    names = structs.fields(PlanSource)
    keys = [field.name for field in names]
    if isinstance(node.value, str) or any(not isinstance(item, tuple) for item in node.value):
        raise _wrong(node, "has a source that is not a mapping", f"give it the keys {', '.join(keys)}")
    found: dict[str, str] = {}
    for key, value in node.value:
        if not isinstance(key.value, str) or key.value not in keys or key.value in found:
            raise _wrong(key, "has a wrong or repeated key in its source", f"use the keys {', '.join(keys)}")
        found[key.value] = _text(value)
    missing = [key for key in keys if key not in found]
    if missing:
        raise _wrong(node, f"has a source without {', '.join(missing)}", f"give it the keys {', '.join(keys)}")
    return PlanSource(**found)


_READERS: dict[str, Callable[[Node], object]] = {
    "status": _status,
    "branch": _branch,
    "base": _branch,
    "preset": _text,
    "reviewers": _logins,
    "labels": _names,
    "source": _source,
}


def _suggestion(name: str, known: dict[str, Callable[[Node], object]]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake costs it

    near = get_close_matches(name, known, 1)
    if near:
        return f"did you mean {near[0]}?"
    return f"use {', '.join(known)}"


def _quoted(value: str) -> str:
    return f"'{naming.printable(value, 60)}'"


def _wrong(node: Node, what: str, remedy: str) -> PrloomError:
    return PrloomError(f"the front matter {what} (line {node.start_mark.line + 1}); {remedy}")
