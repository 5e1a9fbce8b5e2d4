"""Requests that the gateway cannot fulfil are refused with S3's errors, and never taken for something else."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.gateway.test_boto3 import keys, refused
from tests.integration.gateway.wire import Wire, signed
from tests.servers.lochan import LochanServer


@pytest.mark.parametrize(
    "arguments",
    [
        {"ServerSideEncryption": "AES256"},
        {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "a"},
        {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32},
        {"ObjectLockLegalHoldStatus": "ON"},
        {"WriteOffsetBytes": 4},
    ],
    ids=lambda arguments: next(iter(arguments)),
)
def test_a_promise_that_would_not_be_kept(s3: Any, bucket: str, arguments: dict[str, Any]) -> None:
    at = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**at, Body=b"kept")
    refused("NotImplemented", s3.put_object, **at, Body=b"more", **arguments)
    if "WriteOffsetBytes" not in arguments:
        refused("NotImplemented", s3.create_multipart_upload, **at, **arguments)
        refused(
            "NotImplemented",
            s3.copy_object,
            **at,
            CopySource=f"{bucket}/main/a",
            MetadataDirective="REPLACE",
            **arguments,
        )
    assert s3.get_object(**at)["Body"].read() == b"kept"


def test_what_changes_nothing_here_is_let_be(s3: Any, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(
        **at, Body=b"x", ACL="private", StorageClass="STANDARD_IA", Tagging="a=b", ObjectLockLegalHoldStatus="OFF"
    )
    s3.create_bucket(Bucket=f"{bucket}-unlocked", ObjectLockEnabledForBucket=False)
    refused("NotImplemented", s3.create_bucket, Bucket=f"{bucket}-locked", ObjectLockEnabledForBucket=True)


def test_of_every_object_there_is_one_version(s3: Any, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**at, Body=b"x")
    assert s3.get_object(**at, VersionId="null")["Body"].read() == b"x"
    refused("NoSuchVersion", s3.get_object, **at, VersionId="another")
    refused("404", s3.head_object, **at, VersionId="another")
    refused("NoSuchVersion", s3.delete_object, **at, VersionId="another")
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/a"], "it is still there"
    s3.delete_object(**at, VersionId="null")
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == []


@pytest.mark.parametrize(
    "method, path, query, code",
    [
        ("PUT", "", "versioning=", "NotImplemented"),
        ("DELETE", "", "versioning=", "NotImplemented"),
        ("DELETE", "", "location=", "MethodNotAllowed"),
        ("DELETE", "", "uploads=", "MethodNotAllowed"),
        ("PUT", "", "uploads=", "MethodNotAllowed"),
        ("PUT", "", "session=", "NotImplemented"),
        ("GET", "", "session=", "NotImplemented"),
        ("GET", "", "delete=", "MethodNotAllowed"),
        ("PUT", "/main/a", "uploads=", "MethodNotAllowed"),
        ("PUT", "/main/a", "attributes=", "MethodNotAllowed"),
        ("PUT", "/main/a", "partNumber=1", "InvalidArgument"),
        ("DELETE", "/main/a", "uploads=", "MethodNotAllowed"),
        ("DELETE", "/main/a", "attributes=", "MethodNotAllowed"),
    ],
)
def test_one_operation_is_not_taken_for_another(
    server: LochanServer, s3: Any, bucket: str, method: str, path: str, query: str, code: str
) -> None:
    before = [each["Name"] for each in s3.list_buckets()["Buckets"]]
    with Wire(server.s3) as wire:
        answer = wire.ask(signed(server, "v4 header", method, quote(f"/{bucket}{path}"), query))
        assert answer.code == code, answer
    assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == before
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == []


def test_a_part_or_a_range(s3: Any, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**at, Body=b"0123456789")
    refused("InvalidRequest", s3.get_object, **at, PartNumber=1, Range="bytes=0-1")
    refused("416", s3.head_object, **at, PartNumber=2)


def test_open_uploads_are_paged_without_a_gap(s3: Any, bucket: str) -> None:
    """Opened within one second, their ids are in another order than they were opened in."""
    at = {"Bucket": bucket, "Key": "main/a"}
    every = {s3.create_multipart_upload(**at)["UploadId"] for _ in range(8)}
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1})
    found = [each["UploadId"] for page in pages for each in page.get("Uploads", [])]
    assert (len(found), set(found)) == (8, every)
