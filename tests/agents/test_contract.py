"""What every agent must do, run against each of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prloom.agents import mcp_server, registry
from prloom.agents.agent import Agent, ProgramEnding, RunRequest
from prloom.core.work.inspection import DEFAULT_PROTECTED
from prloom.model.agent_names import INHERITING, Inherited

AGENTS = tuple(registry.AGENTS.values())
PROGRAMS = tuple(agent for agent in AGENTS if agent.program)

every_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
every_program = pytest.mark.parametrize("agent", PROGRAMS, ids=lambda agent: agent.name)

SECRET = "the text of a comment --dangerously-skip-permissions"


def a_request(agent: Agent, **more: object) -> RunRequest:
    argv = () if agent.program else ("my-agent",)
    fields = {
        "prompt": SECRET,
        "stage": "triage",
        "cwd": Path("/work tree"),
        "root": Path("/root"),
        "rights": "work",
        "argv": argv,
    }
    return RunRequest(**(fields | more))  # type: ignore[arg-type]


@every_agent
def test_an_agent_is_listed_under_its_own_name(agent: Agent) -> None:
    assert registry.get(agent.name) is agent


MCP_SETTINGS = {"codex": '[mcp_servers.mine]\ncommand = "x"\n', "opencode": '{"mcp": {"mine": {}}}'}
FUNCTIONS = (
    *("server_settings", "settings_files", "invocation", "interactive", "refusal", "entries", "least_used", "read"),
)
VALUES = (
    *("name", "program", "resumes", "sign_in", "variables", "session_variables", "worktree_files", "home_files"),
    *("activity", "tool_prefix"),
)


def test_the_functions_and_values_that_are_compared_are_all_of_the_protocol() -> None:
    assert {*FUNCTIONS, *VALUES} == {name for name in vars(Agent) if not name.startswith("_")}


# The registry imports the modules by their names, so no type checker compares them with the protocol.
@every_agent
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_agents_function_has_the_signature_of_the_protocol(agent: Agent, function: str) -> None:
    promised = inspect.signature(getattr(Agent, function), eval_str=True)
    parameters = [each for each in promised.parameters.values() if each.name != "self"]

    assert inspect.signature(getattr(agent, function), eval_str=True) == promised.replace(parameters=parameters)


@every_agent
def test_an_agents_values_have_the_types_of_the_protocol(agent: Agent) -> None:
    assert isinstance(agent.name, str)
    assert agent.program is None or isinstance(agent.program, str)
    assert isinstance(agent.variables, tuple)
    assert {type(name) for name in agent.variables} == {str}
    assert agent.tool_prefix is None or isinstance(agent.tool_prefix, str)


@every_agent
def test_no_worker_may_change_what_instructs_an_agent_unless_the_operator_allows_it(agent: Agent) -> None:
    assert isinstance(agent.worktree_files, tuple)
    assert {*agent.worktree_files} <= {*DEFAULT_PROTECTED}
    assert [each for each in agent.home_files if each.path.startswith(("/", "..")) or "/../" in each.path] == []


@every_agent
def test_a_program_that_prloom_knows_names_the_files_that_instruct_it(agent: Agent) -> None:
    assert bool(agent.worktree_files) == (agent.program is not None)


@every_agent
def test_an_agent_says_how_it_names_the_tools_of_prlooms_server_if_it_takes_the_server(agent: Agent) -> None:
    server = mcp_server.of_run(Path("/run"), Path("/root"), timedelta(minutes=1))

    assert (agent.tool_prefix is None) == (agent.server_settings(server, ()) is None)


@every_agent
@pytest.mark.parametrize("rights", ["read", "work"])
def test_the_prompt_never_becomes_an_argument_or_a_variable(agent: Agent, rights: str) -> None:
    invocation = agent.invocation(a_request(agent, rights=rights, model="some-model"))

    assert not [part for part in (*invocation.argv, *invocation.env.values()) if SECRET in part]


@every_program
def test_an_invocation_starts_the_program_that_is_looked_for(agent: Agent) -> None:
    assert agent.invocation(a_request(agent)).argv[0] == agent.program


@every_agent
def test_a_read_only_request_is_started_differently(agent: Agent) -> None:
    reading, writing = (agent.invocation(a_request(agent, rights=choice)) for choice in ("read", "work"))

    assert reading != writing


@every_program
def test_a_chosen_model_is_one_argument_of_its_own(agent: Agent) -> None:
    plain, chosen = (agent.invocation(a_request(agent, model=model)).argv for model in (None, "vendor/some model"))

    assert "vendor/some model" in chosen
    assert "vendor/some model" not in plain


@every_agent
def test_asking_twice_gives_the_same_invocation(agent: Agent) -> None:
    assert agent.invocation(a_request(agent)) == agent.invocation(a_request(agent))


@every_agent
def test_an_agent_needs_no_variable_of_a_forge(agent: Agent) -> None:
    assert not [name for name in agent.variables if "TOKEN" in name and "AWS" not in name]
    assert not [name for name in agent.variables if name.startswith(("*", "GH", "GIT"))]


@every_agent
def test_no_output_is_no_success(agent: Agent, ending: Callable[..., ProgramEnding]) -> None:
    assert agent.read("", ending()).status == "failed"


@every_agent
@pytest.mark.parametrize(
    ("code", "ended_by", "named"),
    [
        (-15, "terminated", ("interrupted", "stopped")),  # which is no failed attempt
        *((-15, limit, ("failed", limit)) for limit in ("timeout", "silence", "output")),
        (127, "exit", ("unusable", "start")),
    ],
)
def test_how_a_run_without_output_ended_is_named(
    agent: Agent, code: int, ended_by: str, named: tuple[str, str], ending: Callable[..., ProgramEnding]
) -> None:
    result = agent.read("", ending(code, ended_by, stderr="claude: No such file or directory"))

    assert (result.status, result.trouble) == named


@every_agent
def test_a_program_that_was_killed_from_outside_says_so(agent: Agent, ending: Callable[..., ProgramEnding]) -> None:
    assert agent.read("", ending(-9)).error == "the program was ended by signal 9, which prloom did not send"


@every_agent
def test_the_end_of_stderr_explains_an_exit_code(agent: Agent, ending: Callable[..., ProgramEnding]) -> None:
    result = agent.read("", ending(2, stderr="warning: colours\nerror: unknown option '--model'\n\n"))

    assert result.error == "the program ended with exit code 2: error: unknown option '--model'"


@every_agent
def test_what_was_not_measured_is_unknown(agent: Agent, ending: Callable[..., ProgramEnding]) -> None:
    result = agent.read("no JSON at all", ending())

    assert (result.usage, result.cost_usd, result.retry_at) == (None, None, None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=4,
)
KINDS = """system assistant result init message error text step_start step_finish turn.completed turn.failed tool_use
    item.completed thread.started rate_limit_event api_retry rejected"""
KEYS = """type subtype message content item part error data usage modelUsage stats result is_error errors status tokens
    permission_denials rate_limit_info resetsAt cost reason responseHeaders retry-after statusCode total_cost_usd role
    text cache session_id"""
known = st.sampled_from(KINDS.split())
keys = st.sampled_from(KEYS.split())
hostile = st.dictionaries(
    keys, known | json_values | st.dictionaries(keys, known | json_values, max_size=4), max_size=6
)


@settings(max_examples=30, deadline=None)
@given(line=st.text(max_size=80) | hostile.map(json.dumps), stderr=st.booleans())
def test_no_line_whatsoever_breaks_the_watch_for_limits(line: str, stderr: bool) -> None:  # noqa: FBT001 - drawn
    for agent in AGENTS:  # it takes longer to draw a line than to read it
        refusal = agent.refusal(line, stderr=stderr, at=datetime(2026, 11, 21, tzinfo=UTC))

        assert refusal is None or refusal.trouble in ("usage_limit", "rate_limit"), agent.name


@settings(max_examples=30, deadline=None)
@given(lines=st.lists(hostile | json_values, max_size=6))
def test_no_output_whatsoever_breaks_the_reading(lines: list[object]) -> None:
    end = ProgramEnding(code=0, ended_by="exit", at=datetime(2026, 11, 21, tzinfo=UTC))
    for agent in AGENTS:
        result = agent.read("\n".join(json.dumps(line) for line in lines), end)

        assert result.retry_at is None or result.status == "limited", agent.name
        assert (result.error is None) == (result.status == "ok"), agent.name


BEFORE_THE_SESSION = {"claude": "--resume", "gemini": "--resume", "opencode": "--session"}
"""What these programs want before its id; codex has a command for it."""


@every_agent
def test_a_session_is_one_argument_where_the_agent_can_resume_it_and_none_elsewhere(agent: Agent) -> None:
    argv = agent.invocation(a_request(agent, session="0704098a-58d3-4349")).argv

    assert argv.count("0704098a-58d3-4349") == int(agent.resumes)
    if agent.name in BEFORE_THE_SESSION:
        assert argv[argv.index("0704098a-58d3-4349") - 1] == BEFORE_THE_SESSION[agent.name]
        assert BEFORE_THE_SESSION[agent.name] not in agent.invocation(a_request(agent)).argv


@every_agent
def test_a_run_that_works_is_not_started_outside_its_worktree(agent: Agent) -> None:
    assert not agent.invocation(a_request(agent, rights="work")).outside


@every_agent
@pytest.mark.parametrize("part", get_args(Inherited))
def test_a_program_that_can_leave_something_out_does_so_unless_it_is_let_in(agent: Agent, part: Inherited) -> None:
    known_only = {("gemini", "memory")}  # it always reads its own file
    settings = dict.fromkeys(agent.settings_files({"HOME": "/home/ann"}), MCP_SETTINGS.get(agent.name, ""))

    plain, let_in = (
        agent.invocation(a_request(agent, settings=settings, environ={"HOME": "/home/ann"}, inherit=inherit))
        for inherit in ((), (part,))
    )

    assert (plain != let_in) == (agent.name in INHERITING and (agent.name, part) not in known_only)
