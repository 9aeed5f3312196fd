from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest
from pydantic import BaseModel, ValidationError

from prloom.api import Duration, duration


class Settings(BaseModel):
    quiet: Duration | None = None


def test_a_setting_is_a_duration_as_prloom_toml_spells_it() -> None:
    assert Settings.model_validate({"quiet": "1h30m"}).quiet == timedelta(minutes=90)
    assert Settings().quiet is None


def test_a_setting_that_is_no_duration_says_what_to_write_instead() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"quiet": 30})

    assert caught.value.errors()[0]["msg"] == (
        'is 30, which has no unit; write "30s" for seconds, or "30m" for minutes'
    )


def test_a_duration_is_spelled_as_it_is_read() -> None:
    assert duration.spell(duration.parse("2m")) == "2m"


def test_importing_the_api_does_not_import_pydantic() -> None:
    program = "import sys, prloom.api; print('pydantic' in sys.modules)"

    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "False"
