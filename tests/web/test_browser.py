"""The pages in a real Chromium: each of them, the actions, the keyboard alone, a telephone, dark mode, and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
from busy_day import BusyDay
from chromium import Chromium
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from stage import said

from prloom.api import Author
from prloom.config import loading
from prloom.engine.views import snapshot
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
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


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    with chromium.started() as made:
        yield made


@pytest.fixture
def browser(day: BusyDay, driver: webdriver.Chrome) -> Iterator[Chromium]:
    site = Site(day.stage.paths, lambda: loading.load(day.root, {}), {})
    with Chromium(site, driver) as made:
        made.driver.get_log("browser")
        yield made


def address(day: BusyDay, path: str) -> str:
    return path.replace("RUN", day.run_id(minutes=4, stage="worker"))


def state(day: BusyDay, plan_id: str) -> DispatchState:
    bus = snapshot.open_bus(day.stage.paths, plan_id)
    assert bus is not None
    with bus:
        return snapshot.current_state(bus)


UNNAMED = """return [...document.querySelectorAll("td.number, td.todos")].filter(each => each.textContent.trim()
    && ["none", '""'].includes(getComputedStyle(each, "::before").content)).map(each => each.outerHTML)"""
"""The figures that have no name beside them."""


@pytest.mark.parametrize(
    ("width", "scheme", "background"), [(1280, "light", "rgb(246, 247, 249)"), (NARROW, "dark", "rgb(17, 19, 23)")]
)
def test_every_page_works_in_each_size_and_scheme_and_the_browser_complains_of_nothing(
    day: BusyDay, browser: Chromium, width: int, scheme: str, background: str
):
    browser.look(width, 800, scheme)
    for path in PAGES:
        browser.open(address(day, path))
        assert browser.find("h1").text, path
        assert browser.run("return document.documentElement.scrollWidth") <= width, f"{path} is wider than {width}"
        if width == NARROW:
            assert browser.run(UNNAMED) == [], path
            if browser.run("return document.querySelector('nav [aria-current=page]') !== null"):
                here = browser.find("nav [aria-current=page]").rect
                assert here["x"] >= 0, path
                assert here["x"] + here["width"] <= NARROW, path
        browser.run("document.querySelectorAll('main p').forEach(each => each.append('x'.repeat(400)))")
        assert browser.run("return document.documentElement.scrollWidth") <= width, f"a long word widens {path}"

    assert browser.run("return getComputedStyle(document.body).backgroundColor") == background
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
    browser.press("Try again")
    browser.until(lambda: "Due now: p-1." in browser.text)

    browser.press("Answer…")
    browser.find("details[open] textarea").send_keys("Redis, please.")
    browser.find("details[open] form button").click()
    browser.until(lambda: "Answered the question about TODO t-12" in browser.text)

    browser.open("/read")
    browser.press("Approve")
    browser.until(lambda: "Approved: c-4." in browser.text)

    browser.open("/event?id=c-3&plan=pr-42")
    browser.press("Drop…")
    browser.find("details[open] input[name=reason]").send_keys("said elsewhere" + Keys.ENTER)
    browser.until(lambda: "Dropped: c-3." in browser.text)

    browser.open("/plans/pr-42")
    browser.press("Add a TODO…")
    browser.find("details[open] input[name=title]").send_keys("Write it down" + Keys.ENTER)
    browser.until(lambda: "Added: t-" in browser.text and "Write it down" in browser.text)

    browser.open(address(day, "/runs/RUN"))
    browser.press("Stop…")
    browser.find("details[open] button").click()
    browser.until(
        lambda: "pr-7" in browser.text and ("Stopping" in browser.text or "cannot be stopped" in browser.text)
    )
    assert browser.problems == []


def test_replies_are_edited_sent_and_dropped_and_plans_blocked_by_clicks(day: BusyDay, browser: Chromium):
    day.stage.configure('[outbox]\ntrusted = "draft"\n')
    day.stage.adopt("pr-50", pr=50)
    day.stage.append(said("q-1", pr=50), said("q-2", pr=50), plan_id="pr-50")
    asyncio.run(day.stage.tick())

    browser.open("/read")
    browser.press("Edit…")
    text = browser.find("details[open] textarea")
    text.clear()
    text.send_keys("In other words.")
    browser.find("details[open] form button").click()
    browser.until(lambda: "Changed: a-" in browser.text and "In other words." in browser.text)
    browser.press("Send")
    browser.until(lambda: "To be posted by the next `prloom start`: a-" in browser.text)
    browser.find("section[aria-labelledby=drafts-title] details[id^=confirm-drop] summary").click()
    browser.find("details[open] form button").click()
    browser.until(lambda: "Dropped: a-" in browser.text)

    browser.open("/plans/pr-50")
    browser.press("Block…")
    browser.find("details[open] input[name=reason]").send_keys("not now" + Keys.ENTER)
    browser.until(lambda: "Blocked: pr-50." in browser.text)
    assert state(day, "pr-50").block is not None
    browser.press("Resume")
    browser.until(lambda: "Resumed: pr-50." in browser.text)
    assert browser.problems == []


def test_a_call_of_a_tool_is_allowed_and_denied_by_a_click_which_says_where_no_dispatcher_answers(
    day: BusyDay, browser: Chromium
):
    with SafeDir.make(day.root, *paths.LOCAL) as local, DispatcherLock(local):
        for button in ("Allow", "Always", "Deny"):
            browser.open("/")
            browser.press(button)
            browser.until(lambda: browser.find("#notice.bad").text)
            assert "dispatcher" in browser.find("#notice.bad").text, button


def test_an_open_page_shows_a_change_and_keeps_what_a_person_has_begun_to_write(day: BusyDay, browser: Chromium):
    browser.open("/plans/pr-42")
    browser.until(lambda: browser.find("#live").text == "live")
    browser.press("Block…")
    browser.find("details[open] input[name=reason]").send_keys("half a sen")

    browser.until(lambda: changed(day) and "List it" in browser.text)

    assert browser.find("details[open] input[name=reason]").get_attribute("value") == "half a sen"
    assert browser.problems == []


def test_a_page_that_was_read_again_has_the_same_forms_and_the_focus_where_it_was(day: BusyDay, browser: Chromium):
    day.stage.append(said("new"), plan_id="pr-42")  # no other test drops it, or has it dealt with
    browser.open("/event?id=new&plan=pr-42")
    browser.until(lambda: browser.find("#live").text == "live")
    browser.press("Drop…")
    browser.find("details[open] input[name=reason]").send_keys("half a sen")
    readings = "return performance.getEntriesByType('resource').filter(each => each.initiatorType === 'fetch').length"
    before = browser.run(readings)

    browser.until(lambda: changed(day) and browser.run(readings) >= before + 2)

    focused = browser.run("return [document.activeElement.name, document.activeElement.value]")
    assert focused == ["reason", "half a sen"]


def test_a_text_that_changes_while_it_is_read_is_not_approved_by_the_click_on_the_old_one(browser: Chromium):
    browser.open("/event?id=c-4&plan=pr-42")
    browser.until(lambda: browser.run("return Boolean(window.prloom)"))

    text, digest = browser.run(
        """
        const shown = document.querySelector("[data-digest]");
        shown.insertAdjacentHTML("beforeend", '<input type="hidden" name="digest" value="read">');
        const fresh = shown.cloneNode(true);
        fresh.dataset.digest = "another";
        fresh.querySelector(".text").textContent = "Another text.";
        fresh.querySelector("input[name=digest]:last-child").value = "another";
        window.prloom.morph(shown, fresh);
        return [shown.innerText, shown.querySelector("input[name=digest]:last-child").value];
        """
    )

    assert "setup.sh" in text
    assert "This has changed since it was shown." in text
    assert digest == "read"


def test_a_text_from_outside_is_painted_over_no_other(day: BusyDay, browser: Chromium):
    tall = "a" + "\u0301" * 300
    day.stage.append(said("tall", " ".join([tall] * 60), author=Author("eve", "none")), plan_id="pr-42")
    asyncio.run(day.stage.tick())

    browser.open("/read")
    card = browser.find('[data-key="pr-42/tall"]')

    assert "a" + "\u0301" * 6 + "\\u0301" * 294 in card.text
    assert browser.run("return getComputedStyle(arguments[0]).contain", card) == "paint"
    drop, approve = browser.button("Drop…").rect, browser.button("Approve").rect
    assert abs(drop["y"] - approve["y"]) < 1


def test_a_badge_is_never_cut(browser: Chromium):
    browser.open("/")
    cut = """const badge = document.querySelector("#needs .badge");
    return ["dispatcher", "unreadable", "superseded"].filter(each => {
        badge.textContent = each;
        return badge.scrollWidth > badge.clientWidth;
    })"""

    assert browser.run(cut) == []


def test_an_open_page_says_once_that_its_session_is_over_and_goes_on_after_the_next_one(browser: Chromium):
    browser.open("/")
    browser.until(lambda: browser.find("#live").text == "live")
    browser.sessions._sessions.clear()
    browser.run("document.dispatchEvent(new Event('visibilitychange'))")  # as when a person looks at the page again

    browser.until(lambda: browser.find("#signed-out").is_displayed())
    browser.until(lambda: browser.find("#live").text == "not live")
    assert browser.text.count("Your session is over; open the link that `prloom web` prints.") == 1

    browser.press("Pause all…")
    browser.find("#confirm-pause-all form button").click()
    browser.until(lambda: "Nothing was done: your session is over." in browser.text)


def test_what_a_page_no_longer_has_takes_no_focus_from_what_is_below_it(browser: Chromium):
    browser.open("/events")
    browser.until(lambda: browser.run("return Boolean(window.prloom)"))
    focus, text = browser.run(  # in one go: the page brings itself up to date beside the test
        """
        const main = document.getElementById("main");
        main.innerHTML = `<p id="notice">Done.</p><p>one</p> <ul><li data-key="a">a</li> <li data-key="b"><input id="b">
        </li> </ul>`;
        document.getElementById("b").focus();
        const fresh = document.createElement("main");
        fresh.id = "main";
        fresh.innerHTML = `<p>one</p> <p>two</p> <ul> <li data-key="b"><input id="b"></li>
        <li data-key="c">c</li></ul>`;
        window.prloom.morph(main, fresh);
        return [document.activeElement.id, main.innerText];
        """
    )

    assert focus == "b"
    assert text.split() == ["one", "two", "c"]


def changed(day: BusyDay) -> bool:
    """Change the plan once more, as a person does in an editor."""
    home = day.stage.local("pr-42")
    text = (home / "plan.md").read_text()
    with SafeDir.make(home) as local:
        local.replace("plan.md", text.replace("Show the deliveries", "List it").encode())
    return True


def test_the_pictures_of_the_documents_are_there_and_small():
    pictures = list((Path(__file__).parents[2] / "docs/images").glob("*.png"))

    assert len(pictures) >= 4
    assert max(each.stat().st_size for each in pictures) < 120_000
