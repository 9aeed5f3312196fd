"""Write the arguments of an agent program's command line."""

from __future__ import annotations


def option(name: str, value: str | None) -> tuple[str, ...]:
    """Return an option with its value, or nothing where there is no value."""
    if value is None:
        return ()
    return (name, value)


def words(text: str | None) -> tuple[str, ...]:
    """Return a text that is never taken for an option, or nothing where there is no text."""
    if text is None:
        return ()
    return ("--", text)
