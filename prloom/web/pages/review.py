"""Build the page of what a person has to read and decide about."""

from __future__ import annotations

import os

from prloom.core.text import secret_scan
from prloom.engine.views import outbox, request_targets
from prloom.engine.views.outbox import ReplyDraft
from prloom.engine.views.request_targets import RequestTarget
from prloom.errors import PrloomError
from prloom.model.record import Record
from prloom.web.site import Page, Query, Site


class UntrustedText(Record, frozen=True, kw_only=True):
    """A held event with its text. `digest` is the text's: an approval is for exactly that."""

    id: str
    plan: str
    type: str
    author: str | None
    title: str
    body: str
    url: str | None
    digest: str
    problem: str | None = None


class WithheldAction(Record, frozen=True, kw_only=True):
    """An action that contains a secret, with its texts, in which the secret is masked."""

    id: str
    plan: str
    target: str
    error: str | None
    texts: tuple[str, ...]


class ReviewDocument(Record, frozen=True, kw_only=True):
    """What waits for a person who reads it: held events, replies to send, and actions that are withheld."""

    held: tuple[UntrustedText, ...]
    drafts: tuple[ReplyDraft, ...]
    withheld: tuple[WithheldAction, ...]


def page(site: Site, query: Query) -> Page:
    """Return what a person has to read and decide about: of all plans or of one, of all authors or of one."""
    plan, author = query.text("plan"), query.text("author")
    found = request_targets.in_state(site.where, ["held"], plan=plan)
    held = tuple(_untrusted(site, each) for each in found if each.event and author in {None, each.event.author})
    drafts = tuple(each for each in outbox.drafts(site.where).drafts if plan in {None, each.plan})
    withheld = tuple(_withheld(site, each) for each in request_targets.actions(site.where, "withheld", plan=plan))
    value = ReviewDocument(held=held, drafts=drafts, withheld=withheld)
    return Page("review.html", "To read", value, {"plan": plan, "author": author})


def _untrusted(site: Site, target: RequestTarget) -> UntrustedText:
    """Return a held event with its text; one whose text is not what came in can only be dropped."""
    opened = target.event
    assert opened is not None  # noqa: S101 - `in_state` returns events only
    try:
        read = request_targets.event(site.where, target)
    except PrloomError as error:
        return UntrustedText(
            id=target.id, plan=target.plan, type=opened.type, author=opened.author, title="", body="", url=None,
            digest="", problem=str(error),
        )  # fmt: skip
    return UntrustedText(
        id=target.id,
        plan=target.plan,
        type=read.type,
        author=opened.author,
        title=read.title,
        body=read.body,
        url=read.url,
        digest=opened.digest,
    )


def _withheld(site: Site, target: RequestTarget) -> WithheldAction:
    queued = target.action
    assert queued is not None  # noqa: S101 - `withheld` returns actions only
    texts: tuple[str, ...] = ()
    error = queued.error
    try:
        secrets = secret_scan.environment_secrets(os.environ)
        found = request_targets.action(site.where, target)
        texts = tuple(secret_scan.masked(text, secrets) for text in secret_scan.texts(found))
    except PrloomError as problem:
        error = str(problem)
    return WithheldAction(id=queued.id, plan=target.plan, target=queued.target, error=error, texts=texts)
