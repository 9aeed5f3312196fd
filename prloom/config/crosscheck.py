"""Find what each key alone does not show: names that nobody defined, limits that contradict each other."""

import re
from collections.abc import Iterator
from typing import NamedTuple, get_args

from prloom.config.layers import KeyPath
from prloom.config.models import AgentChoice, Config, StagesSection
from prloom.config.problems import nearest, shown
from prloom.config.values import AgentName

AGENTS: tuple[str, ...] = get_args(AgentName)
AUTO = "auto"

# A bridge's name becomes part of the names of its files.
_BRIDGE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class ConfigFinding(NamedTuple):
    """What is wrong at a key, said so that it follows the key, and what to do now."""

    path: KeyPath
    what: str
    now: str


def findings(config: Config) -> Iterator[ConfigFinding]:
    """Yield what contradicts itself in a configuration whose keys are all well formed."""
    yield from _backoff(config)
    yield from _bridges(config)
    yield from _models(config)
    yield from _stages(config)


def _backoff(config: Config) -> Iterator[ConfigFinding]:
    backoff = config.backoff
    if backoff.initial > backoff.maximum:
        yield ConfigFinding(("backoff", "initial"), "is longer than backoff.maximum", "change one of the two")
    if backoff.initial > backoff.deadline:
        yield ConfigFinding(
            ("backoff", "deadline"),
            "comes before the first retry",
            "make it longer than backoff.initial, or make backoff.initial shorter",
        )


def _bridges(config: Config) -> Iterator[ConfigFinding]:
    for name in config.bridges.named():
        if not _BRIDGE_NAME.fullmatch(name):
            yield ConfigFinding(
                ("bridges", name),
                "is not a valid name for a bridge",
                "use lower-case letters, digits, - and _, at most 63",
            )


def _models(config: Config) -> Iterator[ConfigFinding]:
    for name, choice in config.models.items():
        if name in {AUTO, ""}:
            yield ConfigFinding(("models", name), "has a name that is reserved", "give the model another name")
        yield from _lacks_program(config, ("models", name, "agent"), choice.agent)


def _stages(config: Config) -> Iterator[ConfigFinding]:
    for name in StagesSection.model_fields:
        setting = getattr(config.stages, name)
        match setting:
            case AgentChoice():
                yield from _lacks_program(config, ("stages", name, "agent"), setting.agent)
            case "" if name == "default":
                yield ConfigFinding(("stages", name), "is empty", 'write "auto" for the first agent that is installed')
            case "" | "auto":
                continue
            case _ if setting in config.models:
                continue
            case _ if setting in AGENTS:
                yield from _lacks_program(config, ("stages", name), setting)
            case _:
                yield ConfigFinding(
                    ("stages", name),
                    f"is {shown(setting)}, which is neither an agent nor a model",
                    _meant(config, setting),
                )


def _meant(config: Config, setting: str) -> str:
    close = nearest(setting, (*config.models, *AGENTS, AUTO))
    if close:
        return f"did you mean {close}?"
    return f"name one of {', '.join((*config.models, *AGENTS))}, or add [models.…]"


def _lacks_program(config: Config, path: KeyPath, agent: str) -> Iterator[ConfigFinding]:
    if agent == "command" and not config.agents.command.argv:
        yield ConfigFinding(
            path,
            'is "command", but agents.command.argv names no program',
            'write argv = ["./my-agent"] below [agents.command]',
        )
