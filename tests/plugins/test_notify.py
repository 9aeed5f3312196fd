"""The bundled plugin notify."""

from __future__ import annotations

import functools
import http.server
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plugins.notify import daemon, messages, waiting
from plugins.notify.messages import QuietHours
from plugins.notify.notifier import Notifier, Rules
from plugins.notify.recipient import Target
from plugins.notify.waiting import Need, Reported
from prloom.engine.background.preparation import Preparation
from prloom.testing import runners, running_daemon

PLUGIN = Path(__file__).parents[2] / "plugins" / "notify"
DAEMON = str(PLUGIN / "daemon.py")
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # by Apprise

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def apprise() -> None:
    """Skip the test where the library is not installed."""
    pytest.importorskip("apprise")


def a_need(
    kind: str = "held", *ids: str, plan: str = "pr-7", since: float | None = None, **more: Any
) -> dict[str, Any]:
    begun = None
    if since is not None:
        begun = datetime.fromtimestamp(since, UTC).isoformat()
    given = {"key": f"{kind}/{plan}/", "kind": kind, "plan": plan, "text": f"a {kind}", "remedy": "`prloom x`"}
    return {**given, "ids": list(ids), "since": begun, **more}


class Scene:
    """A notifier at work: what needs a person, and what was sent; `fails` are the places that take nothing."""

    def __init__(self, folder: Path, rules: Rules, *keys: str, **more: Any) -> None:
        self.needs: list[dict[str, Any]] = []
        self.sent: list[tuple[str, str]] = []
        self.got: list[tuple[int, str]] = []
        self.now = NOON
        self.fails: set[int] = set()
        self.tried = 0
        self.kept = folder / "plugins/notify/reported.json"
        self._rules = rules
        self._keys = keys or ("one",)
        self._more = more
        self.restart()

    def restart(self, *keys: str) -> None:
        """Begin anew, as after a restart of the dispatcher; `keys` are those of the places then."""
        targets = [
            Target(key, f"urls: number {number}", functools.partial(self._send, number))
            for number, key in enumerate(keys or self._keys, start=1)
        ]
        self.notifier = Notifier("repo", self._rules, self._read, targets, self.kept, lambda: self.now, **self._more)

    def check(self, *needs: dict[str, Any], after: float = 60) -> float:
        self.now += after
        self.needs = list(needs)
        return self.notifier.check()

    def told(self, *ids: str, after: float = 60) -> list[tuple[int, str]]:
        """Look once at such needs, and return which places got what."""
        self.got = []
        self.check(*(a_need("held", each, plan=each, text=each) for each in ids), after=after)
        return sorted(self.got)

    def _read(self) -> Mapping[str, Any]:
        return {"dashboard": {"needs": self.needs}}

    def _send(self, number: int, title: str, body: str) -> bool:
        self.tried += 1
        if number in self.fails:
            return False
        self.sent.append((title, body))
        self.got.append((number, " ".join(line.split()[0] for line in body.splitlines()[::2])))
        return True


@pytest.fixture
def scene(tmp_path: Path) -> Callable[..., Scene]:
    return lambda **rules: Scene(tmp_path, Rules(**{"gather": 0.0, "zone": UTC, **rules}))


@pytest.fixture
def at(scene: Callable[..., Scene]) -> Scene:
    return scene()


def test_each_item_is_reported_once_also_after_a_restart(at: Scene) -> None:
    at.check(a_need("held", "e1", author="mallory"))
    at.check(a_need("held", "e1"))
    at.restart()
    at.check(a_need("held", "e1"))

    assert at.sent == [("prloom: held in pr-7", "pr-7 held: a held\n  `prloom x`")]


def test_what_is_new_beside_what_was_reported_is_reported_alone(at: Scene) -> None:
    at.check(a_need("held", "e1"))
    at.check(a_need("held", "e1"), a_need("parked", "e2", plan="pr-8"))
    at.check(a_need("held", "e1", "e3"), a_need("parked", "e2", plan="pr-8"))

    assert [title for title, _ in at.sent] == [
        "prloom: held in pr-7",
        "prloom: parked in pr-8",
        "prloom: held in pr-7",
    ]


