from __future__ import annotations

import pytest

from prloom.core.text import rendered


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("  a `b` c", ["`b`"]),
        ("> a `b\nc` d `e`", ["`b\nc`", "`e`"]),
        ("a `b`  \nc", ["`b`"]),
        ("x\n\n~~~\n@ann\n~~~\ny", ["~~~\n@ann\n~~~\n"]),
        ("at www.x.y `c`", ["`c`"]),
        ("at www.X`c`", []),
        ("a `b\0\nc` d", []),
    ],
)
def test_what_is_code_is_found_to_the_character_and_left_out_where_it_is_in_doubt(source: str, code: list[str]) -> None:
    assert [source[start:end] for start, end in rendered.code_ranges(source)] == code
