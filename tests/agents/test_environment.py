"""What an agent may know of the operator's environment."""

from __future__ import annotations

import pytest

from prloom.agents import environment, registry

OPERATOR = {
    "PATH": "/usr/bin:.:bin::/opt/bin",
    "HOME": "/home/me",
    "LC_ALL": "C.UTF-8",
    "XDG_CONFIG_HOME": "/home/me/.config",
    "https_proxy": "http://proxy:3128",
    "NODE_EXTRA_CA_CERTS": "/etc/ca.pem",
    "ANTHROPIC_API_KEY": "key-a",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "OPENAI_API_KEY": "key-o",
    "CLAUDE_CODE_OAUTH_TOKEN": "token-c",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "GITHUB_TOKEN": "t",
    "GH_TOKEN": "t",
    "GITLAB_TOKEN": "t",
    "GITEA_TOKEN": "t",
    "GEMINI_CLI_GITHUB_TOKEN": "t",
    "ANTHROPIC_NOTE": "ghp_0123456789abcdefghij",
    "AWS_SECRET_ACCESS_KEY": "s",
    "SSH_AUTH_SOCK": "/run/ssh",
    "DATABASE_URL": "postgres://me:secret@db",
    "PYTHONPATH": "/elsewhere",
    "LD_PRELOAD": "/elsewhere.so",
}


def test_what_is_not_on_the_list_stays_outside() -> None:
    kept = environment.allowed(OPERATOR)

    assert kept == {
        "PATH": "/usr/bin:/opt/bin",
        "HOME": "/home/me",
        "LC_ALL": "C.UTF-8",
        "XDG_CONFIG_HOME": "/home/me/.config",
        "https_proxy": "http://proxy:3128",
        "NODE_EXTRA_CA_CERTS": "/etc/ca.pem",
        "GIT_TERMINAL_PROMPT": "0",
        "NO_COLOR": "1",
    }


def test_an_agent_gets_its_own_keys_and_no_others() -> None:
    kept = registry.allowed_environment(registry.get("claude"), OPERATOR)

    assert {name for name in kept if name not in environment.allowed(OPERATOR)} == {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
    }


@pytest.mark.parametrize("agent", registry.AGENTS.values(), ids=lambda agent: agent.name)
def test_no_agent_gets_a_forges_token(agent: registry.Agent) -> None:
    kept = registry.allowed_environment(agent, OPERATOR)

    assert "t" not in kept.values()
    assert not [value for value in kept.values() if value.startswith("ghp_")]


def test_a_forges_token_is_withheld_even_when_it_is_asked_for() -> None:
    asked = ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "*")

    assert "t" not in environment.allowed(OPERATOR, asked).values()


def test_an_extra_name_is_taken_as_it_is_written() -> None:
    kept = environment.allowed({"MY_KEY": "1", "MY_KEY_2": "2", "my_key": "3"}, ("MY_KEY",))

    assert "MY_KEY" in kept
    assert not {"MY_KEY_2", "my_key"} & set(kept)
