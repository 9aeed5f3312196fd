"""Check that a page is whole: each element is closed, and no text has become an element or an attribute."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})
SCRIPTS = frozenset({"/static/prloom.js"})


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script" and given.get("src") not in SCRIPTS:
            self.problems.append(f"a script: {given}")
        self.problems += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        self.problems += [f"{tag} to {given['href']}" for _ in range(1) if not _is_safe(given.get("href"))]
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _is_safe(address: str | None) -> bool:
    return address is None or address.startswith(("/", "#", "https://", "http://"))


def problems(page: str) -> list[str]:
    """Return what is wrong with a page."""
    read = _Elements()
    read.feed(page)
    read.close()
    twice = sorted({each for each in read.ids if read.ids.count(each) > 1})
    return [*read.problems, *(f"{each} is not closed" for each in read.open), *(f"two have the id {t}" for t in twice)]


def text(page: str) -> str:
    """Return what a page says."""
    read = _Elements()
    read.feed(page)
    return " ".join("".join(read.text).split())
