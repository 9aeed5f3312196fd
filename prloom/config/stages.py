"""Tell which agent and which model a stage of the work uses."""

from typing import NamedTuple

from prloom.config.agents import AgentChoice
from prloom.config.models import Config
from prloom.config.problems import choices, nearest
from prloom.config.values import AUTO
from prloom.errors import ConfigError
from prloom.model.agent_names import AGENT_NAMES
from prloom.model.kinds import STAGES


class StageChoice(NamedTuple):
    """An agent's name, or "auto" for the first one found on the machine; without a model, the agent's own."""

    agent: str
    model: str | None = None


def stage(config: Config, name: str, *, model: str | None = None) -> StageChoice:
    """Return which agent does a stage's work; `model` overrides it: a name of `[models]`, or one that the agent knows.

    Raises ConfigError for a stage that does not exist.
    """
    if name not in STAGES:
        close = nearest(name, STAGES)
        raise ConfigError(f"no stage {name}; {f'did you mean {close}?' if close else f'name {choices(STAGES)}'}")
    if model and model in config.models:
        return _of(config.models[model])
    setting = getattr(config.stages, name) or config.stages.default
    if isinstance(setting, AgentChoice):
        chosen = _of(setting)
    else:
        chosen = _named(config, setting)
    if model:
        return chosen._replace(model=model)
    return chosen


def _named(config: Config, name: str) -> StageChoice:
    if name in config.models:
        return _of(config.models[name])
    if name in AGENT_NAMES or name == AUTO:
        return StageChoice(name)
    raise ConfigError(f"{name} is neither an agent nor a model; add [models.{name}] to prloom.toml")


def _of(choice: AgentChoice) -> StageChoice:
    return StageChoice(choice.agent, choice.model or None)
