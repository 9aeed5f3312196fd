"""What a plugin's `register(ctx)` is given: a facade that records what the plugin offers, and that it is its own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from prloom.api import context, hooks
from prloom.api.manifest import Manifest
from prloom.core.plugins import tool_rules, tool_signature
from prloom.errors import ExtensionError
from prloom.model.record import Json

Handler = Callable[..., Any | Awaitable[Any]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True)
class Hook:
    """A function that a plugin registered for a hook point."""

    name: str
    handler: Handler


@dataclass(frozen=True)
class Command:
    """A slash command: a comment whose first word is `/name` goes to its handler.

    `allow_approved`: also that of an author who is not trusted, once somebody has approved its text.
    """

    name: str
    handler: Handler
    help: str = ""
    allow_approved: bool = False


@dataclass(frozen=True)
class Tool:
    """A tool that agents may use; `check` says, at each call, whether it can be used just now.

    `timeout` is in seconds. `visible_to` are the stages whose agents see the tool; empty means all.
    """

    name: str
    schema: Mapping[str, Json]
    handler: Handler
    check: Callable[[], bool] | None = None
    description: str = ""
    requires_confirmation: bool = False
    visible_to: tuple[str, ...] = ()
    timeout: float = 30.0


@dataclass(frozen=True)
class Skill:
    """A folder or file of instructions for agents."""

    name: str
    path: Path
    description: str = ""


@dataclass
class Registrations:
    """All that one plugin registered, and the warnings that it earned."""

    hooks: list[Hook] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    skills: list[Skill] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def for_hook(self, name: str) -> list[Handler]:
        """Return the handlers of a hook point in the order in which they were registered."""
        return [hook.handler for hook in self.hooks if hook.name == name]

    def command(self, name: str) -> Command | None:
        """Return the slash command of that name, in upper or lower case, or None."""
        folded = name.casefold()
        return next((command for command in self.commands if command.name.casefold() == folded), None)


class PluginContext:
    """What a plugin registers with. Every registration is recorded under the plugin's key.

    `config` is the plugin's own table of `[plugins.settings.<name>]`: the instance of its `Config` (a pydantic model)
    if it has one, else a mapping.
    """

    def __init__(self, key: str, manifest: Manifest, config: Any, *, folder: Path) -> None:  # noqa: ANN401 - the plugin's own type
        self.key = key
        self.manifest = manifest
        self.config = config
        self.log = context.plugin_logger(key)
        self.registrations = Registrations()
        self._folder = folder

    def hook(self, name: str) -> Callable[[H], H]:
        """Register the decorated function for a hook point."""

        def register(handler: H) -> H:
            self.register_hook(name, handler)
            return handler

        if not isinstance(name, str):  # the decorator without a name, which would register nothing
            hooks.unknown(f"plugin {self.key}", [name])
        return register

    def register_hook(self, name: str, handler: Handler) -> None:
        """Register a function for a hook point, `beforeTriage` or `before_triage`.

        It is called with (plan, ctx), or with (event, ctx) for event hooks; docs/writing-a-plugin.md says with what
        each guard is. A name that is not known is a warning, or refused where a guard may be meant.
        """
        self.registrations.warnings += hooks.unknown(f"plugin {self.key}", [name])
        known = hooks.canonical(name)
        if known is None:
            return
        self._check_handler(f"hook {known}", handler, arguments=2)
        self.registrations.hooks.append(Hook(known, handler))

    def command(
        self,
        name: str,
        *,
        help: str = "",  # noqa: A002 - the word authors expect
        allow_approved: bool = False,
    ) -> Callable[[H], H]:
        """Register the decorated function for the slash command `/name`; see `register_command`."""

        def register(handler: H) -> H:
            self.register_command(name, handler, help=help, allow_approved=allow_approved)
            return handler

        return register

    def register_command(
        self,
        name: str,
        handler: Handler,
        *,
        help: str = "",  # noqa: A002 - likewise
        allow_approved: bool = False,
    ) -> None:
        """Register a function (event, ctx) for comments whose first word is `/name`.

        To approve a stranger's text is not to let the stranger give commands: such a comment is an ordinary text for
        plugins and the agent. With `allow_approved` it goes to the function too, and `ctx.is_vouched(event.id)` tells.
        """
        word = ""
        if isinstance(name, str):
            word = name.removeprefix("/")
        if not word.replace("-", "").replace("_", "").isalnum():
            raise ExtensionError(f"plugin {self.key}: command {name!r}: use letters, digits, '-' and '_'")
        if word.casefold() == "prloom":
            raise ExtensionError(f"plugin {self.key}: command '/prloom' is built in; choose another name")
        if self.registrations.command(word) is not None:
            raise ExtensionError(f"plugin {self.key}: command '/{word}' is registered twice")
        self._check_handler(f"command /{word}", handler, arguments=2)
        self.registrations.commands.append(Command(word, handler, help, allow_approved))

    def tool(
        self,
        name: str,
        schema: Mapping[str, Json],
        *,
        check_fn: Callable[[], bool] | None = None,
        description: str = "",
        requires_confirmation: bool = False,
        visible_to: Sequence[str] = (),
        timeout: float = 30.0,
    ) -> Callable[[H], H]:
        """Register the decorated function as a tool for agents; see `register_tool`."""

        def register(handler: H) -> H:
            self.register_tool(
                name,
                schema,
                handler,
                check_fn,
                description,
                requires_confirmation=requires_confirmation,
                visible_to=visible_to,
                timeout=timeout,
            )
            return handler

        return register

    def register_tool(
        self,
        name: str,
        schema: Mapping[str, Json],
        handler: Handler,
        check_fn: Callable[[], bool] | None = None,
        description: str = "",
        *,
        requires_confirmation: bool = False,
        visible_to: Sequence[str] = (),
        timeout: float = 30.0,
    ) -> None:
        """Register a tool for agents; `schema` is the JSON Schema of its arguments.

        The handler is called with the arguments by their names, and with `ctx` (a ToolContext) where it has a parameter
        of that name; one whose parameters do not fit the schema is refused. `timeout` is in seconds.
        """
        self._check_name("tool", name, [tool.name for tool in self.registrations.tools])
        problem = tool_rules.name_problem(name)
        if problem is not None:
            raise ExtensionError(f"plugin {self.key}: tool {name!r}: {problem}")
        if not isinstance(schema, Mapping):
            kind = type(schema).__name__
            raise ExtensionError(f"plugin {self.key}: tool {name!r}: the schema is {kind}; give a JSON Schema object")
        if isinstance(visible_to, str):
            raise ExtensionError(f"plugin {self.key}: tool {name!r}: visible_to is a text; give a list of stages")
        if not 0 < timeout <= tool_rules.LONGEST_SECONDS:
            limit = f"give seconds, at most {tool_rules.LONGEST_SECONDS}"
            raise ExtensionError(f"plugin {self.key}: tool {name!r}: the timeout is {timeout!r}; {limit}")
        self._check_tool_handler(name, schema, handler)
        made = Tool(
            name, dict(schema), handler, check_fn, description, requires_confirmation, tuple(visible_to), timeout
        )
        wrong = filter(None, map(tool_rules.stage_problem, made.visible_to))
        self.registrations.warnings += [f"plugin {self.key}: tool {name!r}: visible_to: {each}" for each in wrong]
        self.registrations.tools.append(made)

    def register_skill(self, name: str, path: str | Path, description: str = "") -> None:
        """Register instructions for agents: a file or folder in the plugin's folder, to which `path` is relative."""
        self._check_name("skill", name, [skill.name for skill in self.registrations.skills])
        where = self._folder / path
        if not where.exists():
            raise ExtensionError(f"plugin {self.key}: skill {name!r}: there is no {where}")
        if not where.resolve().is_relative_to(self._folder.resolve()):
            raise ExtensionError(
                f"plugin {self.key}: skill {name!r}: {where} is outside the plugin's folder {self._folder}; "
                "put the instructions into it"
            )
        self.registrations.skills.append(Skill(name, where, description))

    def _check_name(self, what: str, name: str, taken: Sequence[str]) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ExtensionError(f"plugin {self.key}: {what} {name!r}: give it a name")
        if name in taken:
            raise ExtensionError(f"plugin {self.key}: {what} {name!r} is registered twice")

    def _check_tool_handler(self, name: str, schema: Mapping[str, Json], handler: Handler) -> None:
        """Refuse a function that could not be called with what the tool's schema allows."""
        self._check_callable(f"tool {name}", handler)
        try:
            signature = inspect.signature(handler)
        except (TypeError, ValueError) as error:
            text = f"the parameters of {handler!r} are not known; register a function that calls it"
            raise ExtensionError(f"plugin {self.key}: tool {name!r}: {text}") from error
        problem = tool_signature.problem(schema, signature)
        if problem is not None:
            raise ExtensionError(f"plugin {self.key}: tool {name!r}: {problem}")

    def _check_callable(self, what: str, handler: Handler) -> None:
        if not callable(handler):
            raise ExtensionError(f"plugin {self.key}: {what}: {handler!r} cannot be called")

    def _check_handler(self, what: str, handler: Handler, *, arguments: int) -> None:
        """Refuse at registration what could not be called later."""
        self._check_callable(what, handler)
        try:
            inspect.signature(handler).bind(*range(arguments))
        except TypeError as error:
            raise ExtensionError(f"plugin {self.key}: {what}: the function must take {arguments} arguments") from error
        except ValueError:  # a builtin without a signature: it is found out when it is called
            return
