"""Trying a plugin from the command line."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import git_folder
import pytest

from prloom.cli import main
from prloom.testing import GOLDEN_EVENTS

Tried = Callable[..., tuple[int, str, str]]

NOTED = """
    def register(ctx):
        @ctx.hook("beforeTriage")
        def look(plan, triage):
            for event in triage.events:
                if event.type == "pr_merged":
                    triage.emit_comment(event.reply_to, "Bye \\x1b[31m.")
                    triage.set_state("merged", True)
                    triage.mark_event_handled(event.id, "all is over")
                elif event.type == "check_failed":
                    triage.mark_event_deferred(event.id, "perhaps it mends itself", 60_000)

        @ctx.hook("afterDesign")
        def design(plan, hook):
            return plan + "- [ ] more\\n"
"""
GUARDED = """
    def register(ctx):
        ctx.register_hook("beforeRoute", lambda action, guard: guard.change(action))
        ctx.register_hook("beforeUpsert", lambda plan, guard: plan + guard.upsert.source)
        ctx.register_hook("preTool", lambda call, guard: guard.change({**call.arguments, "page": 2}))
        ctx.register_hook("postTool", lambda call, guard: call.result.output.strip())
        ctx.register_hook("transformToolResult", lambda call, guard: call.result.output.upper())
        ctx.register_hook("sessionStart", lambda run, hook: hook.log.info(run.stage))
        ctx.register_hook("sessionEnd", lambda run, hook: hook.log.info(run.result.status))
        ctx.register_hook("afterTodo", lambda plan, hook: hook.log.info(hook.todo.title + hook.diff))
"""
BROKEN = """
    def register(ctx):
        @ctx.hook("beforeTriage")
        def look(plan, triage):
            for event in triage.events:
                check(event)

    def check(event):
        return event.author.login
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git_folder.make(tmp_path / ".git")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PRLOOM_PLUGINS__HOOK_TIMEOUT", "4m")
    return tmp_path


def write(root: Path, code: str, name: str = "noted") -> Path:
    path = root / "prloom/plugins" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code))
    return path


@pytest.fixture
def tried(capsys: pytest.CaptureFixture[str]) -> Tried:
    """Try a plugin, and return the exit code, and what the command wrote and what it complained about."""

    def run(*args: str) -> tuple[int, str, str]:
        code = main.run(main.cli, ["plugins", "test", *args])
        return code, *capsys.readouterr()

    return run


def document(tried: Tried, *args: str) -> Any:
    _, out, _ = tried(*args, "--json")
    return json.loads(out)


def row(out: str, shape: str) -> str:
    (line,) = (line for line in out.splitlines() if line.startswith(f"  {shape}  "))
    return " ".join(line.removeprefix(f"  {shape}").split())


@pytest.mark.parametrize("inline", [(), ("--inline",)])
def test_it_shows_what_the_plugin_does_with_each_event(repository: Path, tried: Tried, inline: tuple[str, ...]) -> None:
    write(repository, NOTED)

    code, out, err = tried("noted", *inline)

    assert (code, err) == (0, "")
    assert out.startswith(f"Plugin noted (project, {repository}/prloom/plugins/noted.py)\n")
    assert "hooks    beforeTriage, afterDesign" in out
    assert row(out, "pull request merged") == r"handled all is over; comment 'Bye \x1b[31m.'; state: merged"
    assert row(out, "check that failed") == "deferred perhaps it mends itself; again at 2026-11-21T12:01:00.000Z"
    assert row(out, "empty comment") == "passed"
    assert row(out, "afterDesign") == "ran rewrites the plan"
    assert "all at once: 4 deferred, 10 handled, " in out  # one by the plugin, the notices by themselves
    assert "\x1b" not in out


def test_a_hook_that_no_event_leads_to_is_tried_with_what_the_dispatcher_gives_it(
    repository: Path, tried: Tried
) -> None:
    write(repository, GUARDED)

    code, out, err = tried("noted", "--inline")

    assert (code, err) == (0, "")
    assert row(out, "beforeRoute") == "ran"
    assert row(out, "transformToolResult") == "ran"
    assert row(out, "sessionEnd") == "ran"


