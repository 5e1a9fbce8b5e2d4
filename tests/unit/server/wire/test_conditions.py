"""Conditions: S3's table of precedence, for reads, copies and writes."""

import pytest

from lochan.server.gateway.wire.conditions import COPY_PREFIX, NONE, Conditions, Current, conditions
from lochan.server.gateway.wire.dates import http_date
from lochan.server.gateway.wire.errors import S3Error

ETAG = "5d41402abc4b2a76b9719d911017c592"
AT = 1_700_000_000
NOW = Current(ETAG, AT)
BEFORE, SAME, AFTER = (http_date(AT + off) for off in (-1, 0, 1))


def outcome(headers: dict[str, str]) -> int:
    try:
        conditions(headers).check_read(NOW)
    except S3Error as error:
        return error.status
    return 200


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


def test_a_304_has_the_tag_and_no_body() -> None:
    with pytest.raises(S3Error) as caught:
        conditions({"if-none-match": "*"}).check_read(NOW)
    assert caught.value.headers == {"etag": f'"{ETAG}"'} and not caught.value.has_body


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
    found = conditions({COPY_PREFIX + name: value for name, value in headers.items()}, COPY_PREFIX)
    if condition is None:
        found.check_copy(NOW)
        return
    with pytest.raises(S3Error) as caught:
        found.check_copy(NOW)
    assert (caught.value.status, caught.value.fields["Condition"]) == (412, condition)


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
    if code is None:
        conditions(headers).check_write(current)
        return
    with pytest.raises(S3Error) as caught:
        conditions(headers).check_write(current)
    assert caught.value.code == code


def test_most_requests_have_none() -> None:
    assert conditions({"host": "h"}) is NONE
    assert Conditions() == NONE
