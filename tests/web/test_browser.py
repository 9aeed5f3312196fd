"""The pages in a real Chromium: each of them, the actions, the keyboard alone, a telephone, dark mode, and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
from busy_day import BusyDay
from chromium import Chromium
from selenium.webdriver.common.keys import Keys

from prloom.config import loading
from prloom.engine.views import snapshot
from prloom.model.state import DispatchState
from prloom.storage.safe_dir import SafeDir
from prloom.web.site import Site

pytestmark = [
    pytest.mark.allow_hosts(["127.0.0.1", "::1"]),
    pytest.mark.skipif(not chromium.is_installed(), reason="Chromium is not installed; `make browser` installs it"),
    pytest.mark.timeout(300),
]

PAGES = ("/", "/plans/pr-42", "/plans/pr-42/todos/t-8e2f", "/event?id=c-1&plan=pr-42", "/runs/RUN", "/events", "/read",
         "/log?since=24h", "/costs", "/stats", "/extensions")  # fmt: skip
NARROW = 360


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> BusyDay:
    root = tmp_path_factory.mktemp("browser") / "shop"
    root.mkdir()
    return asyncio.run(BusyDay(root).write())


@pytest.fixture
def browser(day: BusyDay) -> Iterator[Chromium]:
    site = Site(day.stage.paths, lambda: loading.load(day.root, {}), {})
    with Chromium(site) as made:
        made.driver.get_log("browser")
        yield made


def address(day: BusyDay, path: str) -> str:
    return path.replace("RUN", day.run_id(minutes=4, stage="worker"))


def state(day: BusyDay, plan_id: str) -> DispatchState:
    bus = snapshot.open_bus(day.stage.paths, plan_id)
    assert bus is not None
    with bus:
        return snapshot.current_state(bus)


def test_every_page_works_in_each_size_and_scheme_and_the_browser_complains_of_nothing(day: BusyDay, browser: Chromium):
    backgrounds = set()
    for width, scheme in ((1280, "light"), (NARROW, "dark")):
        browser.look(width, 800, scheme)
        for path in PAGES:
            browser.open(address(day, path))
            assert browser.find("h1").text, path
            assert browser.run("return document.documentElement.scrollWidth") <= width, f"{path} is wider than {width}"
        backgrounds.add(browser.run("return getComputedStyle(document.body).backgroundColor"))

    assert len(backgrounds) == 2
    assert browser.problems == []
    assert "token" not in browser.driver.current_url
    assert browser.run("return document.cookie") == ""


def test_a_person_acts_with_the_keyboard_alone(day: BusyDay, browser: Chromium):
    browser.open("/plans/pr-36")
    focused = browser.driver.switch_to
    focused.active_element.send_keys(Keys.TAB)
    assert focused.active_element.text == "Skip to the content"
    focused.active_element.send_keys(Keys.ENTER)
    for _ in range(30):
        focused.active_element.send_keys(Keys.TAB)
        if focused.active_element.text == "Pause":
            break
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    focused.active_element.send_keys(Keys.ENTER)

    browser.until(lambda: "Paused: pr-36." in browser.text)
    assert state(day, "pr-36").paused


def test_each_kind_of_action_is_done_from_its_page(day: BusyDay, browser: Chromium):
    browser.open("/")
    browser.button("Try again").click()
    browser.until(lambda: "Due now: p-1." in browser.text)

    browser.button("Answer…").click()
    browser.find("details[open] textarea").send_keys("Redis, please.")
    browser.find("details[open] form button").click()
    browser.until(lambda: "Answered the question about TODO t-12" in browser.text)

    browser.button("Resume").click()
    browser.until(lambda: "Resumed: pr-35." in browser.text)

    browser.open("/read")
    browser.button("Approve").click()
    browser.until(lambda: "Approved: c-4." in browser.text)

    browser.open("/event?id=c-3&plan=pr-42")
    browser.button("Drop…").click()
    browser.find("details[open] input[name=reason]").send_keys("said elsewhere" + Keys.ENTER)
    browser.until(lambda: "Dropped: c-3." in browser.text)

    browser.open("/plans/pr-42")
    browser.button("Add a TODO…").click()
    browser.find("details[open] input[name=title]").send_keys("Write it down" + Keys.ENTER)
    browser.until(lambda: "Added: t-" in browser.text and "Write it down" in browser.text)

    browser.open(address(day, "/runs/RUN"))
    browser.button("Stop…").click()
    browser.find("details[open] button").click()
    browser.until(
        lambda: "pr-7" in browser.text and ("Stopping" in browser.text or "cannot be stopped" in browser.text)
    )
    assert browser.problems == []


def test_an_open_page_shows_a_change_and_keeps_what_a_person_has_begun_to_write(day: BusyDay, browser: Chromium):
    browser.open("/plans/pr-42")
    browser.until(lambda: browser.find("#live").text == "live")
    browser.button("Block…").click()
    browser.find("details[open] input[name=reason]").send_keys("half a sen")
    number = 0

    def changed() -> bool:
        nonlocal number
        number += 1
        text = (day.stage.local("pr-42") / "plan.md").read_text().replace("Show the deliveries", f"List {number}")
        with SafeDir.make(day.stage.local("pr-42")) as local:
            local.replace("plan.md", text.encode())
        return "List 1" in browser.text

    browser.until(changed)
    assert browser.find("details[open] input[name=reason]").get_attribute("value") == "half a sen"
    assert browser.problems == []


def test_the_pictures_of_the_documents_are_there_and_small():
    pictures = list((Path(__file__).parents[2] / "docs/images").glob("*.png"))

    assert len(pictures) >= 4
    assert max(each.stat().st_size for each in pictures) < 120_000
