"""A write that is repeated with its Idempotency-Key is carried out once, and later changes at the path stay."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError


@contextmanager
def keyed(s3: Any, key: str) -> Iterator[None]:
    def add(params: dict[str, Any], **_: Any) -> None:
        params["headers"]["Idempotency-Key"] = key

    s3.meta.events.register("before-call.s3", add)
    try:
        yield
    finally:
        s3.meta.events.unregister("before-call.s3", add)


def body(s3: Any, bucket: str, key: str = "main/a") -> bytes | None:
    try:
        found: bytes = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return None
    return found


@pytest.mark.parametrize("size", [3, 300_000])
def test_a_put_is_done_once(size: int, s3: Any, bucket: str) -> None:
    with keyed(s3, "one"):
        first = s3.put_object(Bucket=bucket, Key="main/a", Body=b"1" * size, IfNoneMatch="*")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"1" * size, IfNoneMatch="*")
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"since")
    with keyed(s3, "one"):
        again = s3.put_object(Bucket=bucket, Key="main/a", Body=b"1" * size, IfNoneMatch="*")
        assert again["ETag"] == first["ETag"]
        for other in ({"Key": "main/b", "Body": b"1" * size}, {"Key": "main/a", "Body": b"other"}):
            with pytest.raises(ClientError, match="IdempotentParameterMismatch") as said:
                s3.put_object(Bucket=bucket, **other)
            assert said.value.response["ResponseMetadata"]["HTTPStatusCode"] == 422
    assert body(s3, bucket) == b"since"
    assert body(s3, bucket, "main/b") is None
    with keyed(s3, "no key"), pytest.raises(ClientError, match="InvalidArgument"):
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"x")


def test_deletes_and_copies_are_done_once(s3: Any, bucket: str) -> None:
    def put() -> None:
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"since")

    put()
    etag = s3.head_object(Bucket=bucket, Key="main/a")["ETag"]
    deletes: list[Callable[[], Any]] = [
        lambda: s3.delete_object(Bucket=bucket, Key="main/a"),
        lambda: s3.delete_object(Bucket=bucket, Key="main/a", IfMatch=etag),
        lambda: s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/a"}]}),
    ]
    for number, delete in enumerate(deletes):
        for expected in (None, b"since"):
            with keyed(s3, f"delete-{number}"):
                delete()
            assert body(s3, bucket) == expected
            put()
    source = {"Bucket": bucket, "Key": "main/a"}
    with keyed(s3, "copy"):
        s3.copy_object(Bucket=bucket, Key="main/copy", CopySource=source)
    s3.put_object(Bucket=bucket, Key="main/copy", Body=b"newer")
    with keyed(s3, "copy"):
        s3.copy_object(Bucket=bucket, Key="main/copy", CopySource=source)
    assert body(s3, bucket, "main/copy") == b"newer"
