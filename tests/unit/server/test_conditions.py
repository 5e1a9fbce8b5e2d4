"""Conditions: S3's table of precedence, for reads, copies and writes."""

from typing import NamedTuple

import pytest

from lochan.api.conditions import NO_CONDITIONS, ConditionFailed, Conditions
from lochan.server.gateway.object_headers import (
    COPY_PREFIX,
    failed_condition,
    failed_read,
    read_conditions,
    write_conditions,
)
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import http_date

ETAG = "5d41402abc4b2a76b9719d911017c592"
AT = 1_700_000_000
BEFORE, SAME, AFTER = (http_date(AT + off) for off in (-1, 0, 1))


class Current(NamedTuple):
    etag: str
    mtime: int
    size: int = 0


NOW = Current(ETAG, AT * 1_000_000)


def failed(conditions: Conditions, there: Current | None = NOW, *, of_source: bool = False) -> ConditionFailed | None:
    try:
        conditions.check("a", there, of_source=of_source)
    except ConditionFailed as error:
        return error
    return None


def read(headers: dict[str, str]) -> S3Error | None:
    error = failed(read_conditions(headers))
    return None if error is None else failed_read(error)


def outcome(headers: dict[str, str]) -> int:
    error = read(headers)
    return 200 if error is None else error.status


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"if-match": f'"{ETAG}"'}, 200),
        ({"if-match": ETAG}, 200),
        ({"if-match": "*"}, 200),
        ({"if-match": f'"other", "{ETAG}"'}, 200),
        ({"if-match": f'W/"{ETAG}"'}, 412),
        ({"if-match": '"other"'}, 412),
        ({"if-match": ""}, 412),
        ({"if-none-match": f'"{ETAG}"'}, 304),
        ({"if-none-match": f'W/"{ETAG}"'}, 304),
        ({"if-none-match": f'"other",W/"x", "{ETAG}"'}, 304),
        ({"if-none-match": "*"}, 304),
        ({"if-none-match": '"other"'}, 200),
        ({"if-modified-since": BEFORE}, 200),
        ({"if-modified-since": SAME}, 304),
        ({"if-modified-since": AFTER}, 304),
        ({"if-modified-since": "last week"}, 200),
        ({"if-unmodified-since": BEFORE}, 412),
        ({"if-unmodified-since": SAME}, 200),
        ({"if-unmodified-since": AFTER}, 200),
        ({"if-unmodified-since": "last week"}, 200),
        ({"if-match": ETAG, "if-unmodified-since": BEFORE}, 200),
        ({"if-match": "other", "if-unmodified-since": AFTER}, 412),
        ({"if-none-match": ETAG, "if-modified-since": BEFORE}, 304),
        ({"if-none-match": "other", "if-modified-since": AFTER}, 200),
        ({"if-match": ETAG, "if-none-match": ETAG}, 304),
        ({"if-match": "other", "if-none-match": ETAG}, 412),
        ({"if-match": ETAG, "if-modified-since": SAME}, 304),
    ],
)
def test_reading(headers: dict[str, str], status: int) -> None:
    assert outcome(headers) == status


def test_a_304_tells_the_tag_and_has_no_body() -> None:
    error = read({"if-none-match": "*"})
    assert error is not None and error.headers == {"etag": f'"{ETAG}"'} and not error.has_body


@pytest.mark.parametrize(
    "headers, condition",
    [
        ({"if-match": ETAG, "if-unmodified-since": BEFORE}, None),
        ({"if-match": "other"}, "x-amz-copy-source-if-match"),
        ({"if-none-match": ETAG, "if-modified-since": BEFORE}, "x-amz-copy-source-if-none-match"),
        ({"if-none-match": "other"}, None),
        ({"if-modified-since": SAME}, "x-amz-copy-source-if-modified-since"),
        ({"if-unmodified-since": BEFORE}, "x-amz-copy-source-if-unmodified-since"),
    ],
)
def test_copying(headers: dict[str, str], condition: str | None) -> None:
    found = read_conditions({COPY_PREFIX + name: value for name, value in headers.items()}, COPY_PREFIX)
    error = failed(found, of_source=True)
    if condition is None:
        assert error is None
        return
    assert error is not None
    answer = failed_condition(error)
    assert (answer.status, answer.fields["Condition"]) == (412, condition)


@pytest.mark.parametrize(
    "headers, current, code",
    [
        ({}, None, None),
        ({"if-none-match": "*"}, None, None),
        ({"if-none-match": "*"}, NOW, "PreconditionFailed"),
        ({"if-none-match": f'"{ETAG}"'}, NOW, "PreconditionFailed"),
        ({"if-none-match": '"other"'}, NOW, None),
        ({"if-none-match": '"other"'}, None, None),
        ({"if-match": f'"{ETAG}"'}, NOW, None),
        ({"if-match": '"other"'}, NOW, "PreconditionFailed"),
        ({"if-match": "*"}, NOW, None),
        ({"if-match": "*"}, None, "NoSuchKey"),
        ({"if-match": ETAG}, None, "NoSuchKey"),
    ],
)
def test_writing(headers: dict[str, str], current: Current | None, code: str | None) -> None:
    error = failed(write_conditions(headers), current)
    assert (None if error is None else failed_condition(error).code) == code


def test_most_requests_have_none() -> None:
    assert read_conditions({"host": "h"}) is write_conditions({"host": "h"}) is NO_CONDITIONS
    assert NO_CONDITIONS.checking("a") is None
