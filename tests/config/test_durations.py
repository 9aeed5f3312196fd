from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.config import durations
from prloom.config.problems import InvalidValue

MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("30s", 30), ("5m", 300), ("1h30m", 5400), ("7d", 604_800), ("1d2h3m4s5ms", 93_784.005)],
)
def test_a_duration_is_a_number_and_a_unit_or_several_from_large_to_small(text: str, seconds: float) -> None:
    assert durations.parse(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "s", "5", "5 m", "1.5h", "30m1h", "5m5m", "-5s", "5M", "٣s", "5s\n", "1w"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidValue, match="which is not a duration; write a number and a unit"):
        durations.parse(text)


@pytest.mark.parametrize("value", [1, 30])
def test_a_bare_number_is_refused_with_what_to_write(value: object) -> None:
    with pytest.raises(InvalidValue, match=f'is {value}, which has no unit; write "{value}s" for seconds'):
        durations.parse(value)


@pytest.mark.parametrize("value", [True, None, ["5s"], {}])
def test_other_kinds_of_value_are_no_duration(value: object) -> None:
    with pytest.raises(InvalidValue, match="which is not a duration"):
        durations.parse(value)


@pytest.mark.parametrize("text", ["0s", "0ms"])
def test_no_time_at_all_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="not longer than zero"):
        durations.parse(text)


@pytest.mark.parametrize("text", ["3651d", "999999999d", "999999999d999999999h"])
def test_a_duration_beyond_reason_is_refused_and_does_not_overflow(text: str) -> None:
    with pytest.raises(InvalidValue, match="longer than ten years"):
        durations.parse(text)


@given(st.timedeltas(min_value=MILLISECOND, max_value=timedelta(days=3650)).map(lambda span: span // MILLISECOND))
def test_what_is_spelled_is_read_back_exactly(milliseconds: int) -> None:
    span = milliseconds * MILLISECOND

    assert durations.parse(durations.spell(span)) == span


@pytest.mark.parametrize("text", ["250ms", "60s", "119s", "2m", "1h30m", "7d", "1d30ms"])
def test_durations_are_spelled_as_people_write_them(text: str) -> None:
    assert durations.spell(durations.parse(text)) == text


@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_a_bare_number_that_no_unit_would_save_is_not_offered_with_one(value: float) -> None:
    with pytest.raises(InvalidValue, match="which is not a duration; write a number and a unit"):
        durations.parse(value)
