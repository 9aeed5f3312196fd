from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from prloom.agents import environment

Prloom = Callable[..., Any]


def test_an_address_that_others_reach_needs_a_password(prloom: Prloom, monkeypatch: pytest.MonkeyPatch):
    told = "prloom: others can reach this address, so it needs a password; set PRLOOM_WEB_PASSWORD, and run it again\n"
    assert prloom("web", "--host", "0.0.0.0").err == told

    monkeypatch.setenv("PRLOOM_WEB_PASSWORD", "short")
    assert prloom("web", "--host", "::").err == "prloom: the password is too short; use at least 12 characters\n"


def test_an_agents_run_cannot_start_it(prloom: Prloom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(environment.RUN_VARIABLE, "run-1")

    ran = prloom("web")

    assert ran.code == 1
    assert ran.err.startswith("prloom: prloom web was started by run run-1; only a person may decide this")


def test_what_is_not_installed_is_said_in_one_line(prloom: Prloom, monkeypatch: pytest.MonkeyPatch):
    for name in [each for each in sys.modules if each.startswith("prloom.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.types", None)

    ran = prloom("web")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "prloom: prloom web needs starlette; install it with `pip install 'prloom[web]'`\n"
