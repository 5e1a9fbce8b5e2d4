"""The OpenAPI document knows whatever the published client can send, and promises whatever it can read."""

import json
import re
from typing import Any

import pytest

from lochan.server.api.routes import ROUTES
from lochan.server.rest.unsupported import UNSUPPORTED
from tests.integration.api.client import Client
from tests.integration.rest.test_lakefs_clients import play
from tests.servers.lochan import LochanServer

# What a client may read, and this server has not; each may be missing by the client's own models.
NOT_TOLD = {
    "storage_config_list": "of several stores: storage profiles are the administrators' affair",
    "ui_config": "the page has no such settings",
    "login_config": "`/auth/capabilities` says how one signs in",
    "email": "users have none",
    "friendly_name": "users have none",
    "blockstore_description": "of several stores",
    "blockstore_id": "of several stores",
    "latest_version": "a server does not look for newer ones",
    "upgrade_recommended": "as above",
    "upgrade_url": "as above",
    "version_context": "as above",
}
OTHERWISE = {"InternalApi.setup"}  # it is answered, but never with keys: they come from the server's first start
BASE = "/api/v1"


@pytest.fixture(scope="module")
def document(server: LochanServer) -> Any:
    return json.loads(Client(server.api, "", "").ask("GET", "/openapi.json").body)


@pytest.fixture(scope="module")
def published(server: LochanServer) -> dict[str, Any]:
    """By the name of each method of the client, what it sends and reads."""
    found: dict[str, Any] = json.loads(play("run_lakefs_contract.py", server, "")[0])
    assert len(found) > 140
    return found


def _plain(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


class Described:
    """An operation of the document."""

    def __init__(self, document: Any, operation: Any) -> None:
        self._schemas = document["components"]["schemas"]
        self._operation = operation

    def parameters(self, place: str) -> set[str]:
        return {each["name"].lower() for each in self._operation["parameters"] if each["in"] == place}

    def body(self) -> set[str]:
        content = self._operation.get("requestBody", {}).get("content", {})
        return self._fields(content.get("application/json", {}).get("schema", {}))

    def answer(self, status: str) -> set[str] | None:
        """None: there is none with this status."""
        if status not in self._operation["responses"]:
            return None
        content = self._operation["responses"][status].get("content", {})
        return self._fields(content.get("application/json", {}).get("schema", {}))

    def _fields(self, schema: Any, before: str = "") -> set[str]:
        while "$ref" in schema or "items" in schema or "anyOf" in schema:
            if "$ref" in schema:
                schema = self._schemas[schema["$ref"].rpartition("/")[2]]
            else:
                schema = schema["items"] if "items" in schema else schema["anyOf"][0]
        found = set[str]()
        for name, each in schema.get("properties", {}).items():
            found |= {f"{before}{name}"} | self._fields(each, f"{before}{name}.")
        return found


def test_the_document_knows_what_the_published_client_sends_and_reads(document: Any, published: dict[str, Any]) -> None:
    served = {
        (method.upper(), _plain(path)): Described(document, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    refused = {
        (method, _plain(each.path)) for each in UNSUPPORTED for method in each.methods if "{rest" not in each.path
    }
    beginnings = tuple(_plain(each.path.partition("{rest")[0]) for each in UNSUPPORTED if "{rest" in each.path)
    wrong = []
    for name, call in published.items():
        at = call["method"], _plain(call["path"])
        if at in served:
            wrong += [(name, *each) for each in _missing(served[at], call) if name not in OTHERWISE]
        elif at not in refused and not at[1].startswith(beginnings):
            wrong.append((name, "no such operation", call["path"]))
    assert wrong == []


def _missing(operation: Described, call: dict[str, Any]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for what, sent, known in (
        ("parameters", call["query"], operation.parameters("query")),
        ("headers", call["headers"], operation.parameters("header")),
    ):
        if left := {each.lower() for each in sent} - known:
            found.append((what, sorted(left)))
    if operation.body() and (left := set(call["body"]) - operation.body()):
        found.append(("fields of the body", sorted(left)))
    for status, fields in call["answers"].items():
        told = operation.answer(status)
        if told is None and int(status) < 500:
            found.append(("status", status))
        elif told is not None and int(status) < 300:
            left = {each for each in set(fields) - told if NOT_TOLD.keys().isdisjoint(each.split("."))}
            if left:
                found.append((f"fields of the answer {status}", sorted(left)))
    return found


def test_every_route_of_the_api_is_in_the_document(document: Any) -> None:
    served = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    refused = {(method, each.path) for each in UNSUPPORTED for method in each.methods}
    for row in ROUTES:
        if row.path.startswith(f"{BASE}/"):
            below = row.method, row.path.removeprefix(BASE)
            assert (below in served) != (below in refused), row.name


def test_a_head_is_described_as_its_get(document: Any) -> None:
    at = document["paths"]["/repositories/{repository}/refs/{ref}/objects"]
    assert at["head"]["operationId"] == "headObject"
    assert at["head"]["responses"].keys() == at["get"]["responses"].keys()
    assert not any("content" in each for each in at["head"]["responses"].values())


def test_every_way_to_sign_in_is_described(document: Any) -> None:
    known = document["components"]["securitySchemes"]
    assert [list(each) for each in document["security"]] == [["basic"], ["bearer"], ["session"]]
    assert known.keys() == {"basic", "bearer", "session"}
