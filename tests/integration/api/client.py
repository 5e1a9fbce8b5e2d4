"""An HTTP client for the API of a served lake."""

import base64
import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

QUERY = "/api/v1/query"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def rows(self) -> list[Any]:
        assert self.status == 200, (self.status, self.body)
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def message(self) -> str:
        found = json.loads(self.body)
        assert list(found) == ["message"], found
        text = found["message"]
        assert isinstance(text, str)
        return text


class Client(NamedTuple):
    address: str
    key: str
    secret: str

    def query(self, text: str, accept: str = "", **fields: Any) -> Answer:
        with self.begun(text, accept, **fields) as answer:
            return Answer(answer.status, dict(answer.headers), answer.read())

    @contextmanager
    def begun(self, text: str, accept: str = "", **fields: Any) -> Iterator[http.client.HTTPResponse]:
        """Its head is there; the body is still to be read."""
        connection = self.sent(text, accept, **fields)
        try:
            yield connection.getresponse()
        finally:
            connection.close()

    def sent(self, text: str, accept: str = "", **fields: Any) -> http.client.HTTPConnection:
        """A request whose answer has not been read."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        head = {**self.authorization, "content-type": "application/json", **({"accept": accept} if accept else {})}
        connection.request("POST", QUERY, json.dumps({"query": text, **fields}), head)
        return connection

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            head = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {**self.authorization, **head})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def running(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.ask("GET", QUERY).body)["results"]
        return found

    def status_of(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("GET", f"{QUERY}/{id}").body)
        return found

    def until(self, id: str, *states: str, seconds: float = 20) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while (found := self.status_of(id))["state"] not in states and time.monotonic() < deadline:
            time.sleep(0.02)
        assert found["state"] in states, found
        return found

    @property
    def authorization(self) -> dict[str, str]:
        if not self.key:
            return {}
        return {"authorization": "Basic " + base64.b64encode(f"{self.key}:{self.secret}".encode()).decode()}
