"""Requests for a query, within the limits of the server."""

import msgspec
import pytest

from lochan.server.api.errors import HttpError
from lochan.server.api.query_request import QueryBody, QueryRequest, check_request
from lochan.server.settings import QuerySettings

SETTINGS = QuerySettings(memory_bytes=300_000_000, seconds=60.0)


def parsed(data: bytes) -> QueryRequest:
    return check_request(msgspec.json.decode(data, type=QueryBody), SETTINGS)


def test_missing_fields_get_the_limits_of_the_server() -> None:
    assert parsed(b'{"query": "from logs"}') == QueryRequest(
        "from logs", "auto", None, 60.0, 300_000_000, "", "", False
    )  # fmt: skip


def test_all_fields() -> None:
    said = b"""{"query": " with a as (select 1) select * from a", "language": "sql", "engine": "duckdb", "limit": 0,
        "timeout": 1.5, "memory": "10MiB", "at": "{2 hours ago}", "pool": "logs@dev", "go_on": true}"""
    assert parsed(said)[1:] == ("duckdb", 0, 1.5, 10 << 20, "{2 hours ago}", "logs@dev", True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ('"timeout": "2m"', "timeout: 2m is not between 0 and 60s, the most this server allows"),
        ('"timeout": 0', "timeout: '0.0' is not a length of time, such as 30s, 5m or 500ms"),
        ('"timeout": "soon"', "timeout: 'soon' is not a length of time, such as 30s, 5m or 500ms"),
        ('"memory": 300000001', "memory: 300000001 is not between 0 and 286 MiB, the most this server allows"),
        ('"memory": "0"', "memory: 0 is not between 0 and 286 MiB, the most this server allows"),
        ('"memory": -1', "memory: '-1' is not a size, such as 256MB, 10GB or 1.5GiB"),
        ('"at": "a b"', "at: 'a b' is not a ref"),
        ('"at": "{never}"', "is not a time"),
        ('"language": "sql"', "query: this is not SQL: it must begin with select or with"),
    ],
)
def test_each_mistake_names_its_field(fields: str, message: str) -> None:
    with pytest.raises(HttpError) as refused:
        parsed(f'{{"query": "from logs", {fields}}}'.encode())
    assert refused.value.status == 400 and message in refused.value.message


def test_a_query_that_is_too_long() -> None:
    with pytest.raises(HttpError, match="at most 1,000,000 characters"):
        check_request(QueryBody(query="a" * (1 << 20) + "b"), SETTINGS)
