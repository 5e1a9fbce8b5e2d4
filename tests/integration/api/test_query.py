"""Queries over HTTP: requests and answers."""

import http.client
import io
import json
import time
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.server.api.query_request import FORMS
from tests.integration.api.client import QUERY, Client
from tests.servers.lochan import LochanServer

ENDLESS = "select a.k, b.host from logs a cross join logs b cross join logs c"  # a million million rows
LONG = "select count(*) as n from logs a cross join logs b cross join logs c where a.k + b.k + c.k = -5"
FIRST = "from logs | head 2"
ROWS = [{"k": 0, "host": "h0"}, {"k": 1, "host": "h1"}]


def test_rows_in_every_form(admin: Client) -> None:
    assert admin.query(FIRST).rows == ROWS
    for accept in ("", "*/*", "application/*;q=0.1, text/csv;q=0, application/x-ndjson"):
        assert admin.query(FIRST, accept).headers["content-type"] == "application/x-ndjson"
    as_json = admin.query(FIRST, "application/json")
    assert (json.loads(as_json.body), as_json.headers["content-type"]) == (ROWS, "application/json")
    as_csv = admin.query(FIRST, "text/csv")
    assert as_csv.body == b"k,host\r\n0,h0\r\n1,h1\r\n"
    assert as_csv.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    arrow = admin.query("from logs", "application/vnd.apache.arrow.stream")
    assert pa.ipc.open_stream(arrow.body).read_all().num_rows == 10_000
    parquet = admin.query("from logs", "application/vnd.apache.parquet")
    table = pq.read_table(io.BytesIO(parquet.body))
    assert table.num_rows == 10_000 and table.slice(0, 2).to_pylist() == ROWS


def test_no_rows_in_every_form(admin: Client) -> None:
    bodies = {FORMS[accept]: admin.query("from logs | k > 99999", accept) for accept in FORMS}
    assert {answer.status for answer in bodies.values()} == {200}
    assert (bodies["ndjson"].body, bodies["json"].body, bodies["csv"].body) == (b"", b"[]\n", b"k,host\r\n")
    assert pa.ipc.open_stream(bodies["arrow"].body).read_all().num_rows == 0
    assert pq.read_table(io.BytesIO(bodies["parquet"].body)).num_rows == 0


def test_the_fields_of_a_request(admin: Client) -> None:
    assert admin.query("select k from logs order by k", language="sql", limit=1).rows == [{"k": 0}]
    assert admin.query("from logs", limit=0).body == b""
    assert len(admin.query("from logs", limit=9_999).rows) == 9_999
    assert admin.query("head 1", pool="logs@dev").rows == [{"k": -1, "host": "new"}]
    assert admin.query("count()", pool="logs", at="dev").rows == [{"count": 10_001}]
    assert admin.query("from logs@main | count()", at="dev", engine="duckdb", go_on=True).rows == [{"count": 10_000}]
    assert admin.query("from logs | count()", at="{now}", timeout=30, memory="200MB").rows == [{"count": 10_000}]
    assert {row["name"] for row in admin.query("from :pools", at="dev").rows} >= {"logs", "secrets"}
    assert admin.query("from :pools", at="{2020-01-01}").body == b""


