"""Take the pictures of the pages for the documents: `make screenshots`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/kit"))

import chromium  # noqa: E402 - its folder is known only now
from busy_day import BusyDay  # noqa: E402 - likewise
from chromium import Chromium  # noqa: E402 - likewise

from prloom.config import loading  # noqa: E402 - likewise
from prloom.web.site import Site  # noqa: E402 - likewise

IMAGES = ROOT / "docs/images"
PICTURES = (
    ("overview-light", "/", 1280, 860, "light"),
    ("overview-dark", "/", 1280, 860, "dark"),
    ("plan-light", "/plans/pr-42", 1280, 1060, "light"),
    ("event-light", "/event?id=c-1&plan=pr-42", 1280, 760, "light"),
    ("run-dark", "/runs/RUN", 1280, 760, "dark"),
    ("costs-light", "/costs?since=7d", 1280, 900, "light"),
    ("overview-phone", "/", 360, 780, "dark"),
)


def main(names: list[str]) -> None:
    """Write the pictures of these names, or all."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "shop"
        root.mkdir()
        day = asyncio.run(BusyDay(root).write())
        site = Site(day.stage.paths, lambda: loading.load(root, {}), {})
        with day.dispatcher(), chromium.started() as driver, Chromium(site, driver) as browser:
            for name, path, width, height, scheme in PICTURES:
                if names and name not in names:
                    continue
                browser.look(width, height, scheme)
                browser.open(path.replace("RUN", day.run_id(minutes=4, stage="worker")))
                browser.picture(IMAGES / f"{name}.png")
                sys.stdout.write(f"docs/images/{name}.png\n")


if __name__ == "__main__":
    main(sys.argv[1:])
