"""Write prloom.toml.example: every key with its default and its meaning, commented out.

`python -m prloom.config.example > prloom.toml.example` brings the file up to the code; a test compares them.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping

from prloom.config import reference
from prloom.config.problems import dotted
from prloom.config.reference import ANY, Key

_WIDTH = 110

_HEAD = """\
# prloom.toml: the configuration of prloom, beside the repository's .git.
#
# This file lists every key with its default; remove the # from a key to change it. Without it, the defaults apply.
# Durations look like "250ms", "30s", "5m", "1h30m" and "7d". These override this file, in this order: the preset of a
# plan, variables such as PRLOOM_DISPATCHER__TICK_INTERVAL=5s, and flags such as --set dispatcher.tick_interval=5s.
"""

_PRESETS = """
# A preset overrides any key above, for plans that choose the preset by name.
#[presets.careful.trust]
#minimum = "maintain"
"""

# The names that stand for a name of one's own.
_NAMES: Mapping[tuple[str, ...], str] = {
    ("bridges",): "my-ci",
    ("plugins", "settings"): "memory",
    ("plugins", "permissions"): "memory",
    ("models",): "strong",
}


def render() -> str:
    """Return the text of prloom.toml.example."""
    by_section: dict[tuple[str, ...], list[Key]] = {}
    for key in reference.all_keys():
        by_section.setdefault(key.path[:-1], []).append(key)
    top = (key for key in by_section.pop(()) if key.path != ("presets",))
    meanings = reference.sections()
    parts = [_HEAD, *("\n" + "\n".join(_key(key)) + "\n" for key in top)]
    parts += ["\n".join(_section(path, meanings[path], keys)) + "\n" for path, keys in by_section.items()]
    return "".join((*parts, _PRESETS))


def _section(path: tuple[str, ...], meaning: str, keys: list[Key]) -> Iterator[str]:
    named = path[-1] == ANY
    if named:
        spelled = (*path[:-1], _NAMES[path[:-1]])
    else:
        spelled = path
    yield ""
    yield from _comment(
        meaning + (" You choose the name." if path[:1] in {("models",), ("bridges",)} and named else "")
    )
    if reference.is_list(path):
        yield f"#[[{dotted(spelled)}]]"
    elif named:
        yield f"#[{dotted(spelled)}]"
    else:
        yield f"[{dotted(spelled)}]"
    for key in keys:
        yield from _key(key)


def _key(key: Key) -> Iterator[str]:
    yield from _comment(key.meaning)
    yield f"#{key.path[-1]} = {_toml(key.example)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ")


def _toml(value: object) -> str:
    # For texts, numbers, true, false and lists of them, TOML and JSON agree.
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    print(render(), end="")  # noqa: T201 - printing is what it is run for
