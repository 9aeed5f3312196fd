from __future__ import annotations

import socket
from pathlib import Path

import pytest
from command_line import Prloom
from stage import Stage


def test_an_address_that_others_reach_needs_a_password(prloom: Prloom, monkeypatch: pytest.MonkeyPatch):
    told = "prloom: others can reach this address, so it needs a password; set PRLOOM_WEB_PASSWORD, and run it again\n"
    assert prloom("web", "--host", "0.0.0.0").err == told

    monkeypatch.setenv("PRLOOM_WEB_PASSWORD", "short")
    assert prloom("web", "--host", "::").err == "prloom: the password is too short; use at least 12 characters\n"


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_the_link_reaches_the_browser_in_a_file_of_the_operators_own_and_on_no_command_line(
    stage: Stage, prloom: Prloom, monkeypatch: pytest.MonkeyPatch
):
    opened: list[tuple[str, int, str]] = []

    def launch(address: str) -> None:
        page = Path(address.removeprefix("file://"))
        opened.append((address, page.stat().st_mode & 0o777, page.read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr("click.launch", launch)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    ran = prloom("web", "--open", "--port", str(port))

    ((address, mode, page),) = opened
    link = ran.out.split("Open ")[1].split()[0]
    assert (link.startswith(f"http://127.0.0.1:{port}/login?token="), mode) == (True, 0o600)
    assert "token" not in address
    assert f"url={link}" in page
    assert not (stage.paths.local / "web-open.html").exists()