def test_of_several_things_in_one_entry_it_says_how_many_are_new(at: Scene) -> None:
    at.check(a_need("held", "e1", "e2", "e3", text="3 comments by mallory"))
    at.check(a_need("held", "e1", "e2", "e3", "e4", text="4 comments by mallory"))

    assert [body.splitlines()[0] for _, body in at.sent] == [
        "pr-7 held: 3 comments by mallory",
        "pr-7 held: 4 comments by mallory, 1 of them new",
    ]


def test_what_was_over_and_came_again_is_reported_again_but_not_after_a_blip(at: Scene) -> None:
    at.check(a_need("plugin", "monitor", plan=""))
    at.check()
    at.check(a_need("plugin", "monitor", plan=""))
    assert len(at.sent) == 1

    at.check()
    at.check(after=waiting.BLIP)
    at.check(a_need("plugin", "monitor", plan=""))
    assert len(at.sent) == 2


def test_an_event_that_is_parked_anew_is_reported_anew(at: Scene) -> None:
    at.check(a_need("parked", "e1", since=NOON))
    at.check()
    at.check(a_need("parked", "e1", since=at.now + 30))

    assert len(at.sent) == 2


def test_a_second_question_about_the_same_todo_between_two_looks_is_reported(at: Scene) -> None:
    at.check(a_need("blocked", "t-1", since=NOON, text='asks "Redis or memory?"'))

    at.check(a_need("blocked", "t-1", since=at.now + 30, text='asks "Delete the data?"'))
    at.check(a_need("blocked", "t-1", since=at.now - 30, text='asks "Delete the data?"'))

    assert len(at.sent) == 2
    assert "Delete the data?" in at.sent[1][1]


def test_a_source_that_fails_again_between_two_looks_and_a_smaller_group_are_not_reported_again(at: Scene) -> None:
    source, group = a_need("bridge", "github", plan="", since=NOON), a_need("held", "a", "b", since=NOON)
    at.check(source, group)

    at.check({**source, "since": "2099-01-01T00:00:00Z"}, a_need("held", "b", since=NOON + 30))
    at.check({**source, "since": "2099-01-01T00:00:00Z"}, a_need("held", "b", since=NOON + 30))

    assert len(at.sent) == 1


def test_what_comes_at_about_the_same_time_is_one_message(scene: Callable[..., Scene]) -> None:
    at = scene(gather=15.0)
    first, second = a_need("question", "ask-1"), a_need("parked", "e2", plan="pr-8")

    assert at.check(first) == 15
    assert at.check(first, second, after=10) == 5
    at.check(first, second, after=5)

    (message,) = at.sent
    assert message == (
        "prloom: 2 things need you in repo",
        "pr-7 question: a question\n  `prloom x`\npr-8 parked: a parked\n  `prloom x`",
    )


def test_in_quiet_hours_nothing_is_sent_and_after_them_what_still_waits(scene: Callable[..., Scene]) -> None:
    at = scene(quiet=messages.quiet_hours("11:30-13:00"))

    assert at.check(a_need("held", "e1"), a_need("parked", "e2")) == 60
    assert at.sent == []
    at.check(a_need("held", "e1"), after=3600)

    assert [title for title, _ in at.sent] == ["prloom: held in pr-7"]


def test_what_could_not_be_sent_is_tried_again_later_each_time(at: Scene) -> None:
    at.fails = {1}
    need, tries = a_need("held", "e1"), []
    for minute in range(200):
        before = at.tried
        assert 0 < at.check(need) <= 60
        if at.tried > before:
            tries.append(minute)

    assert tries == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    at.fails = set()
    at.check(need, after=3600)
    assert len(at.sent) == 1


def places(folder: Path, **more: Any) -> Scene:
    """Return a notifier with two places."""
    return Scene(folder, Rules(gather=0.0), "one", "two", **more)


def test_a_place_that_fails_delays_nothing_for_another_and_gets_later_what_it_missed(tmp_path: Path) -> None:
    at = places(tmp_path)
    at.fails = {2}

    assert at.told("a") == [(1, "a")]
    assert at.told("a", "b", after=5) == [(1, "b")]
    assert at.notifier.problem == "urls: number 2: messages do not arrive; they are sent again later"
    at.restart()
    at.fails = set()
    assert at.told("a", "b") == [(2, "a b")]
    assert at.told("a", "b") == []
    assert at.notifier.problem is None


