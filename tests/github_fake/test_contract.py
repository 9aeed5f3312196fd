"""Requests and responses are held to GitHub's own description, and what departs from it is named."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from fake_github import ContractBroken, Hub, contract, relaxations
from fake_github.routes import ROUTES

DATA = Path(__file__).parents[1] / "data/github"
NOTES = "/repos/ada/engine/issues/7/comments"
INLINE = "/repos/ada/engine/pulls/7/comments"


@pytest.fixture(scope="module")
def cut() -> ModuleType:
    """The script that cut the slice."""
    spec = importlib.util.spec_from_file_location("cut", DATA / "cut.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "complaint"),
    [
        (
            "POST",
            NOTES,
            {},
            {"text": "Done."},
            f"POST {NOTES}: request body at $: Additional properties are not allowed",
        ),
        ("POST", NOTES, {}, {"body": 3}, f'POST {NOTES}: request body at $.body: 3 is not of type "string"'),
        ("POST", NOTES, {}, None, f"POST {NOTES}: the request has no body"),
        ("POST", INLINE, {}, {"body": "x", "path": "a", "commit_id": "1", "line": "3"}, "at $.line: "),
        ("GET", NOTES, {}, {"body": "x"}, "but none is described"),
        ("GET", NOTES, {"order": "asc"}, None, "the query parameter 'order' is not described"),
        ("GET", NOTES, {"since": "yesterday"}, None, "the query parameter 'since': \"yesterday\" is not a"),
        ("GET", "/repos/ada/engine/pulls", {"state": "merged"}, None, "the query parameter 'state': "),
        ("DELETE", NOTES, {}, None, "but not this method"),
        ("GET", "/repos/ada/engine/pulls/reviews", {}, None, "the slice has no such path"),
        ("PATCH", "/repos/ada/engine/pulls/7", {}, {"draft": False}, "('draft' was unexpected)"),
    ],
)
def test_a_request_that_is_not_described_is_refused_with_its_place(method, path, query, body, complaint):
    with pytest.raises(ContractBroken) as refused:
        contract.check_request(method, path, query, body)

    assert complaint in str(refused.value)


def test_a_response_that_lacks_something_is_refused_with_its_place():
    with pytest.raises(ContractBroken, match=r"response 200 at \$\[0\]: .* is a required property"):
        contract.check_response("GET", NOTES, 200, [{}])


def test_what_is_wrong_is_named_below_a_choice_too(api, hub):
    shown = api.get(f"/issues/comments/{hub.comment(hub.pull(), 'ann', 'Hello').id}").json()
    shown["user"]["id"] = "7"

    with pytest.raises(ContractBroken, match=r'at \$\.user\.id: "7" is not of type "integer"'):
        contract.check_response("GET", "/repos/ada/engine/issues/comments/1", 200, shown)


def test_a_response_with_something_more_is_refused():
    merged = {"sha": "1", "merged": True, "message": "Merged"}

    with pytest.raises(ContractBroken, match=r"response 200 at \$: Additional properties .*'luck' was unexpected"):
        contract.check_response("PUT", "/repos/ada/engine/pulls/7/merge", 200, {**merged, "luck": 1})


def test_a_status_that_no_operation_gives_is_refused():
    with pytest.raises(ContractBroken, match="response 418 is not described"):
        contract.check_response("GET", NOTES, 418, None)


async def test_what_breaks_the_contract_is_kept_for_a_client_that_swallows_it(clock):
    hub = Hub(clock)
    async with hub.client(hub.token("ada")) as client:
        with pytest.raises(ContractBroken, match="the slice has no such path"):
            await client.get("/repos/ada/engine/nonsense")

    with pytest.raises(ContractBroken, match="the slice has no such path"):
        hub.verify()


def test_an_answer_of_the_fake_itself_is_held_to_the_description(api, hub):
    pr = hub.pull()
    pr.state = "asleep"

    with pytest.raises(ContractBroken, match=r"response 200 at \$\.state: \"asleep\" is not one of"):
        api.get(f"/pulls/{pr.number}")
    hub.broken.clear()


def test_the_fake_answers_all_that_the_slice_describes_and_nothing_else(cut):
    described = {f"{method.upper()} {path}" for path, methods in cut.OPERATIONS.items() for method in methods.split()}

    assert set(ROUTES) == described


def test_the_slice_holds_what_its_script_names_and_all_that_this_refers_to(cut):
    held = json.loads((DATA / "openapi.json").read_text())
    referred = set(cut.references(held))

    assert set(held["paths"]) == set(cut.OPERATIONS)
    assert referred == {(section, name) for section, named in held["components"].items() for name in named}


def test_each_relaxation_is_needed_and_says_why():
    whole = json.loads((DATA / "openapi.json").read_text())["components"]["schemas"]
    for name, properties in relaxations.NULLABLE.items():
        for prop, why in properties.items():
            assert why
            assert not whole[name]["properties"][prop].get("nullable"), f"{name}.{prop} is described as nullable now"
    for name, places in relaxations.NULLABLE_INSIDE.items():
        for (outer, inner), why in places.items():
            inside = whole[name]["properties"][outer]
            assert why
            assert not inside.get("items", inside)["properties"][inner].get("nullable"), f"{name}.{outer}.{inner}"
