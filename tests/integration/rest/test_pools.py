"""Pools over HTTP: made, loaded in every format, changed, queried; and bad input."""

import gzip
import http.client
import io
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer

POOLS = "/api/v1/pools"
ROWS = [{"k": 1, "host": "a"}, {"k": 2, "host": "b"}]
NDJSON = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def send(client: Client, method: str, path: str, value: Any = None, **headers: str) -> Answer:
    body = None if value is None else json.dumps(value).encode()
    kind = {} if value is None else {"content-type": "application/json"}
    return client.ask(method, path, body, **kind, **headers)


def load(client: Client, pool: str, body: bytes, kind: str = "", at: str = "", **headers: str) -> Answer:
    return client.ask("POST", f"{POOLS}/{pool}/rows{at}", body, **({"content-type": kind} if kind else {}), **headers)


def created(client: Client, name: str) -> str:
    made = send(client, "POST", POOLS, {"name": name, "key": ["k"]})
    assert made.status == 201, made.body
    return name


def rows(client: Client, pool: str) -> list[Any]:
    return client.query(f"from {pool} | sort k").rows


def commits(client: Client, pool: str) -> list[dict[str, Any]]:
    """The newest first."""
    answer = client.ask("GET", f"/api/v1/repositories/{pool}/refs/main/commits")
    found: list[dict[str, Any]] = json.loads(answer.body)["results"]
    return found


@pytest.mark.parametrize("count", [2, 10_000], ids=["few rows", "more than share a commit"])
def test_a_key_is_of_one_body(admin: Client, count: int) -> None:
    pool = created(admin, f"keyed-{count}")
    body = b"".join(b'{"k": %d, "host": "h"}\n' % number for number in range(count))
    key = {"idempotency-key": f"a-key-of-{count}-rows"}
    first, again = [load(admin, pool, body, **key) for _ in range(2)]
    assert (first.status, again.status) == (200, 200)
    assert json.loads(first.body) == json.loads(again.body)
    other = load(admin, pool, body.replace(b'"h"', b'"g"'), **key)
    assert (other.status, "key" in other.message) == (422, True), other.body
    assert len(commits(admin, pool)) == 2
    assert admin.query(f"from {pool} | count() by host").rows == [{"host": "h", "count": count}]


def test_a_pool_from_its_beginning_to_its_end(admin: Client) -> None:
    wanted = {"name": "life", "key": ["k:desc"], "metadata": {"team": "search"}}
    made = send(admin, "POST", POOLS, wanted)
    assert (made.status, json.loads(made.body)["pool"]["keys"]) == (201, ["k:desc"])
    assert send(admin, "POST", POOLS, wanted).status == 409
    assert json.loads(admin.ask("GET", f"{POOLS}/life").body)["metadata"] == {"team": "search"}
    assert "life" in [each["name"] for each in json.loads(admin.ask("GET", f"{POOLS}?prefix=li").body)["results"]]
    assert json.loads(load(admin, "life", NDJSON).body)["rows"] == 2
    assert json.loads(admin.ask("GET", f"{POOLS}/life/fields").body) == ["k", "host"]
    assert json.loads(admin.ask("GET", f"{POOLS}/life/summary").body)["rows"] == 2

    branches = f"{POOLS}/life/branches"
    assert json.loads(send(admin, "POST", branches, {"name": "dev"}).body)["name"] == "dev"
    assert json.loads(load(admin, "life", b'{"k":3}', at="?branch=dev").body)["rows"] == 1
    assert [each["name"] for each in json.loads(admin.ask("GET", branches).body)["results"]] == ["dev", "main"]
    merged = send(admin, "POST", f"{branches}/main/merge", {"source": "dev", "message": "in", "metadata": {"n": 1}})
    assert (merged.status, json.loads(merged.body)["metadata"]) == (200, {"n": "1"})
    assert [row["k"] for row in rows(admin, "life")] == [1, 2, 3]
    head = json.loads(merged.body)["id"]
    assert send(admin, "POST", f"{branches}/main/revert", {"ref": head}).status == 200
    assert rows(admin, "life") == ROWS

    gone = send(admin, "POST", f"{POOLS}/life/rows/delete", {"where": "k == 1", "message": "one out"})
    assert (gone.status, json.loads(gone.body)["rows"]) == (200, 1)
    assert load(admin, "life", b'{"k":2, "host":"c"}').status == 200
    assert json.loads(send(admin, "POST", f"{POOLS}/life/compact/try", {}).body)[0]["objects"] == 2
    assert send(admin, "POST", f"{POOLS}/life/compact", {}).status == 200
    assert json.loads(send(admin, "POST", f"{POOLS}/life/compact", {}).body)["message"]
    assert commits(admin, "life")[1]["message"].startswith("Load 1 row")

    assert json.loads(send(admin, "POST", f"{POOLS}/life/rename", {"to": "lives"}).body)["name"] == "lives"
    assert admin.ask("DELETE", f"{POOLS}/lives").status == 204
    assert admin.ask("GET", f"{POOLS}/lives").status == 404


