"""What lies between a remote lake and its server: answers that are lost, requests that are wrong, other servers."""

from __future__ import annotations

import asyncio
import http.server
import json
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

import lochan
from lochan.access.rights import Denied
from lochan.errors import (
    AlreadyExists,
    Invalid,
    LochanError,
    NotFound,
    PathsInTheWay,
    PreconditionFailed,
    QueryError,
    Refused,
    Transient,
)
from lochan.remote.server import RemoteServer, ServerKeys
from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer, free_ports


@pytest.fixture
def admin(server: LochanServer) -> Client:
    return Client(server.api, server.access_key, server.secret_key)


@pytest.fixture
def main(lake: lochan.Lake) -> lochan.Branch:
    return lake.create_repository("shop").branch("main")


def connected(server: LochanServer, url: str) -> lochan.Lake:
    return lochan.connect(url, access_key=server.access_key, secret_key=server.secret_key)


def asked(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    if body is None:
        return client.ask(method, f"/api/v1/{path}", None, **headers)
    return client.ask(method, f"/api/v1/{path}", json.dumps(body).encode(), content_type="application/json", **headers)


# --- answers that are lost -------------------------------------------------------------------------------------------
@contextmanager
def proxy(server: str, lose: Callable[[bytes], bool], *, unix: str = "") -> Iterator[str]:
    """Forwards connections, and breaks one off when an answer to a request that fits would begin."""
    host, _, port = server.partition(":")
    listener = socket.socket(socket.AF_UNIX) if unix else socket.create_server(("127.0.0.1", 0))
    if unix:
        listener.bind(unix)
        listener.listen()

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection((host, int(port))) as there:
            lost = False
            there.settimeout(0.02)
            client.settimeout(0.02)
            while True:
                for source, sink in ((client, there), (there, client)):
                    try:
                        data = source.recv(65_536)
                    except TimeoutError:
                        continue
                    except OSError:
                        return
                    if not data or (lost and source is there):
                        return
                    lost = lost or (source is client and lose(data))
                    sink.sendall(data)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http+unix://{unix}" if unix else f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def once(word: bytes) -> Callable[[bytes], bool]:
    seen: list[bytes] = []

    def lose(data: bytes) -> bool:
        if word in data and not seen:
            seen.append(data)
            return True
        return False

    return lose


@pytest.mark.parametrize("word", [b"/commits", b"objects?path=new", b"/stat?"])
def test_a_request_whose_answer_was_lost_is_carried_out_once(
    server: LochanServer, main: lochan.Branch, word: bytes
) -> None:
    main.put("a", b"1")
    with proxy(server.api, once(word)) as url, connected(server, url) as lake:
        there = lake.repository("shop").branch("main")
        there.put("new", b"2")
        made = there.commit("one commit")
        assert there.stat("new").size == 1
    assert [each.message for each in main.log()] == ["one commit", "Repository created"]
    assert main.resolve().id == made.id


def test_a_body_that_can_be_read_once_is_sent_once(server: LochanServer, main: lochan.Branch) -> None:
    with proxy(server.api, once(b"PUT ")) as url, connected(server, url) as lake:
        there = lake.repository("shop").branch("main")
        with pytest.raises(Transient, match="broke"):
            there.put("a", iter([b"1", b"2"]))


def test_a_unix_socket(server: LochanServer, main: lochan.Branch, tmp_path: Path) -> None:
    main.put("a", b"1")
    with proxy(server.api, lambda _: False, unix=str(tmp_path / "s")) as url, connected(server, url) as lake:
        assert lake.repository("shop").branch("main").read("a") == b"1"


# --- who answers -----------------------------------------------------------------------------------------------------
def test_a_wrong_key_is_said(server: LochanServer) -> None:
    with pytest.raises(Denied, match="access key or its secret is wrong"):
        lochan.connect(f"http://{server.api}", access_key=server.access_key, secret_key="guessed")
    with pytest.raises(Denied, match="anonymous"):
        lochan.connect(f"http://{server.api}")


def test_nobody_answers() -> None:
    with pytest.raises(Transient, match="cannot be reached"):
        lochan.connect(f"http://127.0.0.1:{free_ports(1)[0]}", access_key="a", secret_key="b")
    for wrong in ("http://", "http://host:port", "https://host/path", "http://user:pass@host"):
        with pytest.raises(Invalid):
            lochan.connect(wrong)


def test_another_server_answers() -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>welcome</html>")

        def log_message(self, *args: Any) -> None:
            pass

    other = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        with pytest.raises(Invalid, match="is not a lochan server"):
            lochan.connect(f"http://127.0.0.1:{other.server_port}", access_key="a", secret_key="b")
    finally:
        other.shutdown()
        other.server_close()


def test_signed_requests(server: LochanServer, main: lochan.Branch) -> None:
    """As they are sent to a server that is not on this machine, and has no TLS."""
    main.put("a b/ü", b"1")

    async def ask() -> tuple[bytes, int]:
        there = RemoteServer(f"http://{server.api}", ServerKeys(server.access_key, server.secret_key), "Ann Ü")
        there._signs = True
        from lochan.remote.nouns import RemoteLake

        branch: Any = RemoteLake(there).repository("shop").branch("main")
        await branch.put("big", _pieces(), metadata={"a": "b c"})
        found = await branch.read("a b/ü"), (await branch.stat("big")).size
        await branch.commit("signed")
        await there.close()
        return found

    assert asyncio.run(ask()) == (b"1", 3_000_000)
    assert main.resolve().author == "Ann Ü"


async def _pieces() -> Any:
    for _ in range(30):
        yield b"x" * 100_000


# --- errors ----------------------------------------------------------------------------------------------------------
def test_errors_are_of_the_same_class(lake: lochan.Lake, main: lochan.Branch) -> None:
    with pytest.raises(AlreadyExists):
        lake.create_repository("shop")
    with pytest.raises(NotFound) as missing:
        main.stat("nothing")
    assert missing.value.name == "nothing"
    lake.create_pool("logs", key="n")
    with pytest.raises(QueryError) as wrong:
        lake.query("from logs | wheree n")
    assert (wrong.value.line, wrong.value.column) == (1, 13) and "^" in wrong.value.place
    main.put("a", b"1")
    main.commit("base")
    dev = lake.repository("shop").create_branch("dev")
    for branch, body in ((main, b"ours"), (dev, b"theirs.")):
        branch.put("a", body)
        branch.commit("other")
    with pytest.raises(PathsInTheWay) as conflicts:
        main.merge(dev)
    (conflict,) = conflicts.value.conflicts  # type: ignore[attr-defined]
    sides = conflict.base, conflict.ours, conflict.theirs
    assert (conflict.path, [each.size for each in sides]) == ("a", [1, 4, 7])
    with pytest.raises(Refused, match="not served"):
        lake.doctor()
    with pytest.raises(Refused, match="machine that serves"):
        main.link("b", "file:///etc/passwd")


def test_what_was_opened_is_read_or_refused(main: lochan.Branch) -> None:
    main.put("a", b"first")
    found = main.open("a")
    assert (found.read(), found.read(1, 3), found.size) == (b"first", b"ir", 5)
    main.put("a", b"other")
    with pytest.raises(PreconditionFailed, match="replaced"):
        found.read()
    with pytest.raises(Invalid):
        main.read("a", 3, 99)


WRONG: dict[str, tuple[str, str, Any, str]] = {
    "an unknown field": ("POST", "repos", {"name": "x", "colour": 1}, "colour"),
    "a wrong type": ("POST", "repos", {"name": 7}, "name"),
    "a missing field": ("POST", "repos", {}, "name"),
    "a wrong type inside": ("POST", "repos/shop/branches/main/commits", {"options": {"message": 1}}, "options.message"),
    "an unknown field inside": ("POST", "repos/shop/branches/main/commits", {"options": {"mesage": ""}}, "mesage"),
    "an unknown parameter": ("GET", "repos/shop/refs/main/objects?prefx=a", None, "prefx"),
    "a parameter of a wrong type": ("GET", "repos/shop/refs/main/objects?limit=many", None, "limit"),
    "a parameter given twice": ("GET", "repos/shop/refs/main/objects/stat?path=a&path=b", None, "path"),
    "a missing parameter": ("GET", "repos/shop/refs/main/objects/stat", None, "path"),
    "a parameter that is no JSON": ("GET", "upkeep?options={", None, "options"),
    "no list": ("POST", "repos/shop/refs/main/objects/stat_many", {"paths": "a"}, "paths"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_request_is_told_what_is_wrong(admin: Client, main: lochan.Branch, wrong: str) -> None:
    method, path, body, word = WRONG[wrong]
    answer = asked(admin, method, path, body)
    assert answer.status == 400 and word in json.loads(answer.body)["message"], answer
    assert json.loads(answer.body)["kind"] == "invalid"


def test_an_unknown_ref_is_not_found_by_any_verb(admin: Client, main: lochan.Branch) -> None:
    for path in ("refs/no/objects", "refs/no/commits", "branches/no", "refs/no/diff/main", "workspaces/main+no"):
        answer = asked(admin, "GET", f"repos/shop/{path}")
        assert answer.status == 404 and json.loads(answer.body)["error"] == "NotFound", (path, answer)


# --- in the background -----------------------------------------------------------------------------------------------
def test_a_commit_in_the_background(admin: Client, main: lochan.Branch) -> None:
    main.put("a", b"1")
    begun = asked(admin, "POST", "repos/shop/branches/main/commits", {"message": "later"}, prefer="respond-async")
    assert begun.status == 202
    task = json.loads(begun.body)
    where = begun.headers["location"].removeprefix("/api/v1/")
    deadline = time.monotonic() + 30
    while (found := json.loads(asked(admin, "GET", where).body))["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (found["state"], found["status"], found["operation"]) == ("done", 200, "Branch.commit")
    assert found["answer"]["id"] == main.resolve().id
    assert task["id"] in [each["id"] for each in json.loads(asked(admin, "GET", "tasks").body)]
    assert asked(admin, "DELETE", where).status == 204, "it has ended, and stays as it is"
    assert json.loads(asked(admin, "GET", where).body)["state"] == "done"
    assert asked(admin, "GET", "tasks/none").status == 404


def test_a_merge_in_the_background_that_fails(admin: Client, main: lochan.Branch) -> None:
    begun = asked(admin, "POST", "repos/shop/branches/main/merge", {"source": "nowhere"}, prefer="respond-async")
    where = begun.headers["location"].removeprefix("/api/v1/")
    while (found := json.loads(asked(admin, "GET", where).body))["state"] == "running":
        time.sleep(0.02)
    assert (found["state"], found["status"], found["answer"]["error"]) == ("failed", 404, "NotFound")


def ended(admin: Client, begun: Answer) -> dict[str, Any]:
    where = begun.headers["location"].removeprefix("/api/v1/")
    deadline = time.monotonic() + 60
    while (found := json.loads(asked(admin, "GET", where).body))["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return cast("dict[str, Any]", found)


def test_work_in_the_background_tells_how_far_it_is(admin: Client, main: lochan.Branch) -> None:
    main.put("a", b"1")
    main.commit("one")
    checked = ended(admin, asked(admin, "POST", "fsck", {"repositories": ["shop"]}, prefer="respond-async"))
    assert (checked["state"], checked["done"] > 0) == ("done", True), checked
    assert [each["text"] for each in checked["log"]] == ["begun", "done"]
    listed = ended(admin, asked(admin, "POST", "repos/shop/gc/preview", {"grace_hours": 0}, prefer="respond-async"))
    assert (listed["state"], listed["status"]) == ("done", 200), listed
    stages = {each["name"]: (each["done"], each["total"]) for each in listed["stages"]}
    assert stages["reads metadata"] == (1, 1)
    assert [each["text"] for each in listed["log"]] == ["begun", *stages, "done"]


# --- the rest --------------------------------------------------------------------------------------------------------
def test_many_at_once(main: lochan.Branch, tmp_path: Path) -> None:
    for number in range(1_200):
        (tmp_path / f"{number:04}.txt").write_text(str(number))
    (tmp_path / "large").write_bytes(b"x" * (2 << 20))
    assert main.upload(tmp_path, "in").objects == 1_201
    found = main.stat_many(["in/0007.txt", "in/none", "in/large"])
    assert [None if each is None else each.size for each in found] == [1, None, 2 << 20]
    assert found[0] is not None and found[0].content_type == "text/plain"
    assert main.upload(tmp_path, "in", resume=True).skipped == 1_201
    assert main.status_count().added == 1_201
    assert main.status_table("in/").num_rows == 1_201


def test_a_list_that_is_not_wanted_to_its_end(main: lochan.Branch) -> None:
    with main.transaction("many") as tx:
        for number in range(20):
            tx.put(f"{number}", b"")
    for _ in range(20):
        assert next(iter(main.list())).path == "0"
    assert len(list(main.list())) == 20


def test_a_handle_goes_to_another_process(server: LochanServer, main: lochan.Branch) -> None:
    main.put("a", b"1")
    with_keys = pickle.loads(pickle.dumps(main))
    assert with_keys.read("a") == b"1"
    assert server.secret_key not in repr(main)


def test_files_of_rows(lake: lochan.Lake, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,name\n1,pear\n2,plum\n")
    (tmp_path / "b.csv").write_text("n,name\n3,fig\n")
    pool = lake.create_pool("fruit", key="n")
    assert pool.load([tmp_path / "a.csv", tmp_path / "b.csv"], "two files").rows == 3
    assert next(each.message for each in pool.ref().log()) == "two files"
    assert lake.query("from fruit | sort n").to_arrow().column("name").to_pylist() == ["pear", "plum", "fig"]
    assert b"".join(lake.query("from fruit | n == 3").ndjson()) == b'{"n":3,"name":"fig"}\n'
    with pytest.raises(LochanError):
        pool.load_body(b"{", lochan.LoadOptions(format="ndjson"))
    assert pool.summary().rows == 3
