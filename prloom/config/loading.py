"""Load the configuration of a repository, whole and checked, or say everything that is wrong with it."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from prloom.config import crosscheck, layers, presets, pydantic_errors, reference, sources
from prloom.config.layers import Layer, Tree
from prloom.config.models import Config
from prloom.config.problems import Problem, dotted, nearest
from prloom.errors import ConfigError

# How alike a variable and a key must be for a slip of the pen: PRLOOM_SLACK_TOKEN is somebody else's variable.
_A_SLIP = 0.85


def load(
    repo_root: Path, environ: Mapping[str, str], overrides: Iterable[str] = (), preset: str | None = None
) -> Config:
    """Return the configuration of the repository: defaults < prloom.toml < preset < environment < overrides.

    Each override is the text of a `--set` flag, `key.path=value`. Presets are checked too, chosen or not.
    Raises ConfigError whose text has one line for each thing that is wrong.
    """
    return build(sources.read(repo_root, environ, overrides)).for_preset(preset)


def parse(tree: Tree) -> Config:
    """Return the configuration that a tree of keys, as TOML gives it, makes over the defaults; raise ConfigError."""
    return build((Layer(sources.FILE_NAME, tree),))


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
    return tuple(_problem(found, said) for found in crosscheck.findings(config))


def _problem(found: crosscheck.ConfigFinding, said: tuple[Layer, ...]) -> Problem:
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
    key = dotted(("presets", name, presets.REFUSED))
    what = f"{key}: a preset cannot change the bridges, because they serve the whole repository"
    remedy = f"move its keys to [{presets.REFUSED}]"
    return [
        Problem(layer.origin, key, what, remedy) for layer in said if layer.prefix and presets.REFUSED in layer.tree
    ]


def _without_strangers(said: tuple[Layer, ...]) -> tuple[tuple[Layer, ...], tuple[Problem, ...]]:
    """Leave out variables that merely begin like ours, and name those that are probably slips."""
    strangers = [
        layer
        for layer in said
        if layer.origin.startswith(sources.PREFIX) and "__" not in layer.origin and not _is_ours(layer)
    ]
    slips = tuple(slip for layer in strangers for slip in _slip(layer.origin))
    return tuple(layer for layer in said if layer not in strangers), slips


def _slip(variable: str) -> Iterator[Problem]:
    # Compared without the prefix, which would make any two variables alike.
    names = ("__".join(key.path) for key in reference.all_keys() if reference.ANY not in key.path)
    meant = nearest(variable.removeprefix(sources.PREFIX), names, cutoff=_A_SLIP)
    if meant:
        remedy = f"did you mean {sources.variable(tuple(meant.split('__')))}?"
        yield Problem(variable, "", "this variable sets no key", remedy)


def _is_ours(layer: Layer) -> bool:
    return set(layer.tree) <= set(Config.model_fields)


def _as_meant(said: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Take a variable or a flag as text where its value as TOML does not fit: PRLOOM_BASE_BRANCH=2024 is a branch."""
    refused = {problem.origin for problem in _problems(said)}
    as_text = tuple(layer.as_text() if layer.origin in refused else layer for layer in said)
    still_refused = {problem.origin for problem in _problems(as_text)}
    return tuple(old if new.origin in still_refused else new for old, new in zip(said, as_text, strict=True))
