"""Every route of a verb with values that make no sense: whoever sends them is told so, and the server does not fail."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import lochan
from lochan.api.wire.call import Argument, ArgumentForm, ArgumentPlace, WireCall, wire_calls
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer

CALLS = [call for call in wire_calls().values() if call.verb.name not in ("doctor",)]
TEXTS = ("", "a\0b", "../ü😀", "x" * 5_000)
NUMBERS: tuple[Any, ...] = (-1, 2**63, 1e308)
OTHERS: tuple[Any, ...] = (None, True, {"a": {"b": []}}, [None], "2026-13-45")


def values(argument: Argument) -> Iterator[Any]:
    yield from TEXTS
    yield from NUMBERS
    yield from OTHERS
    if argument.form is ArgumentForm.SEVERAL or "Sequence" in argument.annotation:
        yield from ([""], ["a\0b"])
    if argument.annotation.endswith("Options"):
        yield from (
            {"key": "x" * 3_000},
            {"message": "\0"},
            {"date": "2026-01-01T00:00:00"},
            {"conditions": {"size": -1}},
        )
        yield from ({"engine": "none"}, {"memory_bytes": -1}, {"timeout_s": 0}, {"schedule": {"x": "y"}})


def requests(call: WireCall) -> Iterator[tuple[str, dict[str, str], Any]]:
    """Each argument in turn with each value, the others as they might be."""
    usual = {name: _usual(each) for name, each in call.arguments.items() if each.required}
    placed = [
        each
        for each in call.arguments.values()
        if each.place in (ArgumentPlace.QUERY, ArgumentPlace.BODY, ArgumentPlace.PATH)
    ]
    yield _request(call, usual, {})
    for name in call.names:
        for text in ("-", "ü b", "main+x", "x" * 300, "a\0b"):
            yield _request(call, usual, {name: text})
    for each in placed:
        for value in values(each):
            yield _request(call, {**usual, each.name: value}, {})


def _usual(argument: Argument) -> Any:
    if argument.place is ArgumentPlace.BYTES:
        return b"x"
    if argument.form is ArgumentForm.SEVERAL:
        return ["x"]
    if argument.annotation == "NamedRef":
        return {"repository_name": "shop", "name": "main"}
    return "x"


def _request(call: WireCall, given: dict[str, Any], names: dict[str, str]) -> tuple[str, dict[str, str], Any]:
    standing = {"repository": "shop", "pool": "logs", "ref": "main", "branch": "main", "workspace": "main+x"}
    path = call.path
    for name in call.names:
        value = names.get(name, given.get(name, standing.get(name, "x")))
        path = path.replace(f"{{{name}}}", quote(str(value), safe="") or "-")
    query: list[tuple[str, str]] = []
    body: Any = None
    for name, value in given.items():
        argument = call.arguments[name]
        if argument.place is ArgumentPlace.BODY:
            body = {**(body or {}), name: value}
        elif argument.place is ArgumentPlace.BYTES:
            body = value
        elif argument.place is ArgumentPlace.QUERY:
            several = value if argument.form is ArgumentForm.SEVERAL and isinstance(value, list) else [value]
            query += [(name, each if isinstance(each, str) else json.dumps(each)) for each in several]
    headers = {}
    if body is not None and not isinstance(body, bytes):
        body, headers = json.dumps(body).encode(), {"content-type": "application/json"}
    return f"{path}?{urlencode(query, errors='surrogatepass')}" if query else path, headers, body


@pytest.fixture(scope="module")
def client(server: LochanServer) -> Iterator[Client]:
    """What it leaves behind is deleted: other files of tests use the same server."""
    found = Client(server.api, server.access_key, server.secret_key)
    for path, body in (("repos", {"name": "shop"}), ("pools", {"name": "logs", "key": "n"})):
        found.ask("POST", f"/api/v1/{path}", json.dumps(body).encode(), content_type="application/json")
    yield found
    address, key, secret = f"http://{server.api}", server.access_key, server.secret_key
    with lochan.connect(address, access_key=key, secret_key=secret) as lake:
        for repository in list(lake.repositories()):
            lake.repository(repository.name).delete(force=True)
        for pool in list(lake.pools()):
            lake.pool(pool.name).delete()


# What would end what the others need, or, by its contract, never end.
_SKIPPED = {"Repository.delete", "Repository.rename", "Access.delete_user", "Access.revoke_key", "Access.detach"}
_LASTING = ("follow=true", "follow=1")


@pytest.mark.thorough
@pytest.mark.parametrize("call", [each for each in CALLS if each.id not in _SKIPPED], ids=lambda each: each.id)
def test_no_request_makes_the_server_fail(client: Client, call: WireCall) -> None:
    connection = http.client.HTTPConnection(client.address, timeout=20)
    failed = []
    try:
        for target, headers, body in requests(call):
            if not any(each in target for each in _LASTING):
                connection.request(call.method, target, body, {**client.authorization, **headers})
                answer = connection.getresponse()
                data = answer.read()
                if answer.status >= 500 or (answer.status >= 400 and not json.loads(data)["message"]):
                    failed.append((call.method, target[:200], body and body[:200], answer.status, data[:200]))
    finally:
        connection.close()
    assert not failed, failed[:5]
