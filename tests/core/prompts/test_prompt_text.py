from __future__ import annotations

from prloom.core.prompts import prompt_text


def test_a_shown_text_loses_the_empty_lines_around_it_and_nothing_else() -> None:
    assert prompt_text.shown("\r\n\n  an indented line\n\nX\n\n") == "  an indented line\n\nX"
