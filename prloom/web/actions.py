"""Carry out what the operator asks for on a page, by the functions that the commands call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from prloom.core.commands.requests import RequestVerb
from prloom.engine.bus import plans
from prloom.engine.operator import (
    event_requests,
    own_changes,
    plan_texts,
    poll_request,
    question_answer,
    run_stop,
    submission,
    todo_changes,
)
from prloom.engine.operator.own_changes import How
from prloom.engine.views import outbox, request_targets
from prloom.errors import PrloomError
from prloom.mcp import operator_requests
from prloom.model.permission import Choice
from prloom.web.form import Form
from prloom.web.site import Site

Act = Callable[[Site, Form], str]
"""Carries out an action, and returns in a sentence what was done; raises PrloomError."""


def _approve(site: Site, form: Form) -> str:
    """Approve events for exactly the texts that the page has shown."""
    ids = _ids(form)
    texts = dict(zip(ids, form.every("digest"), strict=False))
    for each in ids:
        if not texts.get(each):
            raise PrloomError(f"the text of {each} is not named; reload the page, and read it")
    held = list(request_targets.named(site.where, texts, plan=_plan(form)))
    event_requests.check_approval(held)
    for target in held:
        if target.event is None or target.event.digest != texts[target.id]:
            raise PrloomError(f"the text of {target.id} is not the one that the page showed; read it again")
    return submission.submit(site.where, "approve", texts, digests=texts).message("Approved")


def _release(site: Site, form: Form) -> str:
    """Send an action that is withheld because it contains a secret."""
    found = list(request_targets.named(site.where, _ids(form), plan=_plan(form)))
    event_requests.check_approval(found)
    for target in found:
        if target.action is None:  # an event is approved for a text that was shown, and not so
            raise PrloomError(f"{target.id} is an event, and not a reply that is withheld; read it, and approve it")
    return submission.submit(site.where, "approve", _ids(form)).message("Released")


def _retry(site: Site, form: Form) -> str:
    found = list(request_targets.named(site.where, _ids(form), plan=_plan(form)))
    event_requests.check_retry(found)
    return submission.submit(site.where, "retry", [each.id for each in found]).message("Due now")


def _drop(site: Site, form: Form) -> str:
    reason = form.needed("reason", "the reason")
    found = list(request_targets.named(site.where, _ids(form), plan=_plan(form)))
    event_requests.check_drop(found)
    return submission.submit(site.where, "drop", [each.id for each in found], reason=reason).message("Dropped")


def _pause(site: Site, form: Form) -> str:
    return submission.submit(site.where, "pause", _plan_ids(site, form)).message("Paused")


def _resume(site: Site, form: Form) -> str:
    """Resume a plan; what it was blocked by must be gone, or is committed or stashed first where that is asked."""
    if form.one("all"):
        return submission.submit(site.where, "resume", _plan_ids(site, form)).message("Resumed")
    plan_id, done = _plan_id(site, form), "Resumed"
    how = _HOWS.get(form.one("how"))
    if how is None:
        own_changes.refuse_where_still_there(site.where, site.read_config(), plan_id)
    else:
        made = own_changes.settle(site.where, site.read_config(), plan_id, how)
        if made is not None:
            done = f"Saved the changes in {made[:10]}, and resumed"
    return submission.submit(site.where, "resume", [plan_id]).message(done)


_HOWS: Final[Mapping[str, How]] = {"commit": "commit", "stash": "stash"}


def _block(site: Site, form: Form) -> str:
    reason = form.needed("reason", "the reason")
    return submission.submit(site.where, "block", [_plan_id(site, form)], reason=reason).message("Blocked")


def _unblock(site: Site, form: Form) -> str:
    return submission.submit(site.where, "unblock", [_plan_id(site, form)]).message("Unblocked")


def _todo(site: Site, form: Form) -> str:
    """Open, allow, drop, check or block a TODO."""
    plan = plan_texts.find(site.where, form.needed("plan", "the plan"))
    change = form.one("change")
    if change not in todo_changes.DONE:
        raise PrloomError(f"a TODO cannot be changed so; use one of {', '.join(todo_changes.DONE)}")
    reason = form.one("reason").strip() or None
    return todo_changes.change(site.where, plan, change, form.needed("todo", "the TODO"), reason=reason)


def _add_todo(site: Site, form: Form) -> str:
    plan = plan_texts.find(site.where, form.needed("plan", "the plan"))
    added = plan_texts.add_todo(site.where, plan, form.needed("title", "the title"), form.one("context").strip())
    return f"Added: {added}."


def _send(site: Site, form: Form) -> str:
    """Send drafts with exactly the texts that the page has shown."""
    ids = _ids(form)
    shown = dict(zip(ids, form.every("version"), strict=False))
    now = {each.id: each.version for each in outbox.drafts(site.where).drafts}
    for each in ids:
        if not shown.get(each):
            raise PrloomError(f"the text of {each} is not named; reload the page, and read it")
        if shown[each] != now.get(each, shown[each]):
            raise PrloomError(f"the text of {each} is not the one that the page showed; read it again")
    return _of_draft(site, form, "draft_send", "To be posted by the next `prloom start`", versions=shown)


def _drop_draft(site: Site, form: Form) -> str:
    return _of_draft(site, form, "draft_drop", "Dropped")


def _edit_draft(site: Site, form: Form) -> str:
    return _of_draft(site, form, "draft_edit", "Changed", form.needed("text", "the text"))


def _of_draft(
    site: Site,
    form: Form,
    verb: RequestVerb,
    done: str,
    text: str | None = None,
    *,
    versions: Mapping[str, str] | None = None,
) -> str:
    ids = _ids(form)
    waiting = {each.id for each in outbox.drafts(site.where).drafts}
    missing = [each for each in ids if each not in waiting]
    if missing:
        raise PrloomError(f"{', '.join(missing)}: there is no such draft any more; reload the page")
    return submission.submit(site.where, verb, ids, reason=text, digests=versions).message(done)


def _allow(site: Site, form: Form) -> str:
    return _decide(site, form, "allow", "Allowed")


def _allow_always(site: Site, form: Form) -> str:
    return _decide(site, form, "allow_always", "Allowed, with all later calls for the plan")


def _deny(site: Site, form: Form) -> str:
    return _decide(site, form, "deny", "Denied")


def _decide(site: Site, form: Form, choice: Choice, done: str) -> str:
    request = _ids(form)[0]
    answer = asyncio.run(operator_requests.answer(site.where.root, request, choice))
    return f"{done}: {answer['tool']} in {answer['plan']}."


def _answer(site: Site, form: Form) -> str:
    """Answer a question: that of a run, which waits for it, or that about a TODO."""
    text = form.needed("text", "the answer")
    todo = form.one("todo")
    if todo:
        plan_id = _plan_id(site, form)
        question_answer.answer(site.where, plan_id, todo, text, site.clock())
        return f"Answered the question about TODO {todo} of {plan_id}."
    answer = asyncio.run(operator_requests.answer(site.where.root, _ids(form)[0], "allow", text))
    return f"Answered: the question in {answer['plan']}."


def _stop(site: Site, form: Form) -> str:
    url = site.read_config().exchange.url
    stopped = run_stop.stop(site.where, form.needed("run", "the run"), exchange_url=url, by="`prloom web`")
    if stopped.pause is None:
        return f"Run {stopped.run} has ended already."
    return f"Stopping {stopped.run}. {stopped.pause.message('Paused')}"


def _poll(site: Site, form: Form) -> str:
    asked = poll_request.send(site.where, ())
    if asked is None:
        raise PrloomError(poll_request.NO_DISPATCHER)
    return asked


ACTIONS: Final[Mapping[str, Act]] = {
    "approve": _approve,
    "release": _release,
    "retry": _retry,
    "drop": _drop,
    "pause": _pause,
    "resume": _resume,
    "block": _block,
    "unblock": _unblock,
    "todo": _todo,
    "add-todo": _add_todo,
    "send": _send,
    "edit-draft": _edit_draft,
    "drop-draft": _drop_draft,
    "allow": _allow,
    "allow-always": _allow_always,
    "deny": _deny,
    "answer": _answer,
    "stop": _stop,
    "poll": _poll,
}
"""What a page can do, by the last part of the address that its form is sent to."""


def _ids(form: Form) -> list[str]:
    ids = [each for each in form.every("id") if each]
    if not ids:
        raise PrloomError("nothing is chosen; choose something, and send the form again")
    return ids


def _plan(form: Form) -> str | None:
    """Return the plan that a form is about: "" is the repository as a whole, and None any."""
    given = form.every("plan")
    if not given:
        return None
    return given[-1]


def _plan_ids(site: Site, form: Form) -> Sequence[str]:
    """Return the plan that a form is about, or all plans where it says so: none is taken for all."""
    if not form.one("all"):
        return [_plan_id(site, form)]
    if form.every("plan"):
        raise PrloomError("the form names a plan, and all plans; reload the page, and send it again")
    found = plans.ids(site.where)
    if not found:
        raise PrloomError("there are no plans yet")
    return found


def _plan_id(site: Site, form: Form) -> str:
    found = plan_texts.find(site.where, form.needed("plan", "the plan"))
    if found.is_draft:
        raise PrloomError(f"{found.id} is a draft; hand it over with `prloom queue {found.id}`")
    return found.id
