"""Cut from GitHub's own descriptions of its API what a bridge needs: openapi.json and schema.graphql beside this file.

The sources are two npm packages of the Octokit project, both MIT (NOTICE has their licence):

    npm install --prefix SOMEWHERE @octokit/openapi@23.0.2 @octokit/graphql-schema@15.26.1
    python tests/data/github/cut.py SOMEWHERE/node_modules

Nothing is edited: what is kept is as it was; prose, examples and extensions are left out.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import graphql

HERE = Path(__file__).parent
REPO = "/repos/{owner}/{repo}"
ISSUE = f"{REPO}/issues/{{issue_number}}"
PULL = f"{REPO}/pulls/{{pull_number}}"
COMMIT = f"{REPO}/commits/{{ref}}"

OPERATIONS: Mapping[str, str] = {
    "/user": "get",
    REPO: "get",
    f"{REPO}/issues/comments": "get",
    f"{REPO}/issues/comments/{{comment_id}}": "get patch",
    f"{REPO}/issues/comments/{{comment_id}}/reactions": "post",
    ISSUE: "get patch",
    f"{ISSUE}/assignees": "post",
    f"{ISSUE}/comments": "get post",
    f"{ISSUE}/labels": "post",
    f"{ISSUE}/labels/{{name}}": "delete",
    f"{ISSUE}/reactions": "post",
    f"{REPO}/milestones": "get",
    f"{REPO}/pulls": "get post",
    f"{REPO}/pulls/comments": "get",
    f"{REPO}/pulls/comments/{{comment_id}}": "get patch",
    f"{REPO}/pulls/comments/{{comment_id}}/reactions": "post",
    PULL: "get patch",
    f"{PULL}/comments": "get post",
    f"{PULL}/comments/{{comment_id}}/replies": "post",
    f"{PULL}/merge": "put",
    f"{PULL}/requested_reviewers": "post",
    f"{PULL}/reviews": "get post",
    f"{PULL}/reviews/{{review_id}}": "get",
    f"{PULL}/reviews/{{review_id}}/comments": "get",
    f"{COMMIT}/check-runs": "get",
    f"{COMMIT}/statuses": "get",
    f"{REPO}/actions/runs": "get",
    f"{REPO}/actions/runs/{{run_id}}/jobs": "get",
    f"{REPO}/actions/jobs/{{job_id}}/logs": "get",
    f"{REPO}/collaborators/{{username}}/permission": "get",
    f"{REPO}/branches/{{branch}}": "get",
}

FIELDS: Mapping[str, str] = {
    "Query": "id node repository viewer",
    "Mutation": "markPullRequestReadyForReview resolveReviewThread",
    "Node": "id",
    "Actor": "login",
    "User": "id login",
    "Bot": "id login",
    "PageInfo": "endCursor hasNextPage",
    "Repository": "id pullRequest",
    "PullRequest": "author body editor id isDraft lastEditedAt reviewThreads",
    "IssueComment": "author body editor id lastEditedAt",
    "PullRequestReviewThreadConnection": "nodes pageInfo",
    "PullRequestReviewThread": "comments id isOutdated isResolved resolvedBy",
    "PullRequestReviewCommentConnection": "nodes",
    "PullRequestReviewComment": "databaseId fullDatabaseId id",
    "MarkPullRequestReadyForReviewInput": "pullRequestId",
    "MarkPullRequestReadyForReviewPayload": "pullRequest",
    "ResolveReviewThreadInput": "threadId",
    "ResolveReviewThreadPayload": "clientMutationId thread",
    "BigInt": "",
    "DateTime": "",
}

PROSE = {"description", "summary", "example", "examples", "externalDocs", "title", "tags"}
NAMED = {"properties", "paths", "schemas", "parameters", "responses", "headers", "content"}
"""Below these, keys are names, also where they read like an annotation: a label has a property `description`."""


def bare(node: Any, *, names: bool = False) -> Any:
    """Return `node` without prose, examples and extensions."""
    if isinstance(node, list):
        return [bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if names or not (key in PROSE or key.startswith("x-"))}
    return {key: bare(value, names=not names and key in NAMED) for key, value in kept.items()}


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Yield section and name of each component that `node` refers to."""
    if isinstance(node, list):
        for item in node:
            yield from references(item)
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                section, name = value.removeprefix("#/components/").split("/", 1)
                yield section, name
            else:
                yield from references(value)


def cut_openapi(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operations named above, with all components that they need and no others."""
    paths: dict[str, Any] = {}
    for path, methods in OPERATIONS.items():
        paths[path] = {method: bare(whole["paths"][path][method]) for method in methods.split()}
    components: dict[str, dict[str, Any]] = {}
    waiting = list(references(paths))
    while waiting:
        section, name = waiting.pop()
        if name not in components.setdefault(section, {}):
            components[section][name] = bare(whole["components"][section][name])
            waiting += references(components[section][name])
    return {
        "openapi": whole["openapi"],
        "info": bare(whole["info"]) | {"title": whole["info"]["title"]},
        "servers": whole["servers"],
        "paths": paths,
        "components": {section: dict(sorted(found.items())) for section, found in sorted(components.items())},
    }


def pruned(definition: Any) -> Any:
    """Return a definition of the GraphQL schema with the fields, values and interfaces named above only."""
    wanted = FIELDS[definition.name.value].split()
    kept: dict[str, Any] = {}
    for part in ("fields", "values"):
        if getattr(definition, part, None):
            kept[part] = tuple(bald(item) for item in getattr(definition, part) if item.name.value in wanted)
    if getattr(definition, "interfaces", None):
        kept["interfaces"] = tuple(each for each in definition.interfaces if each.name.value in FIELDS)
    return dataclasses.replace(bald(definition), **kept)


def bald(node: Any) -> Any:
    """Return a node of the schema without description and directives, its arguments likewise."""
    bare_node = dataclasses.replace(node, description=None, directives=())
    if not getattr(node, "arguments", None):
        return bare_node
    return dataclasses.replace(bare_node, arguments=tuple(bald(argument) for argument in node.arguments))


def cut_graphql(whole: str) -> str:
    """Return the types and fields named above."""
    document = graphql.parse(whole, no_location=True)
    found = {node.name.value: node for node in document.definitions if getattr(node, "name", None)}
    return "\n\n".join(graphql.print_ast(pruned(found[name])) for name in FIELDS) + "\n"


def main(modules: Path) -> None:
    """Write both slices."""
    whole = json.loads((modules / "@octokit/openapi/generated/api.github.com.json").read_text())
    text = json.dumps(cut_openapi(whole), ensure_ascii=False, separators=(",", ":"))
    (HERE / "openapi.json").write_text(text + "\n")
    graph = (modules / "@octokit/graphql-schema/schema.graphql").read_text()
    (HERE / "schema.graphql").write_text(cut_graphql(graph))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