def test_an_answer_says_which_query_it_is_of(admin: Client) -> None:
    answer = admin.query(FIRST)
    told = admin.status_of(answer.headers["x-query-id"])
    assert answer.headers["x-query-engine"] == "duckdb"
    assert told.pop("seconds") < 60 and abs(told.pop("started") - time.time()) < 60
    assert told == {
        "id": answer.headers["x-query-id"], "user": "admin", "query": FIRST, "state": "done", "engine": "duckdb",
        "rows": 2,
    }  # fmt: skip
    ids = {admin.query(FIRST).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3 and all(len(id) == 16 for id in ids)


@pytest.mark.parametrize(
    ("text", "fields", "status", "told"),
    [
        ("from logs | cont()", {}, 400, "unknown function `cont`; did you mean `count`? (line 1, column 13)"),
        ("from logs |\nsort k k2 |", {}, 400, "line 2"),
        ("select hots from (select host from logs)", {}, 400, "did you mean `host`? (line 1, column 8)"),
        ("from lgos", {}, 404, "there is no pool or repository `lgos`; did you mean `logs`? (line 1, column 6)"),
        ("from logs@never", {}, 404, "no branch, tag or commit 'never'"),
        ("from demo@main/none/*.csv", {}, 404, "no file of demo@main matches none/*.csv"),
        ("from demo", {}, 400, "`demo` is a repository of files"),
        ("count()", {}, 400, "does not say what it reads"),
        ("from logs | load secrets", {}, 400, "may only read"),
        ("", {}, 400, "query: must not be empty"),
        ("from logs", {"language": "sql"}, 400, "this is not SQL"),
        ("from logs", {"language": "english"}, 400, "language"),
        ("from logs", {"engine": "abacus"}, 400, "engine"),
        ("from logs", {"limit": -1}, 400, "limit"),
        ("from logs", {"memory": "much"}, 400, "memory: 'much' is not a size"),
        ("from logs", {"memory": "4GB"}, 400, "memory: 4GB is not between 0 and"),
        ("from logs", {"timeout": "2h"}, 400, "timeout: 2h is not between 0 and"),
        ("from logs", {"at": "main@@"}, 400, "at: "),
        ("from logs", {"colour": "red"}, 400, "unknown field `colour`"),
        (ENDLESS + " order by a.k, b.k, c.k", {"timeout": "100ms"}, 408, "not ended within its 0.1 seconds"),
        ("select list(a.host || b.host) as x from logs a cross join logs b", {"memory": "20MB"}, 413, "20 MB"),
    ],
)  # fmt: skip
def test_mistakes(admin: Client, text: str, fields: dict[str, Any], status: int, told: str) -> None:
    answer = admin.query(text, **fields)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json"), answer
    assert told in answer.message.replace("19.1 MiB", "20 MB"), answer.message


def test_mistakes_of_http(admin: Client) -> None:
    ask = admin.ask
    assert admin.query(FIRST, "image/png").status == 406
    assert ask("POST", QUERY, b"{", content_type="application/json").status == 400
    assert ask("POST", QUERY, b'{"query":"from logs"}', content_type="text/plain").status == 400
    assert ask("POST", QUERY, b'{"query":"%s"}' % (b"x" * (1 << 20)), content_type="application/json").status == 413
    assert (ask("PUT", QUERY).status, sorted(ask("PUT", QUERY).headers["allow"].split(", "))) == (
        405,
        ["GET", "HEAD", "POST"],
    )
    assert ask("GET", "/api/v1/none").message == "there is no such resource"
    assert "json" not in ask("GET", "/none").headers["content-type"]
    assert all("x-request-id" in ask("GET", path).headers for path in ("/none", "/_health/alive", "/api/v1/none"))
    assert ask("GET", f"{QUERY}/none").status == 404 == ask("DELETE", f"{QUERY}/none").status


@pytest.mark.parametrize("text", [
    "select * from read_csv('/etc/hostname')",
    "select * from '/etc/hostname'",
    "select * from 'file:///etc/hostname'",
    "select * from 's3://bucket/a.parquet'",
    "select read_text('/etc/hostname') as x from logs",
    "select getenv('HOME') as x from logs",
    "from '/etc/hostname'",
    "from /etc/hostname",
    "copy logs to '/tmp/x'",
    "attach '/tmp/x.db'",
])  # fmt: skip
def test_nothing_of_the_server_itself_is_read(admin: Client, text: str) -> None:
    answer = admin.query(text)
    assert answer.status in (400, 404), answer


@pytest.mark.parametrize("accept", FORMS)
def test_a_body_that_breaks_off_is_seen_to(admin: Client, accept: str) -> None:
    """Whatever the form: its connection ends without the last chunk."""
    with admin.begun(ENDLESS, accept) as answer:
        assert answer.status == 200 and answer.read(1_000)
        id = answer.headers["x-query-id"]
        assert admin.ask("DELETE", f"{QUERY}/{id}").status == 204
        assert admin.status_of(id)["state"] == "cancelled"
        with pytest.raises(http.client.IncompleteRead):
            answer.read()


def test_a_limit_that_is_reached_on_the_way(admin: Client) -> None:
    with admin.begun(ENDLESS, timeout="3s") as answer:
        assert answer.read(1_000)
        id = answer.headers["x-query-id"]
        with pytest.raises(http.client.IncompleteRead):
            answer.read()
    told = admin.status_of(id)
    assert (told["state"], "not ended within its 3 seconds" in told["error"]) == ("failed", True)


def test_who_hangs_up_cancels(admin: Client) -> None:
    with admin.begun(ENDLESS) as answer:
        id = answer.headers["x-query-id"]
        assert answer.read(1_000)
    admin.until(id, "cancelled")
    with closing(admin.sent(LONG)):
        id = running(admin, LONG)
    admin.until(id, "cancelled")
    assert not admin.running()


def test_a_client_that_does_not_read_costs_no_memory(admin: Client) -> None:
    with admin.begun(ENDLESS) as answer:
        id, before, rows = answer.headers["x-query-id"], -1, 0
        while not rows or rows != before:  # until it has begun, and stands still
            before, rows = rows, admin.status_of(id)["rows"]
            time.sleep(0.3)
        assert rows < 3_000_000
    admin.until(id, "cancelled")


def test_one_is_cancelled_before_its_first_row(admin: Client) -> None:
    with closing(admin.sent(LONG)) as connection:
        assert admin.ask("DELETE", f"{QUERY}/{running(admin, LONG)}").status == 204
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["message"].partition(" (")[0]) == (
            409,
            "the query was cancelled",
        )


