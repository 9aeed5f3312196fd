"""Turn off the programs that git's configuration names by an attribute or an event: filters, merge drivers and hooks.

Git runs them with the worktree as their folder, so whatever such a command names (`sh -c '…'`, `make x`, `python -m x`)
may be a file of the branch. A command does not say which files it uses, so every driver is turned off, whoever set it.
The keys are described in gitattributes(5), "filter" and "Defining a custom merge driver", and in git-hook(1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Setting = tuple[str, str]
"""A key of git's configuration and its value."""

_OFF = {
    # Without a command git takes the content as it is, and `required` would make that an error.
    "filter": (("smudge", ""), ("clean", ""), ("process", ""), ("required", "false")),
    # An empty command would pass for a merge without conflicts; one that fails leaves a conflict, which is seen.
    "merge": (("driver", "false"),),
    # `core.hooksPath` does not reach the hooks of the configuration, which git knows since version 2.54.
    "hook": (("enabled", "false"),),
}


def listed(answer: str) -> tuple[str, ...]:
    """Return the keys that `git config --null --name-only --list` has printed."""
    return tuple(key for key in answer.split("\0") if key)


def turned_off(keys: Iterable[str]) -> tuple[Setting, ...]:
    """Return the settings that turn off every driver among the configured keys.

    The name of a driver is all that stands between the first and the last dot of a key, and may hold any character.
    """
    found: dict[tuple[str, str], None] = {}
    for key in keys:
        section, dot, rest = key.partition(".")
        name, second, _ = rest.rpartition(".")
        if section in _OFF and dot and second:
            found[section, name] = None
    return tuple((f"{section}.{name}.{key}", value) for section, name in found for key, value in _OFF[section])


def options(settings: Iterable[Setting]) -> list[str]:
    """Return the settings as options of git, all but those whose key has a `=`, at which git would end the key."""
    return [part for key, value in settings if "=" not in key for part in ("-c", f"{key}={value}")]


def variables(settings: Iterable[Setting]) -> dict[str, str]:
    """Return the other settings as variables of git's environment."""
    others = [setting for setting in settings if "=" in setting[0]]
    named = {
        f"GIT_CONFIG_{what}_{number}": text
        for number, setting in enumerate(others)
        for what, text in zip(("KEY", "VALUE"), setting, strict=True)
    }
    if others:
        return {**named, "GIT_CONFIG_COUNT": str(len(others))}
    return {}
