from __future__ import annotations

from datetime import timedelta

import pydantic
import pytest

from prloom.api import Duration, duration


class Config(pydantic.BaseModel):
    quiet: Duration = timedelta(minutes=2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("7d", timedelta(days=7)),
    ],
)
def test_a_plugins_setting_is_spelled_as_in_prloom_toml(text: str, value: timedelta) -> None:
    assert Config.model_validate({"quiet": text}).quiet == duration.parse(text) == value
    assert duration.parse(duration.spell(value)) == value


@pytest.mark.parametrize("text", ["", "soon", "5", "-5m", "5 minutes", None, True, []])
def test_a_setting_that_is_no_duration_says_what_to_write(text: object) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        Config.model_validate({"quiet": text})

    with pytest.raises(ValueError, match=r"\S") as problem:
        duration.parse(text)
    assert caught.value.errors()[0]["msg"] == str(problem.value)


def test_a_default_needs_no_spelling() -> None:
    assert Config().quiet == timedelta(minutes=2)
