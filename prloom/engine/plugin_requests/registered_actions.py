"""Keep the actions that daemons have registered, and run them for the operator and for trusted people's comments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from msgspec import field
from msgspec.structs import replace

from prloom.core.commands.requests import OPERATOR
from prloom.core.delivery import outbox, reply_sanitizer
from prloom.core.plugins import plugin_action
from prloom.core.plugins.plugin_action import Absence
from prloom.core.text import markdown
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.action_names import ActionNames
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.plugin_requests.grants import Grant
from prloom.engine.plugin_requests.messages import RecordActivity
from prloom.engine.tools.arguments import ArgumentChecks
from prloom.engine.tools.rpc_handler import CallDaemon
from prloom.errors import ExtensionError
from prloom.extensions import jsonrpc
from prloom.extensions.background.call_error import CallError
from prloom.extensions.host.interface import Registered
from prloom.model.action import Action, Comment
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json

RUN_ACTION: Final = "run_action"
REGISTER: Final = "register_action"
UNREGISTER: Final = "unregister_action"


class RegisterAction(Params, frozen=True, kw_only=True):
    """The params of `register_action`."""

    name: str
    description: str = ""
    params_schema: Mapping[str, Json] = field(default_factory=dict)


class UnregisterAction(Params, frozen=True, kw_only=True):
    """The params of `unregister_action`."""

    name: str


class RegisteredAction(NamedTuple):
    """An action: what it is for, and the JSON Schema of its params."""

    description: str
    schema: Mapping[str, Json]


class RegisteredActions:
    """The actions of the daemons that run, by plugin and name; they end with their daemon.

    Their `names` are kept, so that a comment that names one while the daemon is started again waits for it.
    `plugins` is set once the plugins are known: comments find the actions there, as the commands of the plugins.
    """

    def __init__(self, call: CallDaemon, chains: Chains, activity: RecordActivity, names: ActionNames) -> None:
        self.plugins: PluginSet | None = None
        self._call = call
        self._chains = chains
        self._activity = activity
        self._names = names
        self._checks = ArgumentChecks()
        self._by_plugin: dict[str, dict[str, RegisteredAction]] = {}

    async def register(self, caller: Caller, params: RegisterAction) -> Json:
        """Register an action, in place of an earlier one of this name."""
        problem = None
        if params.params_schema:
            problem = await self._checks.schema_problem(caller.plugin, params.params_schema)
        if problem is not None:
            raise request_errors.invalid(REGISTER, f"params_schema: {problem}")
        caller.rights_now()  # the daemon may have ended meanwhile, and its actions end with it
        known = self._by_plugin.get(caller.plugin, {})
        own = self._registered(caller.plugin).commands.keys() - self._names.of(caller.plugin).keys()
        problem = plugin_action.problem(params.name, params.description, known, own)
        if problem is not None:
            raise request_errors.invalid(REGISTER, problem)
        if caller.plugin not in self._by_plugin:
            self._by_plugin[caller.plugin] = known
            caller.grant.on_end.append(lambda: self._forget(caller.grant))
        self._take_over(params.name)
        known[params.name] = RegisteredAction(params.description, params.params_schema)
        self._names.add(caller.plugin, params.name, params.description)
        self._offer(caller.plugin, {**self._registered(caller.plugin).commands, params.name: params.description})
        return {"success": True}

    async def unregister(self, caller: Caller, params: UnregisterAction) -> Json:
        """Remove an action."""
        if self._by_plugin.get(caller.plugin, {}).pop(params.name, None) is None:
            raise request_errors.invalid(UNREGISTER, f"name: there is no action {params.name[:64]!r}")
        self._withdraw(caller.plugin, params.name)
        return {"success": True}

    async def run(
        self, plugin: str, name: str, params: Mapping[str, Json], *, plan_id: str | None, by: str, limit: timedelta
    ) -> Json:
        """Run an action and return its result; raises ExtensionError for what cannot be run, and CallError."""
        found = self._by_plugin.get(plugin, {}).get(name)
        if found is None:
            known = ", ".join(self._by_plugin.get(plugin, {})) or "none"
            raise ExtensionError(f"plugin {plugin} has registered no action {name}; those that it has: {known}")
        problem = await self._checks.problem(plugin, found.schema, params)
        if problem is not None:
            raise ExtensionError(f"the params of {name} are not valid: {problem}")
        about = {"pluginName": plugin, "action": name, "params": params, "by": by}
        self._activity("PLUGIN_ACTION_REQUESTED", about, plan_id=plan_id)
        return await self._call(
            plugin, RUN_ACTION, {"name": name, "params": dict(params), "plan_id": plan_id, "by": by}, limit
        )

    # ---- what a daemon's host asks; see `daemon_host.CommentActions`

    def showed_call(self, plugin: str, call: HookCall) -> None:
        """Note what a plugin's daemon was shown by a call."""
        self._chains.showed_call(plugin, call)

    def offered(self, plugin: str) -> Mapping[str, str]:
        """Return the actions that are, or were, registered, each with its description."""
        return self._names.of(plugin)

    def answers(self, plugin: str, hook: str) -> bool:
        """Whether a hook point is that of an action which is, or was, registered."""
        return hook.startswith(plugin_action.COMMAND) and _name(hook) in self._names.of(plugin)

    def is_registered(self, plugin: str, hook: str) -> bool:
        """Whether a hook point is that of an action which the daemon that runs has registered."""
        return _name(hook) in self._by_plugin.get(plugin, {})

    def decline(self, plugin: str, call: HookCall, absence: Absence) -> Outcome:
        """Say in answer to a comment why its action was not run."""
        if absence.over:
            self._withdraw(plugin, _name(call.hook))
        return Outcome(actions=(_reply(call.events[0], absence.reason),))

    async def answer(self, plugin: str, call: HookCall, limit: timedelta) -> Outcome:
        """Run the action that a comment names; what it says is the reply. Raises CallError."""
        event, name = call.events[0], _name(call.hook)
        by = OPERATOR
        if event.author is not None:
            by = event.author.login
        try:
            result = await self.run(
                plugin, name, {"text": plugin_action.words(event.body)}, plan_id=call.plan_id, by=by, limit=limit
            )
        except ExtensionError as error:
            if isinstance(error, CallError) and error.code != jsonrpc.INVALID_PARAMS:
                raise
            return Outcome(actions=(_reply(event, str(error)),))
        if isinstance(result, dict) and isinstance(result.get("message"), str) and result["message"].strip():
            return Outcome(actions=(_reply(event, result["message"]),))
        return Outcome()

    # ---- inside

    def _forget(self, grant: Grant) -> None:
        self._by_plugin.pop(grant.plugin, None)

    def _take_over(self, name: str) -> None:
        """Forget an action where the daemon that runs has not registered it: comments mean the one that is there."""
        for plugin in self._names.owners(name):
            if name not in self._by_plugin.get(plugin, {}):
                self._withdraw(plugin, name)

    def _withdraw(self, plugin: str, name: str) -> None:
        self._names.remove(plugin, name)
        commands = self._registered(plugin).commands
        self._offer(plugin, {each: text for each, text in commands.items() if each != name})

    def _registered(self, plugin: str) -> Registered:
        if self.plugins is None or plugin not in self.plugins.keys:
            return Registered()
        return self.plugins[plugin].registered or Registered()

    def _offer(self, plugin: str, commands: Mapping[str, str]) -> None:
        """Have comments find these commands; a plugin whose code could not be loaded has none."""
        if self.plugins is None or plugin not in self.plugins.keys:  # it is not enabled any more
            return
        if self.plugins[plugin].registered is not None:
            self.plugins[plugin].registered = replace(self._registered(plugin), commands=commands)


def _name(hook: str) -> str:
    return hook.removeprefix(plugin_action.COMMAND)


def _reply(event: Event, text: str) -> Action:
    """Return the answer to a comment, in its thread."""
    to = None
    if event.author is not None:
        to = event.author.login
    said = reply_sanitizer.sanitize(markdown.escaped_comments(text), to=to)
    return Action(target=event.reply_to or Target(outbox.PLAN_TARGET), payload=Comment(said), related_event_id=event.id)