def test_a_plugin_that_fails_is_shown_with_where_and_the_command_fails(repository: Path, tried: Tried) -> None:
    write(repository, BROKEN)

    code, out, err = tried("noted", "--inline")

    assert code == 1
    assert row(out, "comment without an author").startswith("failed plugin noted: beforeTriage raised AttributeError")
    assert row(out, "empty comment") == "passed"
    assert "\n  noted.py, line 6, in look\n  noted.py, line 9, in check\n" in f"{out}\n"
    assert err.startswith("prloom: plugin noted failed ")


def test_a_plugin_that_dies_again_and_again_is_not_shown_everything(repository: Path, tried: Tried) -> None:
    write(
        repository, NOTED.replace("for event in triage.events:", "import os; os._exit(3)\n            for event in []:")
    )

    code, out, _ = tried("noted")

    assert code == 1
    assert "its process died while beforeTriage ran: it exited with status 3" in out
    assert f"{len(GOLDEN_EVENTS) - 3} more events were not tried, because the plugin hangs or dies too often" in out


def test_a_plugin_that_hangs_is_stopped_at_the_operators_limit(
    repository: Path, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRLOOM_PLUGINS__HOOK_TIMEOUT")
    write(repository, NOTED.replace("for event in triage.events:", "while True: pass\n            for event in []:"))
    (repository / "prloom.toml").write_text('[plugins]\nhook_timeout = "200ms"\n')

    code, out, _ = tried("noted", "--say", "hello")

    assert code == 1
    assert "beforeTriage took longer than 0.2 s and was stopped" in out


def test_a_plugin_that_cannot_be_loaded_is_one_clear_line(repository: Path, tried: Tried) -> None:
    write(repository, "import nothing_of_this_name\n")

    code, out, err = tried("noted")

    assert (code, out) == (1, "")
    assert err.startswith("prloom: plugin noted could not be loaded: ModuleNotFoundError: No module named")


def test_its_settings_are_those_of_the_configuration(repository: Path, tried: Tried) -> None:
    (repository / "prloom.toml").write_text('[plugins.settings.quiet_period]\nquiet = "2m"\n')

    seen = document(tried, "quiet_period", "--inline", "--say", "hello")

    assert seen["plugin"]["hooks"] == ["onEvent", "beforeTriage"]
    assert seen["events"][0]["verdict"] == "deferred"
    assert seen["events"][0]["deferral"]["attempts"] == 1


def test_nothing_is_done_to_the_repository(repository: Path, tried: Tried) -> None:
    (repository / "prloom.toml").write_text('[plugins.settings.memory]\nfile = "AGENTS.md"\n')

    seen = document(tried, "memory", "--inline", "--say", "!memory Use tabs")

    assert seen["events"][0]["verdict"] == "handled"
    assert sorted(path.name for path in repository.iterdir()) == [".git", "prloom.toml"]


def test_a_plugin_that_wants_to_be_configured_first_says_so(repository: Path, tried: Tried) -> None:
    code, out, _ = tried("memory", "--inline", "--say", "!memory x")

    assert code == 0
    assert "offers   nothing; it may need settings in [plugins.settings.…] first" in out


def test_a_plugin_can_be_named_by_its_path_and_outside_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: Tried
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, NOTED, "other")

    assert document(tried, str(path), "--inline", "--say", "x")["plugin"]["name"] == "other"


