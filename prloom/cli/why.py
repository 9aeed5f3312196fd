"""`prloom why`: show the whole history of an event or of a TODO, or what holds a plan up."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

import click

from prloom.cli import completion, context, why_todo
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal
from prloom.core.text import event_names
from prloom.core.waits import wake
from prloom.errors import PrloomError
from prloom.model.kinds import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.core.work.progress import Progress
    from prloom.engine.views.history import ActionNow, HistoryStep
    from prloom.engine.views.todo_history import TodoHistory
    from prloom.engine.views.why import EventLife
    from prloom.engine.views.why_plan import WhyPlan
    from prloom.storage.paths import RepositoryPaths

_SHOWN_LINES = 20
_TIME = 21  # columns for "2026-11-21 12:00:00"


@click.command("why")
@click.argument("event", metavar="EVENT|TODO|PLAN|URL", shell_complete=completion.events_and_todos)
@click.option(
    "--plan",
    metavar="PLAN",
    shell_complete=completion.plans,
    help="The plan, if several plans have an event or a TODO with this id.",
)
@json_option
@pass_options
def command(given: Options, event: str, plan: str | None, *, as_json: bool) -> None:
    """Show the complete history of an event or a TODO: what was decided and why, what was done, and what was answered.

    Name an event by its id or URL, or by the id or URL of a reply to it, and a TODO by its id. Of a PLAN, show what
    holds it up.
    """
    from prloom.engine.views import why  # noqa: PLC0415 - `prloom why --help` needs none
    from prloom.engine.views import why_todo as todos  # noqa: PLC0415 - likewise

    where, config_error = context.repository_to_read(given)
    if config_error:
        click.echo(f"prloom: {terminal.clean(config_error)}", err=True)
    if plan is None:
        named = None
    else:
        named = context.plan_id(where, plan)
    if plan is None and (held_up := _plan(where, event)) is not None:
        if as_json:
            terminal.echo_json(held_up)
        else:
            click.echo("\n".join(_of_plan(held_up)))
        return
    if not as_json:
        click.echo("\n".join(history(where, event, plan=named)))
        return
    todo = todos.find(where, event, plan=named)
    if todo is not None:
        terminal.echo_json(todos.document(todo))
    else:
        terminal.echo_json(why.document(why.find(where, event, plan=named)))


def _plan(where: RepositoryPaths, named: str) -> WhyPlan | None:
    """Return what holds the plan of this name up; None where it names an event or a TODO, or nothing."""
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom why --help` needs none

    from prloom.engine.views import why, why_plan  # noqa: PLC0415 - likewise
    from prloom.engine.views import why_todo as todos  # noqa: PLC0415 - likewise

    found = why_plan.find(where, named, datetime.now(UTC))
    if found is None or todos.find(where, named) is not None:
        return None
    with suppress(PrloomError):
        why.find(where, named)
        return None
    return found


def _of_plan(held_up: WhyPlan) -> Iterator[str]:
    from prloom.cli.output import needs  # noqa: PLC0415 - only a plan needs it

    title = "" if held_up.title in {"", held_up.plan} else f'  "{layout.title(held_up.title)}"'
    yield from layout.paragraph(
        f"{terminal.paint(terminal.clean(held_up.plan), 'strong')}{title}  {terminal.clean(held_up.status)}"
    )
    yield from needs.lines(held_up.needs)
    for wait in held_up.waiting:
        end = f"; next try {layout.clock(wait.until)}" if wait.until is not None else ""
        yield from layout.paragraph(f"waits: {terminal.clean(wait.text)}: {terminal.clean(wait.reason)}{end}")
    if held_up.needs:
        return  # the first of them is what holds it up
    yield ""
    yield from layout.paragraph(f"What holds it up: {terminal.clean(held_up.reason)}.")


def history(where: RepositoryPaths, named: str, *, plan: str | None = None) -> list[str]:
    """Return the history of an event or of a TODO, as lines; raises PrloomError where there is none of that name."""
    from prloom.engine.views import why  # noqa: PLC0415 - `prloom why --help` needs none
    from prloom.engine.views import why_todo as todos  # noqa: PLC0415 - likewise

    todo = todos.find(where, named, plan=plan)
    if todo is not None:
        return _of_todo(todo)
    return list(_lines(why.find(where, named, plan=plan)))


def _of_todo(todo: TodoHistory) -> list[str]:
    from prloom.engine.views import why_todo as todos  # noqa: PLC0415 - likewise

    lines = [*why_todo.about(todo), ""]
    for happened in todo.happened:
        step = happened._replace(todo=None)  # it is the same in all of them
        lines += layout.item(layout.clock(happened.ts), *_step_lines(step), room=_TIME)
    return [*lines, "", *why_todo.now(todo, todos.current(todo), todos.block(todo))]


def _lines(life: EventLife) -> Iterator[str]:
    yield from _about(life)
    yield ""
    came = f"came in from {terminal.clean(life.event.source)}"
    yield from layout.item(layout.clock(life.came_at), came, room=_TIME)
    for happened in life.happened:
        yield from layout.item(layout.clock(happened.ts), *_step_lines(happened), room=_TIME)
    yield ""
    yield from _now(life)


def _about(life: EventLife) -> Iterator[str]:
    event = life.event
    without_author = "by the operator"
    if event.notice:
        without_author = f"reported by {terminal.clean(event.source)}"
    if event.author:
        author = f"by {terminal.clean(event.author.login)}"
    else:
        author = without_author
    if event.author and event.author.trust:
        trust = f" ({terminal.clean(event.author.trust)})"
    else:
        trust = ""
    if life.plan:
        plan = f"plan {terminal.clean(life.plan)}"
    else:
        plan = "the repository as a whole"
    yield from layout.paragraph(f"{layout.shown_id(event.id)}  {terminal.clean(event.type)} {author}{trust}, {plan}")
    if event.url:
        yield layout.INDENT + terminal.clean(event.url)
    if event.title:
        yield layout.INDENT + terminal.paint(terminal.clean(event.title), "strong")
    if life.state == "held":  # an approval is for exactly this text
        yield from layout.quoted(event.body)
    elif event.body.strip() != event.title.strip():
        yield from layout.quoted(event.body, at_most=_SHOWN_LINES)
    if life.earlier:
        yield f"{layout.INDENT}earlier versions: {', '.join(map(terminal.clean, life.earlier))}"


def _step_lines(happened: HistoryStep) -> Iterator[str]:
    """Yield what happened, and below it what it led to."""
    decider = terminal.paint(terminal.clean(happened.by), "name")
    if happened.duration_ms is None:
        took = ""
    else:
        took = f" in {terminal.duration(timedelta(milliseconds=happened.duration_ms))}"
    said = ""
    if happened.reason:
        said = f": {terminal.clean(happened.reason)}"
    if happened.run:
        run = f" (run {terminal.clean(happened.run)})"
    else:
        run = ""
    yield f"{terminal.clean(happened.stage)}  {decider}  {_verdict(happened)}{_work(happened)}{took}{run}{said}"
    wait = happened.deferral
    if wait is not None:
        until = ""
        if wait.wake_on is not None:
            until = f"waits for {wake.described(wait.wake_on)}; "
        yield (
            f"{until}attempt {wait.attempts}; next try {layout.clock(wait.deferred_until)}, "
            f"at the latest {layout.clock(wait.deadline)}, then: {terminal.clean(wait.on_expire)}"
        )
    for line in (happened.output or "").splitlines():
        yield f"| {terminal.clean(line)}"
    if happened.next_try:
        yield f"next try {layout.clock(happened.next_try)}"
    if happened.attempts is None:
        yield from map(_action, happened.actions)


def _action(action: ActionNow) -> str:
    where = f"  {terminal.clean(action.url)}" if action.url else ""
    return f"action {layout.shown_id(action.id)}  {terminal.clean(action.state)}{where}"


def _work(happened: HistoryStep) -> str:
    """Return the TODO, the attempt and the commit of a step of the work, as far as it has them."""
    words = []
    if happened.todo is not None:
        words.append(terminal.clean(happened.todo))
    if happened.attempt is not None and happened.verdict != "started":
        words.append(f"attempt {happened.attempt}")
    if happened.commit is not None:
        words.append(f"commit {terminal.clean(happened.commit[:10])}")
    return f" {', '.join(words)}" if words else ""


def _verdict(happened: HistoryStep) -> str:
    if happened.attempts is None:
        return terminal.paint(terminal.clean(happened.verdict).replace("_", " "), "strong")
    action = happened.actions[0]
    if action.url:
        url = f" {terminal.clean(action.url)}"
    else:
        url = ""
    tries = ""
    if happened.attempts > 1 or happened.verdict == "retrying":
        tries = f", attempt {happened.attempts}"
    return f"action {layout.shown_id(action.id)} {terminal.paint(happened.verdict, 'strong')}{tries}{url}"


def _now(life: EventLife) -> Iterator[str]:
    """Yield where the event stands, what is happening with it, and what a person can do about it."""
    state = terminal.paint(life.state, "good" if life.state in DONE else "warn")
    named = event_names.of(life.event.id)
    remedies = {
        "deferred": f"to try it now, run {layout.to_run('retry', named)}",
        "held": f"to approve this text, run {layout.to_run('approve', named)}",
        "parked": f"to try it again, run {layout.to_run('retry', named)}; "
        f"to drop it, run {layout.to_run('drop', named, ('--reason', 'TEXT'))}",
    }
    if life.now is None:
        happening = None
    else:
        happening = _happening(life.now, life.plan)
    more = happening or remedies.get(life.state)
    yield from layout.paragraph(f"Now {state}{f'; {more}' if more else ''}.")
    for todo in life.todos:
        commit = ""
        if todo.commit is not None:
            commit = f" in commit {terminal.clean(todo.commit)}"
        what = f"TODO {layout.shown_id(todo.id)} {layout.title(todo.title)}: {todo.state}{commit}"
        yield from layout.paragraph(f"{what}; its history: {layout.to_run('why', todo.id)}.")


def _run(now: Progress, by: str, since: str) -> str:
    """Return what is happening with a pending event while there is a run of the agent `by`."""
    run = terminal.clean(now.run or "")
    if now.kind == "agent_busy":
        return f"the agent {by} is working on other events of the plan (run {run}); this one is in the next run"
    if now.kind == "run_wait":
        end = ""
        if now.until is not None:
            end = f"; next try {layout.clock(now.until)}"
        return f"the run {run} of the agent {by} waits{since}: {terminal.clean(now.reason or '')}{end}"
    return f"the agent {by} has been working on it{since} (run {run})"


def _happening(now: Progress, plan: str) -> str:
    """Return what is happening with a pending event."""
    by = terminal.clean(now.by or "an agent")
    since = ""
    if now.since is not None:
        since = f" since {layout.clock(now.since)}"
    match now.kind:
        case "agent" | "run_wait" | "agent_busy":
            return _run(now, by, since)
        case "hook":
            return f"the {terminal.clean(now.hook or '')} hook of the plugin {by} has been running{since}"
        case "agent_queue":
            limit = terminal.clean(now.reason or "dispatcher.max_parallel_plans")
            return f"it waits for one of the running agents to end (`{limit}`)"
        case "next":
            return "the running dispatcher looks at it next"
        case "not_taken_in":
            return "the running dispatcher has not read it yet"
        case "paused":
            return f"its plan is paused; to resume it, run {layout.to_run('resume', plan)}"
        case "plan_error":
            return (
                f"its plan is not worked on: {terminal.clean(now.reason or '')}; once that is corrected, "
                "the dispatcher or the next `prloom start` tries again"
            )
        case "no_dispatcher":
            return "to have it handled, run `prloom start`"
        case _:
            assert_never(now.kind)