def test_a_place_that_is_new_gets_what_not_every_other_was_told(tmp_path: Path) -> None:
    at = places(tmp_path)
    assert at.told("a") == [(1, "a"), (2, "a")]
    at.fails = {2}
    at.told("a", "b")

    at.restart("one", "corrected")
    at.fails = set()

    assert at.told("a", "b") == [(2, "b")]


def test_a_place_that_does_not_answer_holds_up_no_other_and_is_sent_nothing_more_meanwhile(tmp_path: Path) -> None:
    answer, calls = threading.Event(), []

    def send(title: str, body: str) -> bool:
        calls.append(title)
        return answer.wait(600)

    for send_limit in (0.2, 5.0, 60.0):
        calls.clear()
        at = places(tmp_path / str(send_limit), send_limit=send_limit)
        at.notifier.recipients[1].target = Target("two", "urls: number 2", send)
        got = at.told("a")
        if got:  # on a busy machine, the other place may have been too late as well
            break

    assert got == [(1, "a")]
    at.notifier.send_limit = 60.0  # for what is not held up
    assert at.told("a", "b") == [(1, "b")]
    assert at.notifier.problem == "urls: number 2: a message is on its way for too long"
    answer.set()
    while at.told("a", "b") or at.notifier.problem is not None:
        pass
    assert calls == ["prloom: held in a", "prloom: held in b"]


def test_what_an_earlier_version_has_kept_was_told_to_every_place(tmp_path: Path) -> None:
    at = places(tmp_path)
    at.kept.parent.mkdir(parents=True)
    at.kept.write_text(json.dumps({"reported": {"held/a/a": None}, "began": {}}))
    at.restart()

    assert at.told("a", "b") == [(1, "b"), (2, "b")]


def test_only_the_kinds_that_are_named_are_reported(scene: Callable[..., Scene]) -> None:
    at = scene(kinds=frozenset({"question"}))
    at.check(a_need("held", "e1"), a_need("question", "ask-1"))

    assert [title for title, _ in at.sent] == ["prloom: question in pr-7"]


@pytest.mark.parametrize(
    ("clock", "rest"),
    [
        ("21:59", None),
        ("22:00", timedelta(hours=9)),
        ("23:30", timedelta(hours=7, minutes=30)),
        ("06:59", timedelta(minutes=1)),
        ("07:00", None),
    ],
)
def test_quiet_hours_may_end_on_the_next_day(clock: str, rest: timedelta | None) -> None:
    hours = messages.quiet_hours("22:00-07:00")
    assert isinstance(hours, QuietHours)

    assert hours.remaining(datetime.fromisoformat(f"2026-11-23T{clock}")) == rest


@pytest.mark.parametrize("text", ["late", "22-07", "25:00-07:00", "22:00-07:60"])
def test_hours_that_are_none_are_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"quiet_hours: '{text}' is not a span of time; write it like 22:00-07:00"):
        messages.quiet_hours(text)


def test_text_from_outside_is_one_harmless_line(at: Scene) -> None:
    text = "by \x1b[31mme\n\u202e@everyone <!channel> " + "x" * 1000
    at.check(
        a_need("held", "e1", text=text), *(a_need("held", f"x{number}", plan=f"p-{number}") for number in range(30))
    )

    ((_, body),) = at.sent
    assert "\x1b" not in body
    assert "\u202e" not in body
    assert "@everyone" not in body
    assert "<!channel" not in body
    assert max(map(len, body.splitlines())) < 400
    assert body.endswith("and 11 more; run `prloom status`")


def test_where_the_file_of_what_was_reported_is_damaged_it_is_reported_again(at: Scene) -> None:
    at.check(a_need("held", "e1"))
    at.kept.write_text("{")
    at.check(a_need("held", "e1"))

    assert len(at.sent) == 2


