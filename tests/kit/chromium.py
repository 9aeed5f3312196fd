"""A real browser, which a program steers: Chromium, and the pages of a site that it opens."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from prloom.web import access, app, server
from prloom.web.sessions import Sessions
from prloom.web.site import Site

PROGRAM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
_NOT_YET = (NoSuchElementException, StaleElementReferenceException)  # the page is just being replaced

PATIENCE = 60.0  # seconds that a page may take


def is_installed() -> bool:
    """Whether the browser and its driver are there."""
    return Path(PROGRAM).exists() and Path(DRIVER).exists()


@contextlib.contextmanager
def started() -> Iterator[webdriver.Chrome]:
    """Start the browser, with a profile of its own, and end it."""
    profile = tempfile.mkdtemp(prefix="chromium-")
    options = Options()
    for each in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(each)
    options.binary_location = PROGRAM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            driver.set_page_load_timeout(PATIENCE)
            yield driver
        finally:
            with contextlib.suppress(Exception):
                driver.quit()
    finally:
        shutil.rmtree(profile, ignore_errors=True)


class Chromium:
    """Serves a site to a browser, which is let in; the browser is left as it was started."""

    def __init__(self, site: Site, driver: webdriver.Chrome) -> None:
        self.site = site
        self.driver = driver
        self.sessions = Sessions(site.clock)

    def __enter__(self) -> Self:
        listening = server.listen("127.0.0.1", 0)
        port = listening.getsockname()[1]
        names = access.names("127.0.0.1", port)
        self.base = f"http://127.0.0.1:{port}"
        self.server = server.server(app.build(self.site, self.sessions, names))
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve([listening])))
        self.thread.start()
        self.listening = listening
        self.look(1280, 900, "light")
        self.open(f"/login?token={self.sessions.link_token}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
            self.driver.get("about:blank")
        finally:
            self.server.should_exit = self.server.force_exit = True
            self.thread.join()
            self.listening.close()

    def look(self, width: int, height: int, scheme: str) -> None:
        """Set the size of the window, and whether a person prefers light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def open(self, path: str) -> None:
        """Open a page."""
        self.driver.get(self.base + path)

    def find(self, css: str) -> WebElement:
        """Return the first element of a selector."""
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def button(self, text: str) -> WebElement:
        """Return the button, or the summary, with this text."""
        xpath = f"//main//*[self::button or self::summary or self::a][normalize-space()='{text}']"
        return self.driver.find_element(By.XPATH, xpath)

    def press(self, text: str) -> None:
        """Click this button; where the page has just been brought up to date, click the one that is there now."""
        self.until(lambda: self._pressed(text))

    def _pressed(self, text: str) -> bool:
        try:
            self.button(text).click()
        except _NOT_YET:
            return False
        return True

    def run(self, script: str, *args: Any) -> Any:
        """Return what a script of the test returns."""
        return self.driver.execute_script(script, *args)

    def until(self, true: Callable[[], object]) -> None:
        """Wait until something is true; fail if it does not come true."""
        given_up = time.monotonic() + PATIENCE
        while not self._holds(true):
            assert time.monotonic() < given_up, f"it did not come true on {self.driver.current_url}: {self.text[:500]}"
            time.sleep(0.02)

    def _holds(self, true: Callable[[], object]) -> bool:
        try:
            return bool(true())
        except _NOT_YET:
            return False

    @property
    def text(self) -> str:
        """What the page shows."""
        return str(self.run("return document.body ? document.body.innerText : ''"))

    @property
    def problems(self) -> list[str]:
        """What the browser complained of since the last time."""
        log = self.driver.execute("getLog", {"type": "browser"})["value"]
        return [each["message"] for each in log if each["level"] in {"SEVERE", "WARNING"}]

    def picture(self, path: Path) -> None:
        """Write what is seen as a small PNG."""
        self.until(lambda: "on" in str(self.find("#live").get_attribute("class")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(smaller(self.driver.get_screenshot_as_png()))


def smaller(png: bytes) -> bytes:
    """Return a picture in 256 colours, where the library for that is there."""
    try:
        from PIL import Image  # noqa: PLC0415 - only pictures need it
    except ImportError:
        return png
    out = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
