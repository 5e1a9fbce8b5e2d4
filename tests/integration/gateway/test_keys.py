"""Keys of a repository through the gateway: kept byte for byte, or refused in the same way everywhere."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, unquote

import pytest
import urllib3
from botocore.exceptions import ClientError

from tests.integration.gateway.test_boto3 import keys, refused
from tests.integration.gateway.wire import FORMS, Wire, signed
from tests.integration.test_keys_everywhere import KEPT
from tests.servers.lochan import LochanServer

MORE = {"a query": "a?versionId=1", "marks of XML": "a&<>\"'b", "a device": "con", "many folders": "a/" * 512}
ALL = KEPT | MORE
IN_XML = {name: key for name, key in ALL.items() if not any(letter < " " and letter not in "\t\n\r" for letter in key)}
LONG = "k" * 1_025


@pytest.fixture
def flat(server: LochanServer) -> Iterator[Any]:
    """The flat listener, where a key is only a path."""
    with closing(server.boto3(flat=True)) as client:
        yield client


def test_all_keys_side_by_side(flat: Any, s3: Any, bucket: str) -> None:
    expected = sorted(ALL.values(), key=str.encode)
    for key in expected:
        flat.put_object(Bucket=bucket, Key=key, Body=key.encode())
    for operation, name in (
        ("list_objects_v2", "Contents"),
        ("list_objects", "Contents"),
        ("list_object_versions", "Versions"),
    ):
        pages = flat.get_paginator(operation).paginate(Bucket=bucket, PaginationConfig={"PageSize": 7})
        assert [each["Key"] for page in pages for each in page.get(name, [])] == expected, operation
    for key in expected:
        assert flat.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode(), key
        assert key in keys(flat.list_objects_v2(Bucket=bucket, Prefix=key)), key
        if len(key.encode()) <= 1_019:
            assert s3.get_object(Bucket=bucket, Key=f"main/{key}")["Body"].read() == key.encode(), key
    folded = flat.list_objects_v2(Bucket=bucket, Delimiter="/")
    tops = {key.partition("/")[0] + "/" for key in expected if "/" in key}
    assert [each["Prefix"] for each in folded["CommonPrefixes"]] == sorted(tops, key=str.encode)
    assert keys(folded) == [key for key in expected if "/" not in key]


@pytest.mark.parametrize("key", ALL.values(), ids=ALL.keys())
def test_a_key_is_kept_by_every_operation(flat: Any, bucket: str, key: str) -> None:
    at = {"Bucket": bucket, "Key": key}
    etag = flat.put_object(**at, Body=b"one", IfNoneMatch="*")["ETag"]
    refused("PreconditionFailed", flat.put_object, **at, Body=b"two", IfNoneMatch="*")
    assert flat.head_object(**at)["ETag"] == etag
    assert flat.get_object_attributes(**at, ObjectAttributes=["ObjectSize"])["ObjectSize"] == 3
    flat.copy_object(Bucket=bucket, Key="plain", CopySource=at)
    flat.delete_object(**at)
    refused("NoSuchKey", flat.get_object, **at)
    flat.copy_object(**at, CopySource={"Bucket": bucket, "Key": "plain"})
    assert flat.get_object(**at)["Body"].read() == b"one"
    link = flat.generate_presigned_url("get_object", at)
    answer = urllib3.request("GET", link)
    assert answer.data == b"one" or any(part in (".", "..") for part in key.split("/"))  # urllib3 folds those itself
    upload = flat.create_multipart_upload(**at)["UploadId"]
    part = {"PartNumber": 1, "ETag": flat.upload_part(**at, UploadId=upload, PartNumber=1, Body=b"part")["ETag"]}
    listed = flat.list_multipart_uploads(Bucket=bucket, EncodingType="url")["Uploads"]
    assert [unquote(each["Key"]) for each in listed] == [key]
    assert flat.list_parts(**at, UploadId=upload)["Parts"][0]["Size"] == 4
    flat.complete_multipart_upload(**at, UploadId=upload, MultipartUpload={"Parts": [part]})
    assert flat.get_object(**at)["Body"].read() == b"part"
    if key in IN_XML.values():
        deleted = flat.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}, {"Key": "plain"}]})
        assert [each["Key"] for each in deleted["Deleted"]] == [key, "plain"]
        assert keys(flat.list_objects_v2(Bucket=bucket)) == []


@pytest.mark.parametrize(
    "key, code",
    [
        pytest.param(LONG, "KeyTooLongError", id="1,025 bytes"),
        pytest.param("é" * 512 + "k", "KeyTooLongError", id="1,025 bytes of two each"),
        pytest.param("a\0b", "InvalidArgument", id="NUL"),
    ],
)
def test_a_key_is_refused_by_every_operation(flat: Any, bucket: str, key: str, code: str) -> None:
    flat.put_object(Bucket=bucket, Key="there", Body=b"x")
    at, there = {"Bucket": bucket, "Key": key}, {"Bucket": bucket, "Key": "there"}
    operations: dict[str, Callable[[], Any]] = {
        "put": lambda: flat.put_object(**at, Body=b"x"),
        "get": lambda: flat.get_object(**at),
        "attributes": lambda: flat.get_object_attributes(**at, ObjectAttributes=["ETag"]),
        "delete": lambda: flat.delete_object(**at),
        "copy to": lambda: flat.copy_object(**at, CopySource=there),
        "copy from": lambda: flat.copy_object(Bucket=bucket, Key="new", CopySource=at),
        "upload": lambda: flat.create_multipart_upload(**at),
    }
    for name, operation in operations.items():
        with pytest.raises(ClientError) as caught:
            operation()
        answer = caught.value.response
        assert (answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]) == (code, 400), name
    with pytest.raises(ClientError) as caught:
        flat.head_object(**at)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    if "\0" not in key:
        told = flat.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
        assert [each["Code"] for each in told["Errors"]] == [code]
    assert keys(flat.list_objects_v2(Bucket=bucket)) == ["there"]


@pytest.mark.parametrize("escape", ["%FF", "%ED%A0%80", "%C0%AE", "%E9"], ids=str)
def test_keys_that_are_not_utf8_are_refused(server: LochanServer, bucket: str, escape: str) -> None:
    with Wire(server.s3) as wire:
        for method in ("PUT", "GET", "DELETE"):
            for form in FORMS:
                answer = wire.ask(signed(server, form, method, f"/{bucket}/main/a{escape}b", "", {}, b""))
                assert (answer.status, answer.code) == (400, "InvalidURI"), (method, form, answer)
        there = signed(server, "v4 header", "PUT", f"/{bucket}/main/%EF%BF%BD", "", {}, b"x")
        assert wire.ask(there).status == 200  # that letter itself is one as others are
        answer = wire.ask(signed(server, "v4 header", "GET", f"/{bucket}/main/{escape}", key="NOBODYSKEY0000000001"))
        assert answer.code == "InvalidAccessKeyId"


def meta(size: int) -> dict[str, str]:
    """Names and values count."""
    return {"a": "x" * (size - 1)}


def test_metadata_has_two_kilobytes(s3: Any, bucket: str) -> None:
    at = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**at, Body=b"", Metadata=meta(2_048))
    assert s3.head_object(**at)["Metadata"] == meta(2_048)
    refused("MetadataTooLarge", s3.put_object, **at, Body=b"", Metadata=meta(2_049))
    refused("MetadataTooLarge", s3.create_multipart_upload, **at, Metadata=meta(2_049))
    refused(
        "MetadataTooLarge",
        s3.copy_object,
        **at,
        CopySource=f"{bucket}/main/a",
        MetadataDirective="REPLACE",
        Metadata=meta(2_049),
    )
    many = {f"n{number}": "" for number in range(80)}
    s3.put_object(**at, Body=b"", Metadata=many)
    assert s3.head_object(**at)["Metadata"] == many


def test_metadata_outside_ascii(server: LochanServer, s3: Any, bucket: str) -> None:
    """Over the wire it is refused; what the command line wrote goes out encoded, as S3 does it."""
    from email.header import decode_header, make_header

    headers = {"x-amz-meta-name": "caf\u00e9 \u6f22".encode().decode("latin-1")}
    with Wire(server.s3) as wire:
        answer = wire.ask(signed(server, "v2 header", "PUT", f"/{bucket}/main/a", "", headers, b""))
        assert (answer.status, answer.code) == (400, "InvalidArgument")
    server.lochan("fs", "upload", "-", f"{bucket}@main/a", "--metadata", "name=caf\u00e9 \u6f22", stdin=b"x")
    told = s3.head_object(Bucket=bucket, Key="main/a")["Metadata"]["name"]
    assert str(make_header(decode_header(told))) == "caf\u00e9 \u6f22"


def test_what_others_wrote_cannot_break_an_answer(server: LochanServer, s3: Any, bucket: str) -> None:
    """Metadata of the command line, of a form, and in a query: no line break of theirs becomes one of a header."""
    server.lochan("fs", "upload", "-", f"{bucket}@main/a", "--metadata", "note=a\r\nX-Evil: 1", stdin=b"x")
    head = s3.head_object(Bucket=bucket, Key="main/a")
    assert "x-evil" not in head["ResponseMetadata"]["HTTPHeaders"]
    for value in ("a\r\nX-Evil: 1", "a\0b"):
        made = s3.generate_presigned_post(
            bucket, "main/form", Fields={"x-amz-meta-a": value}, Conditions=[{"x-amz-meta-a": value}]
        )
        form = [*made["fields"].items(), ("file", ("f", b"x", "x/y"))]
        answer = urllib3.request("POST", made["url"], fields=form)
        assert answer.status == 400, answer.data
    for name in ("ResponseContentType", "ResponseContentDisposition", "ResponseExpires"):
        link = s3.generate_presigned_url(
            "get_object",
            {"Bucket": bucket, "Key": "main/a", name: "a\r\nX-Evil: 1" if name != "ResponseExpires" else 0},
        )
        if name != "ResponseExpires":
            answer = urllib3.request("GET", link)
            # By default boto3 signs links by version 2, which cannot cover a line break.
            assert (answer.status, "x-evil" in answer.headers) == (403, False), answer.headers
    link = s3.generate_presigned_url(
        "get_object", {"Bucket": bucket, "Key": "main/a", "ResponseContentDisposition": 'attachment; filename="ü"'}
    )
    assert urllib3.request("GET", link).status == 200


@pytest.mark.parametrize(
    "name", ["ab", "a" * 64, "UPPER", "-start", "with_line", "with.dots", "a b", "..", "a" * 300, "ü" * 5, "%00abc"]
)
def test_names_that_no_bucket_has(server: LochanServer, name: str) -> None:
    with Wire(server.s3) as wire:
        path = "/" + quote(name)
        answer = wire.ask(signed(server, "v4 header", "PUT", path))
        assert (answer.status, answer.code) == (400, "InvalidBucketName"), answer
        answer = wire.ask(signed(server, "v4 header", "GET", path, "list-type=2"))
        assert answer.code in ("InvalidBucketName", "NoSuchBucket"), answer


@pytest.mark.parametrize(
    "ref", ["no-such", "main~99", "@", "$", "~1", "main^", "0" * 64, "main@{x}", "-", "", "x" * 300]
)
def test_refs_that_there_are_none_of(server: LochanServer, bucket: str, ref: str) -> None:
    with Wire(server.s3) as wire:
        for method in ("GET", "PUT", "DELETE"):
            body = b"x" if method == "PUT" else b""
            answer = wire.ask(signed(server, "v4 header", method, f"/{bucket}/{quote(ref)}/a", "", {}, body))
            assert answer.status in (204, 400, 403, 404), (method, answer)
            assert answer.status != 204 or method == "DELETE"
