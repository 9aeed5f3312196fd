"""Load the configuration of a repository, whole and checked, or say everything that is wrong with it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from prloom.config import layers, pydantic_errors, reference
from prloom.config.agents import AgentChoice, StagesSection
from prloom.config.layers import KeyPath, Layer, Tree
from prloom.config.models import Config
from prloom.config.problems import Problem, dotted, nearest, quoted
from prloom.config.values import AUTO
from prloom.errors import ConfigError
from prloom.model.agent_names import AGENT_NAMES

# How alike a variable and a key must be for a slip of the pen: PRLOOM_SLACK_TOKEN is another program's variable.
_A_SLIP = 0.85

REFUSED_TABLE = "bridges"
"""The table that a preset must not contain: one poll serves all plans, whichever preset each of them has."""

_WHOLE_REPOSITORY = frozenset({"base_branch", "worktrees_dir", "dispatcher", "adopt"})
_OF_PLUGINS = frozenset({"hook_timeout", "disabled", "settings", "permissions"})
_OF_ONE_PLUGIN = frozenset({"on_error"})

# A bridge's name becomes part of the names of its files.
_BRIDGE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class ConfigFinding(NamedTuple):
    """What is wrong at a key, said so that it follows the key, and what to do now."""

    path: KeyPath
    what: str
    now: str


def load(
    repo_root: Path, environ: Mapping[str, str], overrides: Iterable[str] = (), preset: str | None = None
) -> Config:
    """Return the configuration of the repository: defaults < prloom.toml < preset < environment < overrides.

    Each override is the text of a `--set` flag, `key.path=value`. Presets are checked too, chosen or not.
    Raises ConfigError whose text has one line for each thing that is wrong.
    """
    return build(layers.read(repo_root, environ, overrides)).for_preset(preset)


def parse(tree: Tree) -> Config:
    """Return the configuration that a tree of keys, as TOML gives it, makes over the defaults; raise ConfigError."""
    return build((Layer(layers.FILE_NAME, tree),))


def build(said: tuple[Layer, ...]) -> Config:
    """Return the configuration that the layers make, checked together with each preset; raise ConfigError."""
    ours, slips = _without_strangers(said)
    ours = _as_meant(ours)
    wrong = (*slips, *_problems(ours))
    if wrong:
        raise ConfigError("\n".join(dict.fromkeys(problem.line() for problem in wrong)))
    return Config.from_layers(ours)


def _problems(said: tuple[Layer, ...]) -> tuple[Problem, ...]:
    wrong = _examine(said)
    named = layers.merge(said).get("presets", {})
    for name in named if isinstance(named, Mapping) else ():
        with_preset = layers.with_preset(said, name)
        wrong = (*wrong, *_bridges_of_preset(with_preset, name))
        wrong = (*wrong, *(_nested_presets(with_preset, name) or _examine(with_preset)))
    return wrong


def _examine(said: tuple[Layer, ...]) -> tuple[Problem, ...]:
    try:
        config = Config.from_layers(said)
    except ValidationError as error:
        return pydantic_errors.problems(error, said)
    return tuple(_problem(found, said) for found in inconsistencies(config))


def _problem(found: ConfigFinding, said: tuple[Layer, ...]) -> Problem:
    return pydantic_errors.at(said, found.path, lambda key: (f"{key} {found.what}", found.now))


def _nested_presets(said: tuple[Layer, ...], name: str) -> list[Problem]:
    remedy = f"move its keys to [presets.{name}]"
    return [
        Problem(
            layer.origin, f"presets.{name}.presets", f"presets.{name}.presets: a preset cannot contain presets", remedy
        )
        for layer in said
        if layer.prefix and "presets" in layer.tree
    ]


def _bridges_of_preset(said: tuple[Layer, ...], name: str) -> list[Problem]:
    key = dotted(("presets", name, REFUSED_TABLE))
    what = f"{key}: a preset cannot change the bridges, because they serve the whole repository"
    remedy = f"move its keys to [{REFUSED_TABLE}]"
    return [Problem(layer.origin, key, what, remedy) for layer in said if layer.prefix and REFUSED_TABLE in layer.tree]


def _without_strangers(said: tuple[Layer, ...]) -> tuple[tuple[Layer, ...], tuple[Problem, ...]]:
    """Leave out variables that merely begin like ours, and name those that are probably slips."""
    strangers = [
        layer
        for layer in said
        if layer.origin.startswith(layers.PREFIX) and "__" not in layer.origin and not _is_ours(layer)
    ]
    slips = tuple(slip for layer in strangers for slip in _slip(layer.origin))
    return tuple(layer for layer in said if layer not in strangers), slips


def _slip(variable: str) -> Iterator[Problem]:
    # Compared without the prefix, which would make any two variables alike.
    names = ("__".join(key.path) for key in reference.all_keys() if reference.ANY not in key.path)
    meant = nearest(variable.removeprefix(layers.PREFIX), names, cutoff=_A_SLIP)
    if meant:
        remedy = f"did you mean {layers.variable(tuple(meant.split('__')))}?"
        yield Problem(variable, "", "this variable sets no key", remedy)


def _is_ours(layer: Layer) -> bool:
    return set(layer.tree) <= set(Config.model_fields)


def _as_meant(said: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Take a variable or a flag as text where its value as TOML does not fit: PRLOOM_BASE_BRANCH=2024 is a branch."""
    refused = {problem.origin for problem in _problems(said)}
    as_text = tuple(layer.as_text() if layer.origin in refused else layer for layer in said)
    still_refused = {problem.origin for problem in _problems(as_text)}
    return tuple(old if new.origin in still_refused else new for old, new in zip(said, as_text, strict=True))


