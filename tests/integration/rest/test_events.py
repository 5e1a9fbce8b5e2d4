"""`GET /events`: server-sent events, and how a client goes on after it was cut off."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer

EVENTS = "/api/v1/events"


class Event(NamedTuple):
    id: str
    type: str
    data: dict[str, Any]


@contextmanager
def stream(client: Client, query: str = "", **headers: str) -> Iterator[Iterator[Event]]:
    connection = http.client.HTTPConnection(client.address, timeout=30)
    connection.request("GET", f"{EVENTS}{query}", headers={**client.authorization, **headers})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.readline() == b": begun\n"
    try:
        yield parsed(answer)
    finally:
        connection.close()


def parsed(answer: http.client.HTTPResponse) -> Iterator[Event]:
    fields: dict[str, str] = {}
    while line := answer.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}


def put(client: Client, repository: str, path: str) -> None:
    answer = client.ask("POST", f"/api/v1/repositories/{repository}/branches/main/objects?path={path}", b"1")
    assert answer.status == 201, answer.body


def create(client: Client, name: str) -> None:
    body = json.dumps({"name": name, "storage_namespace": ""}).encode()
    answer = client.ask("POST", "/api/v1/repositories", body, **{"content-type": "application/json"})
    assert answer.status == 201, answer.body


def test_events_to_come(server: LochanServer, admin: Client) -> None:
    create(admin, "live")
    with stream(admin) as events:
        put(admin, "live", "a")
        event = next(events)
        assert (event.type, event.data["repository"], event.data["user"]) == ("staged", "live", "admin")
        create(admin, "later")
        types = {next(events).type for _ in range(2)}
        assert types == {"repository-created", "repository-opened"}
    line = json.loads(server.lochan("events", "live", "-n", "1", "-f", "json"))
    assert line == event.data, "spelled as on the command line"


@pytest.mark.parametrize("where", ["", "?repository=resumed"])
def test_a_client_that_was_cut_off_misses_nothing_and_sees_nothing_twice(admin: Client, where: str) -> None:
    if not where:
        create(admin, "resumed")
    paths = [f"{len(where)}-{number}" for number in range(12)]
    seen: list[str] = []
    id = ""
    for number, path in enumerate(paths):
        with stream(admin, where, **({"last-event-id": id} if id else {})) as events:
            if number == 0:
                put(admin, "resumed", path)
            event = next(each for each in events if each.data["type"] == "staged")
            seen += [entry["path"] for entry in event.data["payload"]["puts"]]
            id = event.id
        if number + 1 < len(paths):
            put(admin, "resumed", paths[number + 1])
    assert seen == paths


def test_events_that_happened(admin: Client) -> None:
    create(admin, "past")
    for path in ("a", "b", "c"):
        put(admin, "past", path)
    with stream(admin, "?repository=past&follow=false") as events:
        found = list(events)
    assert [each.type for each in found] == ["repository-opened", "staged", "staged", "staged"]
    with stream(admin, "?repository=past&last=2&follow=false") as events:
        assert [each.data for each in events] == [each.data for each in found[2:]]
    with stream(admin, f"?repository=past&follow=false&after={quote(found[1].id)}") as events:
        assert [each.data for each in events] == [each.data for each in found[2:]]


def test_changes_that_a_program_makes_on_the_lake_itself_are_there(server: LochanServer, admin: Client) -> None:
    create(admin, "outside")
    with stream(admin, "?repository=outside") as events:
        server.lochan("fs", "upload", "-", "outside/a", stdin=b"1")
        event = next(events)
        assert (event.type, event.data["payload"]["puts"][0]["path"]) == ("staged", "a")
        assert event.data["client"].startswith("lochan-cli")


def test_a_client_that_reads_nothing_delays_nobody(admin: Client) -> None:
    """Its buffers are small, and soon full: the server waits with that stream, and answers all others."""
    create(admin, "slow")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    slow.connect(("127.0.0.1", int(admin.address.rpartition(":")[2])))
    headers = "".join(f"{name}: {value}\r\n" for name, value in admin.authorization.items())
    slow.sendall(f"GET {EVENTS}?repository=slow HTTP/1.1\r\nhost: lake\r\n{headers}\r\n".encode())
    assert slow.recv(12) == b"HTTP/1.1 200"
    with stream(admin, "?repository=slow") as events, closing(slow):
        for number in range(60):
            put(admin, "slow", f"{'x' * 900}{number}")
            assert next(events).data["payload"]["puts"][0]["path"].endswith(f"x{number}")


def test_what_cannot_be_followed(admin: Client) -> None:
    assert admin.ask("GET", f"{EVENTS}?repository=nowhere").status == 404
    assert admin.ask("GET", f"{EVENTS}?after=what").status == 400
    assert admin.ask("GET", f"{EVENTS}?last=-1").status == 400
    assert admin.ask("GET", EVENTS, last_event_id="1.2.3").status == 400
    assert Client(admin.address, "", "").ask("GET", EVENTS).status == 401


def test_a_stream_ends_when_its_user_may_not_read_any_more(server: LochanServer, admin: Client) -> None:
    create(admin, "watched")
    server.lochan("auth", "users", "create", "watcher")
    server.lochan("auth", "attach", "watcher", "Admin")
    made = json.loads(server.lochan("auth", "keys", "create", "watcher", "-f", "json"))
    watcher = Client(server.api, made["access_key_id"], made["secret_access_key"])
    with stream(watcher, "?repository=watched") as events:
        put(admin, "watched", "a")
        assert next(events).type == "staged"
        server.lochan("auth", "detach", "watcher", "Admin")
        assert next(events, None) is None
    assert watcher.ask("GET", EVENTS).status == 401
