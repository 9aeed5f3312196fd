from __future__ import annotations

import pytest

from prloom.config.models import PluginSettings
from prloom.extensions import inputs


def test_what_programs_need_is_passed_on_and_the_rest_is_not() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "LC_ALL": "C.UTF-8",
        "https_proxy": "http://proxy",
        "PYTHONPATH": "/lib",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "ANTHROPIC_API_KEY": "secret",
        "SSH_AUTH_SOCK": "/agent",
    }

    assert set(inputs.environment(environ, ())) == {"PATH", "HOME", "LC_ALL", "https_proxy", "PYTHONPATH"}


def test_a_plugin_gets_the_variables_that_it_asks_for() -> None:
    assert inputs.environment({"SLACK_TOKEN": "s", "OTHER": "o"}, ["SLACK_TOKEN", "ABSENT"]) == {"SLACK_TOKEN": "s"}


FORGE_SECRETS = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_PAT",
    "GITLAB_TOKEN",
    "GITLAB_PRIVATE_TOKEN",
    "GITEA_TOKEN",
    "FORGEJO_TOKEN",
    "BITBUCKET_APP_PASSWORD",
    "CI_JOB_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "PRLOOM_BRIDGES_GITHUB_TOKEN",
    "github_token",
]


@pytest.mark.parametrize("name", FORGE_SECRETS)
def test_a_forges_token_is_given_to_no_plugin_even_if_it_asks(name: str) -> None:
    assert inputs.environment({name: "secret"}, [name]) == {}


@pytest.mark.parametrize("name", ["SLACK_TOKEN", "GITHUB_REPOSITORY", "GITHUB_API_URL", "MONKEY", "GHOST_TOKEN"])
def test_other_variables_may_be_asked_for(name: str) -> None:
    assert inputs.environment({name: "value"}, [name]) == {name: "value"}


def test_the_keys_that_are_kept_from_a_plugin_are_those_of_prlooms_own_settings():
    assert frozenset(PluginSettings.model_fields) == inputs.PRLOOMS_KEYS  # a plugin's process need not load the models