def test_the_file_of_what_was_reported_is_its_owners_alone_whatever_the_umask(at: Scene) -> None:
    before = os.umask(0)
    try:
        at.check(a_need("held", "e1"))
    finally:
        os.umask(before)

    assert [stat.S_IMODE(each.stat().st_mode) for each in (at.kept, at.kept.parent, at.kept.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]


def test_what_was_reported_is_forgotten_long_after_it_is_over() -> None:
    reported = {"a": Reported(gone=0.0), "b": Reported(gone=100.0)}

    assert waiting.updated((), reported, waiting.FORGOTTEN_AFTER) == {"b": Reported(gone=100.0)}


def test_a_need_without_ids_is_reported_by_its_key() -> None:
    (need,) = waiting.read({"dashboard": {"needs": [a_need("paused", remedy="", commands=["prloom resume pr-7"])]}})

    assert need == Need("paused", "pr-7", "a paused", "prloom resume pr-7", ("paused/pr-7/",))


@pytest.mark.usefixtures("apprise")
def test_a_wrong_setting_is_named_and_no_url_is_shown() -> None:
    with pytest.raises(ValueError, match="timezone: there is no 'Mars'"):
        daemon.rules({"PLUGIN_CONFIG_TIMEZONE": "Mars"})
    with pytest.raises(ValueError, match="urls: number 1 is not a URL that Apprise supports") as caught:
        daemon.targets("nothing://secret-token")
    assert "secret-token" not in str(caught.value)


@pytest.mark.usefixtures("apprise")
def test_a_url_that_apprise_does_not_know_is_named_and_stops_no_other(tmp_path: Path) -> None:
    known, unknown = daemon.targets("json://localhost nothing://secret-token")
    notifier = Notifier("repo", Rules(), dict, [known, unknown], tmp_path / "reported.json")

    assert known.send is not None
    assert notifier.problem == "urls: number 2 is not a URL that Apprise supports; see its list of services"
    assert daemon.answer(b'{"id": 1, "method": "health_check"}', threading.Event(), lambda: notifier.problem) == {
        "id": 1,
        "result": {"status": "ok", "problem": notifier.problem},
    }


def test_prlooms_own_python_runs_it_for_that_has_its_libraries(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    prepared = Preparation(runners.find_plugin(PLUGIN), tmp_path, environ={"XDG_RUNTIME_DIR": str(run)}).prepare()

    assert prepared.program == (sys.executable, "daemon.py")


# ---- as a daemon


class Hook(http.server.ThreadingHTTPServer):
    """A webhook that keeps what it is sent."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.came = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.came.set()
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the library calls it
        """Print nothing."""


@pytest.fixture
def webhook(socket_enabled: None) -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("apprise")
async def test_it_runs_as_a_daemon_and_answers() -> None:
    async with running_daemon.run(PLUGIN, {"urls": "json://127.0.0.1:9/"}) as running:
        assert await running.call("health_check") == {"status": "ok", "problem": None}
        running.publish("PERMISSION_REQUEST", 1)
        with pytest.raises(Exception, match="there is no method other"):
            await running.call("other")


@pytest.mark.usefixtures("apprise")
def test_what_is_new_arrives_at_a_webhook(tmp_path: Path, webhook: Hook) -> None:
    (target,) = daemon.targets(f"json://127.0.0.1:{webhook.server_port}/")
    document = {"dashboard": {"needs": [a_need("question", "ask-1", text="Redis or memory?")]}}
    Notifier("repo", Rules(gather=0.0), lambda: document, [target], tmp_path / "reported.json").check()

    assert webhook.came.wait(60)
    (message,) = webhook.got
    assert message["title"] == "prloom: question in pr-7"
    assert message["message"] == "pr-7 question: Redis or memory?\n  `prloom x`"


def test_without_apprise_it_says_so_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    environ = {"PRLOOM_REPO_ROOT": str(tmp_path), "PLUGIN_CONFIG_URLS": "ntfy://topic"}
    program = f"import runpy, sys; sys.modules['apprise'] = None; runpy.run_path({DAEMON!r}, run_name='__main__')"
    code = os.spawnve(os.P_WAIT, sys.executable, [sys.executable, "-c", program], environ)

    assert code == 1
    assert capfd.readouterr().out.strip() == daemon.NO_APPRISE