def keys_without_effect(preset: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a preset, each as it is written in it, that have no effect on the plans that choose it."""
    yield from sorted(preset.keys() & _WHOLE_REPOSITORY)
    plugins = _table(preset, "plugins")
    yield from (f"plugins.{key}" for key in sorted(plugins.keys() - _OF_PLUGINS))
    for name, settings in _table(plugins, "settings").items():
        own = settings.keys() - _OF_ONE_PLUGIN if isinstance(settings, Mapping) else ()
        yield from (dotted(("plugins", "settings", name, key)) for key in sorted(own))


def _table(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = tree.get(key)
    if isinstance(found, Mapping):
        return found
    return {}


def inconsistencies(config: Config) -> Iterator[ConfigFinding]:
    """Yield what contradicts itself in a configuration whose keys are all well formed."""
    yield from _backoff(config)
    yield from _bridge_names(config)
    yield from _models(config)
    yield from _stages(config)
    yield from _adoption(config)


def _adoption(config: Config) -> Iterator[ConfigFinding]:
    for number, rule in enumerate(config.adopt):
        if rule.preset is not None and rule.preset not in config.presets:
            path: KeyPath = ("adopt", number, "preset")
            remedy = f"add [presets.{rule.preset}]"
            close = nearest(rule.preset, config.presets)
            if close:
                remedy = f"did you mean {close}?"
            yield ConfigFinding(path, f"is {quoted(rule.preset)}, which is not configured", remedy)


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


def _bridge_names(config: Config) -> Iterator[ConfigFinding]:
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
            case _ if setting in AGENT_NAMES:
                yield from _lacks_program(config, ("stages", name), setting)
            case _:
                yield ConfigFinding(
                    ("stages", name),
                    f"is {quoted(setting)}, which is neither an agent nor a model",
                    _meant(config, setting),
                )


def _meant(config: Config, setting: str) -> str:
    close = nearest(setting, (*config.models, *AGENT_NAMES, AUTO))
    if close:
        return f"did you mean {close}?"
    return f"name one of {', '.join((*config.models, *AGENT_NAMES))}, or add [models.…]"


def _lacks_program(config: Config, path: KeyPath, agent: str) -> Iterator[ConfigFinding]:
    if agent == "command" and not config.agents.command.argv:
        yield ConfigFinding(
            path,
            'is "command", but agents.command.argv names no program',
            'write argv = ["./my-agent"] below [agents.command]',
        )