def test_events_of_ones_own_can_be_shown(repository: Path, tried: Tried) -> None:
    write(repository, NOTED)
    (repository / "events.json").write_text(
        json.dumps([{"id": "e1", "source": "ci", "type": "pr_merged"}, {"id": "e2", "source": "ci", "type": "x"}])
    )

    seen = document(tried, "noted", "--inline", "--event", "events.json", "--say", "hello")

    assert [(each["shape"], each["verdict"]) for each in seen["events"]] == [
        ("hello", "passed"),
        ("e1", "handled"),
        ("e2", "passed"),
        ("afterDesign", "ran"),
    ]
    assert seen["batch"] == {"verdicts": {"passed": 2, "handled": 1}, "actions": 1, "errors": []}


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("notde",), "there is no plugin notde, neither as a name nor as a path; did you mean noted?"),
        (
            ("zzz",),
            "there is no plugin zzz, neither as a name nor as a path; `prloom plugins list` lists all plugins",
        ),
        (("noted", "--inline", "--event", "gone.json"), "gone.json cannot be read: No such file or directory"),
        (("noted", "--inline", "--event", "bad.json"), "the event"),
    ],
)
def test_bad_input_is_one_clear_line(repository: Path, tried: Tried, args: tuple[str, ...], text: str) -> None:
    write(repository, NOTED)
    (repository / "bad.json").write_text('{"id": 3}')

    code, out, err = tried(*args)

    assert (code, out, err.count("\n")) == (1, "", 1)
    assert text in err


