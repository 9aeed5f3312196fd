"""Attacks on the pages: none of them gets in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient
from web_browser import BASE, Browser, Time

from prloom.web import gate
from prloom.web.sessions import IDLE, Sessions
from prloom.web.site import Site


def cookie_of(browser: TestClient) -> str:
    return browser.cookies["prloom_7717"]


def test_the_link_lets_one_browser_in_and_its_token_is_gone_from_the_address(stranger: Callable[..., Browser]):
    browser = stranger()
    link = f"/login?token={browser.sessions.link_token}"

    answer = browser.get(link)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    flags = answer.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    assert browser.get("/").status_code == 200
    assert stranger().get(link).status_code == 401


def test_a_used_link_is_replaced_by_another_one(stranger: Callable[..., Browser]):
    told: list[str] = []
    browser = stranger(on_used=told.append)
    first = browser.sessions.link_token

    browser.get(f"/login?token={first}")
    browser.cookies.clear()

    assert told == [browser.sessions.link_token]
    assert browser.get(f"/login?token={first}").status_code == 401
    assert browser.get(f"/login?token={told[0]}").status_code == 303


def test_a_program_that_checks_the_link_does_not_use_it_up(stranger: Callable[..., Browser]):
    browser = stranger()
    link = f"/login?token={browser.sessions.link_token}"

    assert browser.head(link).status_code == 200
    assert browser.get(link).status_code == 303


@pytest.mark.parametrize(
    "path", ["/", "/events", "/read", "/log", "/costs", "/stats", "/extensions", "/live", "/plans/pr-7"]
)
@pytest.mark.parametrize("cookie", ["", "prloom_7717=guessed", "prloom_7718=other"])
def test_without_the_cookie_no_page_is_shown(stranger: Callable[..., Browser], path: str, cookie: str):
    answer = stranger().get(path, headers={"cookie": cookie})

    assert answer.status_code == 401
    assert "Sign in" in answer.text


def test_a_session_that_nobody_uses_ends(browser: Browser, time: Time):
    time.now += IDLE
    assert browser.get("/events").status_code == 200
    time.now += IDLE
    time.advance(seconds=1)
    assert browser.get("/events").status_code == 401


def test_an_action_after_the_end_of_a_session_says_that_nothing_was_done(browser: Browser, time: Time):
    form = {"csrf": browser.csrf, "all": "yes"}
    time.now += IDLE
    time.advance(seconds=1)

    page = browser.post("/actions/pause", data=form, headers={"origin": BASE})
    program = browser.post("/actions/pause", data=form, headers={"origin": BASE, "accept": "application/json"})

    assert (page.status_code, program.status_code) == (401, 401)
    assert "Nothing was done: your session is over." in page.text
    assert program.json() == {"error": "nothing was done; open the link that `prloom web` has printed"}
    assert "Nothing was done" not in browser.get("/").text


def test_a_session_ends_when_a_person_logs_out(browser: Browser):
    cookie = cookie_of(browser)
    browser.post("/logout", data={"csrf": browser.csrf}, headers={"origin": BASE})

    assert browser.get("/", headers={"cookie": f"prloom_7717={cookie}"}).status_code == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example:7717", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:7717", "127.0.0.1.nip.io:7717", ""],
)
def test_a_name_that_was_rebound_to_this_machine_shows_nothing(browser: Browser, host: str):
    answer = browser.get("/", headers={"host": host})

    assert answer.status_code == 403
    assert "this server does not answer to that host name" in answer.text


OTHER_PAGES = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:8000"},
    {"origin": BASE, "sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {},
]


@pytest.mark.parametrize("headers", OTHER_PAGES, ids=str)
def test_another_sites_page_cannot_act_even_with_the_cookie_and_the_token(browser: Browser, headers: dict[str, str]):
    answer = browser.post("/actions/pause", data={"csrf": browser.csrf, "plan": "pr-7"}, headers=headers)

    assert answer.status_code == 403
    assert "page has sent" in answer.text


@pytest.mark.parametrize("path", ["/", "/live", "/events"])
def test_another_sites_page_cannot_read(browser: Browser, path: str):
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}):
        assert browser.get(path, headers=headers).status_code == 403


@pytest.mark.parametrize("token", [None, "", "guessed"])
def test_an_action_needs_the_token_of_its_page(browser: Browser, token: str | None):
    fields = {"plan": "pr-7"} if token is None else {"plan": "pr-7", "csrf": token}

    answer = browser.post("/actions/pause", data=fields, headers={"origin": BASE})

    assert answer.status_code == 403
    assert "the form is out of date" in answer.text


def test_the_token_of_another_session_is_none(browser: Browser, site: Site):
    other = Browser(site, browser.sessions)
    other.let_in()
    theirs = browser.sessions.find(cookie_of(other)).csrf

    answer = browser.post("/actions/poll", data={"csrf": theirs}, headers={"origin": BASE})

    assert answer.status_code == 403


def test_a_link_changes_nothing(browser: Browser):
    assert browser.get("/actions/pause?plan=pr-7").status_code == 405


def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(browser: Browser):
    def endless() -> Iterator[bytes]:
        for _ in range(32):
            yield b"x" * 65_536

    announced = {"origin": BASE, "content-length": str(1 << 30)}
    assert browser.post("/actions/pause", content=b"", headers=announced).status_code == 413
    assert browser.post("/login", content=endless(), headers={"origin": BASE}).status_code == 413


@pytest.mark.parametrize("path", ["/", "/healthz", "/metrics", "/live", "/login"])
def test_a_page_that_is_asked_for_with_a_body_is_refused(browser: Browser, path: str):
    for headers in ({"content-length": "7"}, {"transfer-encoding": "chunked"}):
        answer = browser.request("GET", path, headers=headers)
        assert (answer.status_code, answer.headers["connection"]) == (413, "close")


def test_every_answer_forbids_scripts_frames_and_guesses(browser: Browser):
    for path in ("/", "/static/prloom.js", "/healthz", "/metrics", "/nothing"):
        headers = browser.get(path).headers
        assert {name: headers[name] for name in gate.HEADERS if name != "cache-control"} == {
            name: value for name, value in gate.HEADERS.items() if name != "cache-control"
        }
        assert "unsafe" not in headers["content-security-policy"]


def test_no_page_has_a_script_or_a_style_of_its_own(browser: Browser):
    for path in ("/", "/events", "/read", "/log", "/costs", "/stats", "/extensions"):
        text = browser.get(path).text
        assert text.count("<script") == 1
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick=" not in text


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\r\nset-cookie: a=b"]
)
def test_an_action_goes_back_to_a_page_of_this_server_only(browser: Browser, back: str):
    sent = {"csrf": browser.csrf, "back": back, "plan": "none"}

    answer = browser.post("/actions/pause", data=sent, headers={"origin": BASE})

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_password_lets_in_and_a_wrong_one_has_to_wait(stranger: Callable[..., Browser], time: Time):
    browser = stranger(password="correct horse battery")

    def log_in(password: str) -> int:
        return browser.post("/login", data={"password": password}, headers={"origin": BASE}).status_code

    assert log_in("wrong") == 401
    assert log_in("correct horse battery") == 401
    time.advance(seconds=3)
    assert log_in("correct horse battery") == 303
    assert browser.get("/").status_code == 200


def test_a_wrong_password_keeps_nobody_out_who_comes_from_another_address(time: Time):
    sessions = Sessions(time, password="correct horse battery")

    assert sessions.log_in("wrong", "192.0.2.1") is None
    assert sessions.log_in("correct horse battery", "192.0.2.1") is None
    assert sessions.log_in("correct horse battery", "192.0.2.2") is not None


def test_there_is_a_limit_to_sessions(time: Time):
    sessions = Sessions(time)
    first = sessions.redeem(sessions.link_token)
    time.advance(seconds=1)
    for _ in range(60):
        sessions.redeem(sessions.link_token)

    assert first is not None
    assert sessions.find(first.id) is None
    assert len(sessions._sessions) == 50


def test_the_figures_are_no_place_to_guess_the_password_faster(stranger: Callable[..., Browser], time: Time):
    browser = stranger(password="correct horse battery")

    assert browser.get("/metrics", auth=("any", "wrong")).status_code == 401
    assert browser.get("/metrics", auth=("any", "correct horse battery")).status_code == 401
    time.advance(seconds=3)
    assert browser.get("/metrics").status_code == 401
    assert browser.get("/metrics", auth=("any", "correct horse battery")).status_code == 200
    assert browser.get("/healthz").text == "ok\n"


@pytest.mark.parametrize("header", ["Basic é", "Basic !", "Basic", "Bearer x", "Basic Og=="])
def test_a_header_that_has_no_password_is_refused_like_a_wrong_one(stranger: Callable[..., Browser], header: str):
    answer = stranger(password="correct horse battery").get(
        "/metrics", headers={"authorization": header.encode("latin-1")}
    )

    assert answer.status_code == 401


@pytest.mark.parametrize(
    "path", ["/plans/%00", "/runs/%00", "/event?id=%00&plan=%00", "/read?plan=../..", "/plans/..%2f.."]
)
def test_what_can_be_no_name_is_a_page_that_is_not_there(browser: Browser, path: str):
    assert browser.get(path).status_code in {200, 404}


def test_a_link_in_another_sites_page_lets_in_by_a_page_of_this_server(stranger: Callable[..., Browser]):
    """A browser withholds a SameSite=Strict cookie from the redirect that answers another site's link."""
    browser = stranger()
    from_a_chat = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}

    answer = browser.get(f"/login?token={browser.sessions.link_token}", headers=from_a_chat)

    assert (answer.status_code, answer.headers["refresh"]) == (200, "0; url=/")
    assert "token" not in answer.text
    assert browser.get("/").status_code == 200
