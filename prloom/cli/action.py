"""`prloom action`: run an action that the daemon of a plugin has registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, dispatcher_request
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.model.record import Json


@click.command("action")
@click.argument("plugin")
@click.argument("name")
@click.option("--params", default="{}", metavar="JSON", help="What the action gets: a JSON object.")
@click.option("--plan", shell_complete=completion.plans, help="The plan that the action is about.")
@json_option
@pass_options
def command(given: Options, plugin: str, name: str, params: str, plan: str | None, *, as_json: bool) -> None:
    """Run an action that the daemon of a plugin has registered, and show what it answers."""
    from prloom.cli.plugins import daemon_names, daemons  # noqa: PLC0415 - `prloom action --help` needs none
    from prloom.engine.plugin_requests import operator_actions  # noqa: PLC0415 - likewise

    key = daemon_names.of_daemon(given, plugin)
    if plan is not None:
        plan = context.plan_id(context.repository(given), plan)
    asked = {"plugin": key, "name": name.removeprefix("/"), "params": _object(params), "plan": plan}
    absent = daemons.NO_DISPATCHER
    answer = dispatcher_request.send(given, operator_actions.RUN, asked, absent=absent)
    if as_json:
        terminal.echo_json(answer)
        return
    click.echo("\n".join(terminal.clean(line) for line in _text(answer["result"]).splitlines()))


def _object(text: str) -> Json:
    """Return the JSON object that a text is; raises PrloomError."""
    import json  # noqa: PLC0415 - `prloom action --help` needs none

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PrloomError(f"--params is not valid JSON: {error}; write an object such as '{{\"key\": 1}}'") from error
    if not isinstance(found, dict):
        raise PrloomError("--params is not a JSON object; write one such as '{\"key\": 1}'")
    return found


def _text(result: Json) -> str:
    """Return the answer for people: its message, if it has one."""
    import json  # noqa: PLC0415 - likewise

    if isinstance(result, dict) and isinstance(result.get("message"), str):
        message: str = result["message"]
        return message
    if result is None or result == {}:
        return "Done."
    return json.dumps(result, ensure_ascii=False, indent=2)
