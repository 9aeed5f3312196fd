"""Make the text of a plan from an issue of a forge, whose author is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from prloom.api.forge import Issue
from prloom.config.models import Config
from prloom.core import trust
from prloom.core.plans import plan_file
from prloom.core.plans.front_matter import PlanSource
from prloom.core.plans.plan_file import PlanTodo
from prloom.core.text import markdown, naming
from prloom.core.trust import Policy, Trusted
from prloom.engine.adoption import forge_access
from prloom.engine.adoption.forge_access import ConnectedForge
from prloom.errors import PrloomError
from prloom.extensions import bridge_calls
from prloom.workspace.repository import Repository

KIND = "issue"


class IssuePlan(NamedTuple):
    """The text of a plan, and the issue that it came from."""

    text: str
    source: PlanSource


async def read(repo: Repository, config: Config, number: int, environ: Mapping[str, str], now: datetime) -> IssuePlan:
    """Return the plan that an issue requests; raises PrloomError where there is none, or its author is not trusted.

    To make a plan of it is to approve its text as it is now, so the author has to be trusted.
    """
    async with forge_access.connect(repo, config, environ, now) as access:
        issue = await access.forge.read_issue(access.context, number)
        if issue is None:
            raise PrloomError(f"{access.name} has no issue #{number}, or the token has no access to it")
        if issue.state != "open":
            raise PrloomError(f"issue #{number} is {issue.state}; reopen it, or write the plan with `prloom new TITLE`")
        await _require_trust(access, issue, Policy(config.trust.minimum, config.trust.users, config.trust.bots))
    return IssuePlan(text(issue), PlanSource(access.name, KIND, str(number)))


def text(issue: Issue) -> str:
    """Return the text of a plan with the issue's title, and its body with the TODOs in it; one TODO where it has none.

    A person wrote the body, and prloom takes it as it is.
    """
    title = markdown.one_line(issue.title)
    made = f"# {markdown.heading_text(title)}\n\n"
    body = "\n".join(markdown.clean(issue.body))
    if body:
        made += f"{body}\n"
    if plan_file.todos(made):
        return made
    marked = plan_file.append_todos(made, [PlanTodo("x", f"{title} (#{issue.number})")])
    return marked.replace(" <!-- prloom:todo x -->", "")


async def _require_trust(access: ConnectedForge, issue: Issue, policy: Policy) -> None:
    """Raise PrloomError where the author of an issue is not trusted, as with a comment."""
    author = issue.author
    if author is None:
        raise PrloomError(
            f"the account that wrote issue #{issue.number} no longer exists; write the plan with `prloom new TITLE`"
        )
    if trust.named(author, policy.users):
        return
    if access.permissions is None:
        raise PrloomError(f"{access.name} cannot tell what {naming.printable(author)} may do; list them in trust.users")
    judged = trust.rank(author, await bridge_calls.wait(access.permissions.permission, access.context, author), policy)
    if not isinstance(judged, Trusted):
        raise PrloomError(
            f"the author of issue #{issue.number} is not trusted: {judged.reason}; "
            f"write the plan yourself with `prloom new TITLE`"
        )