def test_a_variable_that_it_needs_and_does_not_get_is_said(
    repository: Path, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOTED_TOKEN", raising=False)
    folder = repository / "prloom/plugins/noted"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("requires_env: [NOTED_TOKEN]\n")
    (folder / "__init__.py").write_text(textwrap.dedent(NOTED))

    _, out, _ = tried("noted", "--inline", "--say", "x")

    assert "warning  it needs NOTED_TOKEN in the environment; without, prloom does not run it" in out


def test_what_asyncio_says_of_its_loop_is_not_shown_as_what_the_plugin_logged(repository: Path, tried: Tried) -> None:
    write(
        repository,
        """
        def register(ctx):
            @ctx.hook("beforeTriage")
            async def look(plan, triage):
                triage.log.debug("looking")
        """,
    )
    code, out, err = tried("noted", "--say", "hello")
    assert (code, err) == (0, "")
    assert "debug: looking" in out
    assert "selector" not in out


def test_what_it_prints_and_logs_is_shown(repository: Path, tried: Tried) -> None:
    write(
        repository,
        """
        print("imported")

        def register(ctx):
            ctx.log.info("registering")

            @ctx.hook("beforeTriage")
            def look(plan, triage):
                for event in triage.events:
                    print("looking at", event.id)
                    triage.log.info("saw %s", event.type)
                    triage.mark_event_deferred(event.id, "later", 30)
        """,
    )

    code, out, err = tried("noted", "--say", "hello", "--say", "again")

    warning = (
        "mark_event_deferred: retry_after_ms is 30, in milliseconds; event said-1 waits for the shortest time, 1000 ms;"
        " if you mean 30 seconds, give 30000"
    )
    assert (code, err) == (0, "")
    assert out.partition("What it printed and logged:\n")[2].splitlines() == [
        "  at its start: info: imported",
        "  at its start: info: registering",
        "  hello (2 times): info: looking at said-1",
        "  hello (2 times): info: saw pr_comment",
        f"  hello (2 times): warning: {warning}",
    ]
    seen = document(tried, "noted", "--say", "hello")
    assert seen["plugin"]["log"] == ["info: imported", "info: registering"]
    assert seen["events"][0]["log"][:2] == ["info: looking at said-1", "info: saw pr_comment"]


def test_what_it_prints_in_this_process_is_kept_out_of_the_document(repository: Path, tried: Tried) -> None:
    write(repository, f"print('imported')\n{textwrap.dedent(NOTED)}")

    code, out, err = tried("noted", "--inline", "--json", "--say", "x")

    assert (code, err) == (0, "imported\n")
    assert json.loads(out)["plugin"]["name"] == "noted"


def test_a_wrong_name_of_a_hook_point_fails(repository: Path, tried: Tried) -> None:
    write(repository, NOTED.replace('"beforeTriage"', '"beforeTriag"'))

    code, _, err = tried("noted", "--inline", "--say", "hello")

    assert code == 1
    assert err.startswith("prloom: plugin noted: no hook point is named 'beforeTriag'; did you mean 'beforeTriage'?")


def test_a_promise_that_only_the_contract_tries_is_tried_too(repository: Path, tried: Tried) -> None:
    write(
        repository,
        "import itertools\nCOUNT = itertools.count()\n" + textwrap.dedent(NOTED).replace('"Bye', 'f"{next(COUNT)}'),
    )

    code, out, err = tried("noted")

    assert (code, err) == (
        1,
        "prloom: plugin noted does not keep 1 promise of PluginContract; fix what is listed above\n",
    )
    assert "Not kept: A hook runs again after a crash; were its outcome another, so would be what" in out
    assert "(test_p2_the_same_call_has_the_same_outcome)" in out
    assert "beforeTriage of a pull request merged: two runs of one call differ" in out


def test_a_slash_command_is_tried_with_what_it_returns(repository: Path, tried: Tried) -> None:
    write(repository, "def register(ctx):\n    ctx.register_command('Hello', lambda event, triage: 'Hello!')\n")

    code, out, _ = tried("noted", "--inline", "--say", "hi")

    assert code == 0
    assert row(out, "/Hello") == "handled /hello; comment 'Hello!'"


# ---- plugins that are a daemon

HOOKED = """
    import json, os, socketserver

    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                message = json.loads(line)
                result = None
                if message["method"] == "run_hook":
                    mark = {"verdict": "handled", "reason": os.environ["PLUGIN_CONFIG_REASON"]}
                    events = message["params"]["call"]["events"]
                    result = {"marks": [{"eventId": each["id"], **mark} for each in events]}
                if "id" in message:
                    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                    self.wfile.write(json.dumps(answer).encode() + b"\\n")

    with socketserver.ThreadingUnixStreamServer(os.environ["PRLOOM_SOCKET_PATH"], Connection) as server:
        server.daemon_threads = True
        server.serve_forever()
"""


@pytest.fixture
def home(repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, with the user's own folder outside of it, as it has to be for secrets."""
    monkeypatch.setenv("PRLOOM_HOME", str(tmp_path_factory.mktemp("home")))
    return repository


def write_daemon(root: Path, code: str = HOOKED, **manifest: Any) -> None:
    folder = root / "prloom/plugins/answering"
    folder.mkdir(parents=True)
    (folder / "daemon.py").write_text(textwrap.dedent(code))
    patient = {"startup_timeout": 240_000, "healthcheck": {"timeout": 60_000}}
    background = {"command": "python3", "args": ["daemon.py"], "shutdown_grace_period": 1000, **patient}
    table = {"name": "answering", "background": background, **manifest}
    (folder / "plugin.json").write_text(json.dumps(table))


def test_the_hooks_that_a_daemon_answers_are_tried_with_its_settings(home: Path, tried: Tried) -> None:
    write_daemon(
        home,
        provides_hooks=["beforeTriage"],
        config_schema={"reason": {"type": "string", "required": True}},
        tools=[{"name": "count", "method": "count"}],
    )
    code, _, err = tried("answering", "--say", "hi")
    missing = "its required settings are missing: reason; run `prloom plugins config answering`"
    assert (code, err) == (1, f"prloom: plugin answering cannot be tried: {missing}\n")

    (home / "prloom.toml").write_text('[plugins.settings.answering]\nreason = "noted"\n')
    code, out, err = tried("answering", "--say", "hi")
    assert (code, err) == (0, "")
    assert "hooks    beforeTriage" in out
    assert "tools    count" in out
    assert row(out, "hi") == "handled noted"


def test_a_daemon_whose_program_does_not_exist_is_told_of_in_one_line(home: Path, tried: Tried) -> None:
    write_daemon(home, background={"command": "nosuchprog"})

    code, _, err = tried("answering")

    problem = "the daemon did not start: there is no program nosuchprog on PATH; install it, or correct the manifest"
    assert (code, err) == (1, f"prloom: {problem}\n")


def test_the_promises_of_a_daemon_are_tried(home: Path, tried: Tried) -> None:
    once = "import os, sys\nif os.path.exists('begun'):\n    sys.exit(3)\nopen('begun', 'w').close()\n"
    write_daemon(home, once + textwrap.dedent(HOOKED))

    code, out, err = tried("answering")

    name = "prloom: plugin answering"
    assert (code, err) == (
        1,
        f"{name} does not keep 9 promises of BackgroundPluginContract; fix what is listed above\n",
    )
    assert "  the daemon did not start: it exited with status 3\n" in out


def test_a_daemon_does_not_run_in_this_process(home: Path, tried: Tried) -> None:
    write_daemon(home)

    assert tried("answering", "--inline")[2] == (
        "prloom: plugin answering has no Python code that could run in this process; leave out --inline\n"
    )


def test_a_daemon_without_hooks_is_shown_no_event(home: Path, tried: Tried) -> None:
    write_daemon(home)

    code, out, err = tried("answering", "--say", "hi")

    assert (code, out) == (1, "")
    assert err == (
        "prloom: plugin answering has no hooks, so no event reaches it; leave out --say and --event to have its daemon"
        " tried\n"
    )


COUNTS = """
    WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}

    def register(ctx):
        @ctx.tool("count-letters", WORD)
        def count(word):
            return {"message": f"{word} has {len(word)} letters", "data": {"letters": len(word)}}
"""


@pytest.mark.parametrize("inline", [(), ("--inline",)])
def test_a_tool_is_called_once_with_the_arguments_given(
    repository: Path, tried: Tried, inline: tuple[str, ...]
) -> None:
    write(repository, COUNTS)

    assert tried("noted", "--tool", "count-letters", '{"word": "abc"}', *inline) == (
        0,
        'abc has 3 letters\n{"letters": 3}\n',
        "",
    )
    assert document(tried, "noted", "--tool", "count-letters", '{"word": "abc"}', *inline)["data"] == {"letters": 3}


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("count", "{}", "plugin noted has no tool 'count'; it offers: count-letters"),
        ("count-letters", "[]", """it is JSON, but not an object; write an object such as '{"id": 3}'"""),
        ("count-letters", "{", "the arguments of the tool cannot be used: "),
        ("count-letters", '{"word": NaN}', "the arguments of the tool cannot be used: "),
        ("count-letters", "[" * 100_000, "the arguments of the tool cannot be used: it is nested too deeply"),
        (
            "count-letters",
            "{}",
            "tool count-letters: the arguments of count-letters are not valid: 'word' is a required",
        ),
    ],
)
def test_a_call_that_cannot_be_made_says_why(repository: Path, tried: Tried, name: str, given: str, error: str) -> None:
    write(repository, COUNTS)

    code, out, err = tried("noted", "--tool", name, given)

    assert (code, out) == (1, "")
    assert error in err