def as_parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


def as_arrow() -> bytes:
    sink, table = io.BytesIO(), pa.Table.from_pylist(ROWS)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (NDJSON, "application/x-ndjson"),
        (json.dumps(ROWS, indent=1).encode(), "application/json; charset=utf-8"),
        (b"k,host\n1,a\n2,b\n", "text/csv"),
        (b"k\thost\n1\ta\n2\tb\n", "text/tab-separated-values"),
        (as_parquet(), "application/vnd.apache.parquet"),
        (as_arrow(), "application/vnd.apache.arrow.stream"),
        (as_parquet(), ""),
        (gzip.compress(NDJSON), "application/x-www-form-urlencoded"),
        (b"<all><row><k>1</k><host>a</host></row><row><k>2</k><host>b</host></row></all>", "application/xml"),
    ],
    ids=["ndjson", "json", "csv", "tsv", "parquet", "arrow", "sniffed", "packed", "xml"],
)
def test_rows_of_every_format(admin: Client, body: bytes, kind: str) -> None:
    pool = created(admin, f"formats-{abs(hash((body, kind)))}")
    answer = load(admin, pool, body, kind)
    assert (answer.status, json.loads(answer.body).get("rows")) == (200, 2), answer.body
    assert rows(admin, pool) == ROWS


def test_the_commit_of_a_load_is_in_its_headers(admin: Client) -> None:
    pool = created(admin, "headers")
    said = {
        "x-commit-message": "Größe".encode().decode("latin-1"),
        "x-commit-author": "Ada",
        "x-commit-metadata": '{"job": 7, "tags": ["a"], "by": "cron"}',
        "x-commit-date": "2026-01-02T03:04:05Z",
    }
    assert load(admin, pool, NDJSON, **said).status == 200
    made = commits(admin, pool)[0]
    assert (made["message"], made["committer"], made["creation_date"]) == ("Größe", "admin", 1767323045)
    assert made["metadata"] == {"job": "7", "tags": '["a"]', "by": "cron"}
    for name, value in {"metadata": "[1]", "date": "soon", "message": "\xff"}.items():
        answer = load(admin, pool, NDJSON, **{f"x-commit-{name}": value})
        assert (answer.status, answer.message.split(":")[0]) == (400, f"X-Commit-{name.capitalize()}")
    assert len(commits(admin, pool)) == 2


def test_a_load_that_is_sent_twice_is_carried_out_once(admin: Client) -> None:
    pool = created(admin, "twice")
    large = NDJSON * 5_000
    for body in (NDJSON, large):
        key = f"again-{len(body)}"
        first = load(admin, pool, body, idempotency_key=key)
        again = load(admin, pool, body, idempotency_key=key)
        assert (first.status, again.status) == (200, 200)
        assert json.loads(first.body) == json.loads(again.body)
    assert load(admin, pool, b'{"k": 9}', idempotency_key=f"again-{len(NDJSON)}").status == 422
    assert len(rows(admin, pool)) == 2 + 10_000


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b'{"k": 1}\n{"k": \n', "", 400, "the body:2:8"),
        (b"", "", 400, "there are no rows to load"),
        (b'{"k": 1}', "image/png", 400, "'image/png' is not a type of rows"),
        (b"PAR1 but no more", "", 400, "not a complete parquet file"),
        (b"\x00\x01", "", 400, "the format cannot be detected"),
        (b'{"k": 1}\n' * 9_000 + b"{", "", 400, "9001"),
    ],
    ids=["not JSON", "empty", "a picture", "half a file", "nothing known", "a large one"],
)
def test_bodies_that_hold_no_rows(admin: Client, body: bytes, kind: str, status: int, words: str) -> None:
    pool = created(admin, f"bad-{abs(hash((body, kind)))}")
    answer = load(admin, pool, body, kind)
    assert (answer.status, words in answer.message) == (status, True), answer.message
    assert len(commits(admin, pool)) == 1


