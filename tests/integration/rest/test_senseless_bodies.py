"""Bodies that make no sense, for every operation of the OpenAPI document that takes JSON: each is refused with 400 or
413 and told what is wrong with it, where that is a field, by its name."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server

JSON = "application/json"
DEEP = 100_000
LARGE = 64 << 20
VERY_LARGE = 1 << 30
# By the JSON type that a schema allows: a value of each other type. An integer is a number, too.
VALUES: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "integer": 7,
    "number": 7.5,
    "string": "text",
    "array": [{}],
    "object": {"unknown field": 1},
}
NO_NUMBERS = ("1e400", "NaN", "Infinity", "-Infinity", "-1e400", "1" * 5_000, "01", "1.")
# In paths; they need not be those of anything.
NAMES = {"repository": "demo", "number": "1"}


class JsonOperation(NamedTuple):
    id: str
    method: str
    path: str
    query: dict[str, str]  # the parameters that must be there
    schema: dict[str, Any]
    schemas: dict[str, Any]

    @property
    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = self.schema.get("properties", {})
        return found

    def body(self) -> dict[str, Any]:
        """One with every field that must be there, so that what a test does to it is all that is wrong with it."""
        required = self.schema.get("required", [])
        return {name: self._example(self.fields[name]) for name in required}

    def _example(self, schema: dict[str, Any]) -> Any:
        schema = resolved(schema, self.schemas)
        if "default" in schema:
            return schema["default"]
        if "enum" in schema:
            return schema["enum"][0]
        if "anyOf" in schema:
            return self._example(schema["anyOf"][0])
        if schema.get("type") == "object":
            inner = schema.get("properties", {})
            return {name: self._example(inner[name]) for name in schema.get("required", [])}
        if schema.get("type") == "array":
            return [self._example(schema["items"]) for _ in range(schema.get("minItems", 0))]
        return {"string": "x", "integer": 1, "number": 1.0, "boolean": True}.get(schema.get("type", ""))


def resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema


def allowed(schema: dict[str, Any], schemas: dict[str, Any]) -> set[str]:
    """The types of JSON; empty: any."""
    schema = resolved(schema, schemas)
    if "anyOf" in schema:
        each = [allowed(one, schemas) for one in schema["anyOf"]]
        return set().union(*each) if all(each) else set()
    if "enum" in schema:
        return {"null" if one is None else "string" for one in schema["enum"]}
    if "type" not in schema:
        return set()
    types = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    return types | {"integer"} if "number" in types else types


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    """Its own: nothing of what is sent may change it."""
    with lochan_server(tmp_path_factory.mktemp("senseless") / "lake") as running:
        running.lochan("repo", "create", "demo")
        before = running.lochan("events", "-f", "json")
        yield running
        assert running.lochan("events", "-f", "json") == before
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="module")
def operations(server: LochanServer) -> list[JsonOperation]:
    document = json.loads(Client(server.api, "", "").ask("GET", "/openapi.json").body)
    schemas = document["components"]["schemas"]
    base = document["servers"][0]["url"]
    found = []
    for path, methods in document["paths"].items():
        for method, each in methods.items():
            content = each.get("requestBody", {}).get("content", {})
            if list(content) == [JSON]:  # rows have other forms too, and a test of their own
                schema = resolved(content[JSON]["schema"], schemas)
                query = {one["name"]: "x" for one in each["parameters"] if one["in"] == "query" and one.get("required")}
                found.append(JsonOperation(each["operationId"], method.upper(), base + path, query, schema, schemas))
    assert len(found) > 100
    return found


class Sender:
    def __init__(self, server: LochanServer) -> None:
        self._client = Client(server.api, server.access_key, server.secret_key)

    def target(self, operation: JsonOperation) -> str:
        """With names in its path; what they name need not be there."""
        path = operation.path
        while "{" in path:
            before, _, rest = path.partition("{")
            name, _, after = rest.partition("}")
            path = f"{before}{NAMES.get(name, 'main')}{after}"
        return f"{path}?{urlencode(operation.query)}" if operation.query else path

    def send(self, operation: JsonOperation, body: bytes, media: str = JSON) -> tuple[int, str]:
        head = {**self._client.authorization, "content-type": media}
        connection = http.client.HTTPConnection(self._client.address, timeout=60)
        try:
            connection.request(operation.method, self.target(operation), body, head)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(data)["message"] if answer.status >= 400 else repr(data)

    def begin(self, operation: JsonOperation, length: int, body: bytes) -> bytes:
        """Announces more bytes than it sends, sends no more, and gives what is answered."""
        host, _, port = self._client.address.partition(":")
        head = {**self._client.authorization, "host": self._client.address, "content-type": JSON}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        request = f"{operation.method} {self.target(operation)} HTTP/1.1\r\n{lines}content-length: {length}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(request.encode() + body)
            if len(body) < length <= 1_000:
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            while b"\r\n" not in answer and (piece := connection.recv(65_536)):
                answer += piece
        return answer


@pytest.fixture
def sender(server: LochanServer) -> Sender:
    return Sender(server)


def refusals(sender: Sender, sent: Iterator[tuple[JsonOperation, bytes, str]]) -> list[tuple[Any, ...]]:
    """What was not refused, or without the words that its refusal must have."""
    wrong = []
    for operation, body, words in sent:
        status, message = sender.send(operation, body)
        if status not in (400, 413) or words not in message:
            wrong.append((operation.id, body[:100], status, message[:200], words))
    return wrong


def test_text_that_is_no_json(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            whole = json.dumps({"x": "y", **each.body()}).encode()
            for text in (whole[:-1], whole + b"}", b"[1", b"nul", b'{"a": "\xff"}', b'{"a" 1}', b"\0", b"{'a': 1}"):
                yield each, text, "body"

    assert refusals(sender, sent()) == []


def test_no_objects(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            if "object" in allowed(each.schema, each.schemas):
                for text in (b"null", b"1", b'"text"', b"[]", b"[{}]", b"true"):
                    yield each, text, "object"

    assert refusals(sender, sent()) == []


def test_fields_of_wrong_types(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            for name, schema in each.fields.items():
                types = allowed(schema, each.schemas)
                for kind, value in VALUES.items():
                    if types and kind not in types:
                        yield each, json.dumps({**each.body(), name: value}).encode(), name

    assert refusals(sender, sent()) == []


def test_numbers_that_are_none(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            for at, name in enumerate(each.fields):
                for number in NO_NUMBERS if at == 0 else NO_NUMBERS[:2]:
                    rest = "".join(f", {json.dumps(other)}: {json.dumps(value)}"
                                   for other, value in each.body().items() if other != name)  # fmt: skip
                    yield each, f"{{{json.dumps(name)}: {number}{rest}}}".encode(), "body"

    assert refusals(sender, sent()) == []


def test_fields_that_nobody_knows(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            if each.fields:
                yield each, json.dumps({**each.body(), "unheard-of": 1}).encode(), "unheard-of"

    assert refusals(sender, sent()) == []


def test_fields_that_are_given_twice(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            body = each.body()
            for name in each.fields:
                given = {name: None, **body}
                words = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in given.items()]
                yield each, f"{{{', '.join([words[0], *words])}}}".encode(), name

    assert refusals(sender, sent()) == []


def test_values_of_great_depth(sender: Sender, operations: list[JsonOperation]) -> None:
    def sent() -> Iterator[tuple[JsonOperation, bytes, str]]:
        for each in operations:
            for begin, end in ((b"[", b"]"), (b'{"a":', b"}")):
                yield each, begin * DEEP + b"1" + end * DEEP, "body"
            for name in list(each.fields)[:1]:
                yield each, json.dumps({**each.body(), name: 0}).replace(": 0", ": " + "[" * DEEP, 1).encode(), "body"

    assert refusals(sender, sent()) == []


def test_other_content_types(sender: Sender, operations: list[JsonOperation]) -> None:
    wrong = []
    for each in operations:
        body = json.dumps(each.body()).encode()
        for media in ("text/plain", "application/xml", "application/x-www-form-urlencoded", "x" * 1_000, "ü"):
            status, message = sender.send(each, body, media.encode("latin-1").decode("latin-1"))
            if status != 400 or "content-type" not in message:
                wrong.append((each.id, media[:40], status, message[:200]))
    assert wrong == []


def test_more_bytes_than_a_body_may_have(sender: Sender, operations: list[JsonOperation]) -> None:
    """Where there are very many, it is refused before they have come."""
    status, message = sender.send(operations[0], b'{"a": "' + b"x" * LARGE + b'"}')
    assert (status, "the body has more than" in message) == (413, True)
    answers = {each.id: sender.begin(each, VERY_LARGE, b'{"a": "') for each in operations}
    assert {id: answer[:40] for id, answer in answers.items() if not answer.startswith(b"HTTP/1.1 413")} == {}


def test_bodies_that_break_off(sender: Sender, operations: list[JsonOperation]) -> None:
    """Nobody may be there any more to be answered; what matters is that nothing is done, which the fixture looks at."""
    for each in operations:
        body = json.dumps(each.body()).encode()
        answer = sender.begin(each, len(body) + 10, body)
        assert answer[:12] in (b"", b"HTTP/1.1 400"), (each.id, answer)
