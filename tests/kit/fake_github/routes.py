"""Every operation that the fake knows, where it is answered, and which permission a fine-grained token needs for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import (
    actions,
    checks,
    comments,
    commits,
    issues,
    labels,
    merges,
    people,
    pulls,
    reactions,
    review_comments,
    reviews,
    statuses,
)
from .call import Call
from .exchange import Listing, Reply

Endpoint = Callable[[Call], Reply | Listing]

REPO = "/repos/{owner}/{repo}"
ISSUE = f"{REPO}/issues/{{issue_number}}"
COMMENT = f"{REPO}/issues/comments/{{comment_id}}"
PULL = f"{REPO}/pulls/{{pull_number}}"
INLINE = f"{REPO}/pulls/comments/{{comment_id}}"
REVIEW = f"{PULL}/reviews/{{review_id}}"
COMMIT = f"{REPO}/commits/{{ref}}"

READ_TALK, WRITE_TALK = ("issues=read", "pull_requests=read"), ("issues=write", "pull_requests=write")
READ_PULL, WRITE_PULL = ("pull_requests=read",), ("pull_requests=write",)
READ_CODE, WRITE_CODE = ("contents=read",), ("contents=write",)
ANYBODY: tuple[str, ...] = ()
METADATA = ("metadata=read",)


@dataclass(frozen=True)
class Route:
    """An endpoint and the permissions of which a fine-grained token needs one."""

    endpoint: Endpoint
    needs: tuple[str, ...]


TABLE = (
    ("GET /user", people.read_viewer, ANYBODY),
    (f"GET {REPO}", commits.read_repository, METADATA),
    (f"GET {REPO}/issues/comments", comments.list_everywhere, READ_TALK),
    (f"GET {COMMENT}", comments.read, READ_TALK),
    (f"PATCH {COMMENT}", comments.update, WRITE_TALK),
    (f"POST {COMMENT}/reactions", reactions.create(reactions.of_comment), WRITE_TALK),
    (f"GET {ISSUE}", issues.read, READ_TALK),
    (f"PATCH {ISSUE}", issues.update, WRITE_TALK),
    (f"POST {ISSUE}/assignees", issues.add_assignees, WRITE_TALK),
    (f"GET {ISSUE}/comments", comments.list_of_issue, READ_TALK),
    (f"POST {ISSUE}/comments", comments.create, WRITE_TALK),
    (f"POST {ISSUE}/labels", issues.add_labels, WRITE_TALK),
    (f"DELETE {ISSUE}/labels/{{name}}", issues.remove_label, WRITE_TALK),
    (f"POST {ISSUE}/reactions", reactions.create(reactions.of_issue), WRITE_TALK),
    (f"GET {REPO}/milestones", labels.list_milestones, READ_TALK),
    (f"GET {REPO}/pulls", pulls.list_all, READ_PULL),
    (f"POST {REPO}/pulls", pulls.create, WRITE_PULL),
    (f"GET {REPO}/pulls/comments", review_comments.list_everywhere, READ_PULL),
    (f"GET {INLINE}", review_comments.read, READ_PULL),
    (f"PATCH {INLINE}", review_comments.update, WRITE_PULL),
    (f"POST {INLINE}/reactions", reactions.create(reactions.of_review_comment), WRITE_PULL),
    (f"GET {PULL}", pulls.read, READ_PULL),
    (f"PATCH {PULL}", pulls.update, WRITE_PULL),
    (f"GET {PULL}/comments", review_comments.list_of_pull, READ_PULL),
    (f"POST {PULL}/comments", review_comments.create, WRITE_PULL),
    (f"POST {PULL}/comments/{{comment_id}}/replies", review_comments.reply, WRITE_PULL),
    (f"PUT {PULL}/merge", merges.merge, WRITE_CODE),
    (f"POST {PULL}/requested_reviewers", pulls.request_reviewers, WRITE_PULL),
    (f"GET {PULL}/reviews", reviews.list_of_pull, READ_PULL),
    (f"POST {PULL}/reviews", reviews.create, WRITE_PULL),
    (f"GET {REVIEW}", reviews.read, READ_PULL),
    (f"GET {REVIEW}/comments", reviews.list_comments, READ_PULL),
    (f"GET {COMMIT}/check-runs", checks.list_of_commit, ("checks=read",)),
    (f"GET {COMMIT}/statuses", statuses.list_of_commit, ("statuses=read",)),
    (f"GET {REPO}/actions/runs", actions.list_runs, ("actions=read",)),
    (f"GET {REPO}/actions/runs/{{run_id}}/jobs", actions.list_jobs, ("actions=read",)),
    (f"GET {REPO}/actions/jobs/{{job_id}}/logs", actions.read_log, ("actions=read",)),
    (f"GET {REPO}/collaborators/{{username}}/permission", people.read_permission, METADATA),
    (f"GET {REPO}/branches/{{branch}}", commits.read_branch, READ_CODE),
)

ROUTES: Mapping[str, Route] = {operation: Route(endpoint, needs) for operation, endpoint, needs in TABLE}