def test_a_program_answers_for_its_tool_too(repository: Path, tried: Tried) -> None:
    folder = repository / "prloom/plugins/deploys"
    folder.mkdir(parents=True)
    schema = "{type: object, properties: {environment: {type: string}}}"
    tool = f"{{name: latest, type: executable, command: ./latest.sh, schema: {schema}}}"
    (folder / "plugin.yaml").write_text(f"tools: [{tool}]\n")
    program = folder / "latest.sh"
    program.write_text('#!/bin/sh\nread given\necho "{\\"message\\": \\"done\\", \\"data\\": $given}"\n')
    program.chmod(0o755)

    document_ = document(tried, "deploys", "--tool", "latest", '{"environment": "test"}')
    code, _, err = tried("deploys", "--tool", "latest", '{"environment": 3}')

    assert (document_["success"], document_["data"]["arguments"]) == (True, {"environment": "test"})
    assert (code, "environment: 3 is not of type 'string'" in err) == (1, True)


def test_a_tool_has_its_own_limit_and_not_that_of_hooks(repository: Path, tried: Tried) -> None:
    handler = "    @ctx.tool('wait', {}, timeout=0.2)\n    def wait():\n        while True: pass\n"
    write(repository, f"def register(ctx):\n{handler}")

    ended = document(tried, "noted", "--tool", "wait", "{}")

    assert (ended["success"], ended["errorType"]) == (False, "timeout_error")
    assert "0.2" in ended["error"]