def test_requests_that_are_wrong(admin: Client) -> None:
    pool = created(admin, "wrong")
    assert load(admin, "nowhere", NDJSON).status == 404
    assert load(admin, pool, NDJSON, at="?branch=never").status == 404
    assert load(admin, pool, NDJSON, at="?on_error=perhaps").status == 400
    assert load(admin, pool, NDJSON, at="?format=docx").status == 400
    assert load(admin, pool, NDJSON, content_encoding="br").status == 400
    assert send(admin, "POST", POOLS, {"name": "p", "keys": ["k"]}).message.endswith("unknown field `keys`")
    assert send(admin, "POST", POOLS, {"name": "p", "key": ["a b:sideways"]}).status == 400
    assert send(admin, "POST", f"{POOLS}/{pool}/rows/delete", {"where": "k ==="}).status == 400
    assert send(admin, "POST", f"{POOLS}/{pool}/objects/delete", {"ids": ["zzz"]}).status == 404
    made = send(admin, "POST", "/api/v1/repositories", {"name": "only-files", "storage_namespace": ""})
    assert made.status == 201
    assert admin.ask("GET", f"{POOLS}/only-files").status == 404
    assert admin.ask("DELETE", f"{POOLS}/only-files").status == 404
    assert "is no pool" in load(admin, "only-files", NDJSON).message


@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_a_body_that_breaks_off_loads_nothing(admin: Client, size: int) -> None:
    pool = created(admin, f"broken-{size}")
    before = len(commits(admin, pool))
    host, _, port = admin.address.partition(":")
    head = "".join(f"{name}: {value}\r\n" for name, value in admin.authorization.items())
    with socket.create_connection((host, int(port))) as wire:
        wire.sendall(
            f"POST {POOLS}/{pool}/rows HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {size + 10}\r\n\r\n".encode()
        )
        wire.sendall(b'{"k": 1}\n' * (size // 9))
    assert load(admin, pool, b'{"k": 2}').status == 200
    assert (rows(admin, pool), len(commits(admin, pool))) == ([{"k": 2}], before + 1)


def test_rows_without_a_length_are_loaded_as_they_come(admin: Client) -> None:
    pool = created(admin, "chunked")
    connection = http.client.HTTPConnection(admin.address, timeout=60)
    pieces = (b"".join(b'{"k": %d}\n' % (each * 1_000 + number) for number in range(1_000)) for each in range(50))
    connection.request("POST", f"{POOLS}/{pool}/rows", pieces, admin.authorization, encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["rows"]) == (200, 50_000)
    connection.close()


def test_many_small_loads_make_few_commits(admin: Client) -> None:
    """And one that is bad does not spoil the others."""
    pool = created(admin, "small")
    together = threading.Barrier(16)

    def post(number: int) -> Answer:
        together.wait()
        body = b"{bad" if number == 5 else b'{"k": %d}' % number
        return load(admin, pool, body, "application/x-ndjson", idempotency_key=f"post-{number}")

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(post, range(96)))
    assert [answer.status for answer in answers] == [400 if number == 5 else 200 for number in range(96)]
    assert "the body:1" in answers[5].message
    assert [row["k"] for row in rows(admin, pool)] == [number for number in range(96) if number != 5]
    made = {json.loads(answer.body)["commit"] for answer in answers if answer.status == 200}
    assert made == {each["id"] for each in commits(admin, pool)[:-1]}
    assert len(made) <= 48, "16 at a time share commits"
    again = load(admin, pool, b'{"k": 7}', "application/x-ndjson", idempotency_key="post-7")
    assert json.loads(again.body) == json.loads(answers[7].body)
    assert len(rows(admin, pool)) == 95


def test_rights_of_loads(server: LochanServer, admin: Client) -> None:
    pool = created(admin, "guarded")
    server.lochan("auth", "users", "create", "reader")
    server.lochan("auth", "attach", "reader", "Analyst")
    made = json.loads(server.lochan("auth", "keys", "create", "reader", "-f", "json"))
    reader = Client(server.api, made["access_key_id"], made["secret_access_key"])
    assert load(reader, pool, NDJSON).status == 401
    assert send(reader, "POST", f"{POOLS}/{pool}/rows/delete", {"where": "true"}).status == 401
    assert reader.ask("DELETE", f"{POOLS}/{pool}").status == 401
    assert reader.ask("GET", f"{POOLS}/{pool}/summary").status == 200
    assert Client(server.api, "", "").ask("POST", f"{POOLS}/{pool}/rows", NDJSON).status == 401
