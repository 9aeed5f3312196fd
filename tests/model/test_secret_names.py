from __future__ import annotations

import pytest

from prloom.agents import environment as agents
from prloom.config import values
from prloom.config.problems import InvalidValue
from prloom.extensions import inputs as plugins
from prloom.model import secret_names

FORGES = (
    *("GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "GITLAB_PAT", "GL_TOKEN", "GITEA_TOKEN"),
    *("FORGEJO_TOKEN", "CODEBERG_TOKEN", "BITBUCKET_APP_PASSWORD", "GITHUB_APP_PRIVATE_KEY", "MY_GITHUB_PAT"),
    *("CI_JOB_TOKEN", "CI_REGISTRY_PASSWORD", "CI_DEPLOY_PASSWORD", "ACTIONS_RUNTIME_TOKEN", "PRLOOM_TOKEN"),
    *("github_token", "GITHUB_AUTHTOKEN", "GITHUB_WEBHOOK"),
)


@pytest.mark.parametrize("name", FORGES)
def test_a_forges_secret_reaches_neither_an_agent_nor_a_plugin_nor_is_it_configured(name: str) -> None:
    assert secret_names.is_forge_secret(name)
    assert name not in agents.allowed({name: "x"}, [name])
    assert name not in plugins.environment({name: "x"}, [name])
    with pytest.raises(InvalidValue, match="a forge's token"):
        values._variable(name)


@pytest.mark.parametrize("name", ["GITHUB_REPOSITORY", "OPENAI_API_KEY", "PRLOOM_HOME", "CI_JOB_ID", "DIGIT_TOKEN"])
def test_other_variables_are_no_forges_secret(name: str) -> None:
    assert not secret_names.is_forge_secret(name)