def test_only_so_many_at_once(admin: Client) -> None:
    """Two run, one waits, the fourth is sent away; and the server goes on answering."""
    sent = [admin.sent(LONG) for _ in range(3)]
    try:
        deadline = time.monotonic() + 20
        while sorted(each["state"] for each in admin.running()) != ["running", "running", "waiting"]:
            assert time.monotonic() < deadline, admin.running()
            time.sleep(0.02)
        refused = admin.query(FIRST)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        begun = time.monotonic()
        assert [admin.ask("GET", f"/_health/{each}").status for each in ("alive", "ready")] == [200, 200]
        assert time.monotonic() - begun < 5
        [waits] = [each["id"] for each in admin.running() if each["state"] == "waiting"]
        assert admin.ask("DELETE", f"{QUERY}/{waits}").status == 204
        assert admin.status_of(waits)["state"] == "cancelled"
    finally:
        for each in sent:
            each.close()
    deadline = time.monotonic() + 20
    while admin.running() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert admin.query(FIRST).rows == ROWS
    counted = admin.ask("GET", "/_metrics").body.decode()
    assert "lochan_queries_now 0.0" in counted and "lochan_spark_warm 0.0" in counted
    assert 'lochan_queries_total{engine="duckdb",state="done"}' in counted


def test_a_server_goes_on_where_spark_cannot_be_started(admin: Client, server: LochanServer) -> None:
    answer = admin.query(FIRST, engine="spark")
    assert (answer.status, "/nowhere/bin/java is not there" in answer.message) == (400, True)
    assert admin.query(FIRST).rows == ROWS
    assert b"lochan_spark_warm 0.0" in admin.ask("GET", "/_metrics").body
    assert "Spark is not warm, and the first query that needs it will try again" in server.log.read_text()


def running(client: Client, text: str) -> str:
    """The id of the one that runs this."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for each in client.running():
            if each["query"] == text and each["state"] == "running":
                return str(each["id"])
        time.sleep(0.02)
    raise AssertionError(client.running())
