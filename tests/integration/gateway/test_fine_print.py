"""Details of S3 that clients rely on."""

import socket
from base64 import b64encode
from contextlib import closing
from typing import Any

import pytest
from awscrt.checksums import XXHash, crc32

from tests.integration.gateway.test_boto3 import refused
from tests.integration.gateway.wire import Wire, signed
from tests.servers.lochan import LochanServer

MIB = 1 << 20


def crc32_of(data: bytes) -> str:
    return b64encode(crc32(data).to_bytes(4, "big")).decode()


def test_a_deletion_of_many_deletes_only_what_is_as_it_should_be(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="main/a", Body=b"old")["ETag"]
    modified = s3.head_object(Bucket=bucket, Key="main/a")["LastModified"]

    def delete(**options: Any) -> Any:
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/a", **options}]})
        return answer["Errors"][0]["Code"] if "Errors" in answer else answer["Deleted"][0]["Key"]

    assert delete(ETag='"0"') == "PreconditionFailed"
    assert delete(ETag=etag, Size=4) == "PreconditionFailed"
    assert delete(ETag=etag, LastModifiedTime=modified.replace(year=2020)) == "PreconditionFailed"
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"old"
    assert delete(ETag=etag, Size=3, LastModifiedTime=modified) == "main/a"
    assert delete(ETag=etag) == "NoSuchKey"


def test_a_single_deletion_takes_the_same_conditions(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"old")
    modified = s3.head_object(Bucket=bucket, Key="main/a")["LastModified"]
    key = {"Bucket": bucket, "Key": "main/a"}
    refused("PreconditionFailed", s3.delete_object, **key, IfMatchSize=4)
    refused("PreconditionFailed", s3.delete_object, **key, IfMatchLastModifiedTime=modified.replace(year=2020))
    s3.delete_object(**key, IfMatchSize=3, IfMatchLastModifiedTime=modified)
    refused("NoSuchKey", s3.get_object, **key)


def test_a_condition_that_cannot_be_read_deletes_nothing(server: LochanServer, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"x")
    for header in ({"x-amz-if-match-size": "big"}, {"x-amz-if-match-last-modified-time": "yesterday"}):
        with Wire(server.s3) as wire:
            answer = wire.ask(signed(server, "v4 header", "DELETE", f"/{bucket}/main/a", "", header, b""))
            assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"x"


def test_an_upload_with_a_composite_checksum_of_the_whole(s3: Any, bucket: str) -> None:
    key = {"Bucket": bucket, "Key": "main/a"}
    bodies = [b"a" * (5 * MIB), b"b"]
    upload = s3.create_multipart_upload(**key, ChecksumAlgorithm="CRC32")["UploadId"]
    parts = []
    for number, body in enumerate(bodies, 1):
        put = s3.upload_part(**key, UploadId=upload, PartNumber=number, Body=body, ChecksumAlgorithm="CRC32")
        parts.append({"PartNumber": number, "ETag": put["ETag"], "ChecksumCRC32": put["ChecksumCRC32"]})
    digests = b"".join(crc32(body).to_bytes(4, "big") for body in bodies)
    whole = f"{crc32_of(digests)}-2"
    done = {**key, "UploadId": upload, "MultipartUpload": {"Parts": parts}}
    refused("BadDigest", s3.complete_multipart_upload, **done, ChecksumCRC32=f"{crc32_of(b'other')}-2")
    refused("InvalidRequest", s3.complete_multipart_upload, **done, ChecksumCRC32C=whole)
    refused("InvalidRequest", s3.complete_multipart_upload, **done, MpuObjectSize=5 * MIB)
    for _ in range(2):  # repeated, it answers the same
        answer = s3.complete_multipart_upload(**done, ChecksumCRC32=whole, MpuObjectSize=5 * MIB + 1)
        assert (answer["ChecksumCRC32"], answer["ChecksumType"]) == (whole, "COMPOSITE")


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("XXHASH64", XXHash.compute_xxhash64),
        ("XXHASH3", XXHash.compute_xxhash3_64),
        ("XXHASH128", XXHash.compute_xxhash3_128),
    ],
)
def test_the_newer_checksums(server: LochanServer, s3: Any, bucket: str, name: str, digest: Any) -> None:
    path, header = f"/{bucket}/main/a", f"x-amz-checksum-{name.lower()}"
    good, bad = (b64encode(digest(body)).decode() for body in (b"body", b"other"))
    with Wire(server.s3) as wire:
        assert wire.ask(signed(server, "v4 header", "PUT", path, "", {header: bad}, b"body")).code == "BadDigest"
        put = wire.ask(signed(server, "v4 header", "PUT", path, "", {header: good}, b"body"))
        assert (put.status, put.headers[header]) == (200, good)
        head = wire.ask(signed(server, "v4 header", "HEAD", path, "", {"x-amz-checksum-mode": "ENABLED"}, b""))
        assert head.headers[header] == good


def test_a_copy_gets_the_checksum_it_asks_for(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"body", ChecksumAlgorithm="SHA256")
    source = {"Bucket": bucket, "Key": "main/a"}
    answer = s3.copy_object(Bucket=bucket, Key="main/b", CopySource=source, ChecksumAlgorithm="CRC32")
    assert answer["CopyObjectResult"]["ChecksumCRC32"] == crc32_of(b"body")
    head = s3.head_object(Bucket=bucket, Key="main/b", ChecksumMode="ENABLED")
    assert head["ChecksumCRC32"] == crc32_of(b"body")
    refused("InvalidRequest", s3.copy_object, Bucket=bucket, Key="main/c", CopySource=source, ChecksumAlgorithm="NONE")


@pytest.mark.parametrize("name", ["x-amz-meta-owner", "Cache-Control"])
@pytest.mark.parametrize("size", [1, 2 * MIB])
def test_a_header_that_is_not_ascii_is_refused(
    server: LochanServer, s3: Any, bucket: str, name: str, size: int
) -> None:
    """No object is stored without its metadata: signed or not, on the fast path or the general one."""
    for _ in range(2):  # the second request of a client is known by its plan
        with Wire(server.s3) as wire:
            sent = signed(server, "v4 header", "PUT", f"/{bucket}/main/a", "", {}, b"x" * size)
            answer = wire.ask(sent.adding(name, "café"))
            assert (answer.status, answer.code) == (400, "InvalidArgument")
            assert name.lower() in answer.body.decode()
    refused("NoSuchKey", s3.get_object, Bucket=bucket, Key="main/a")


def test_a_range_of_another_object_is_answered_with_the_whole(s3: Any, bucket: str, server: LochanServer) -> None:
    etag = s3.put_object(Bucket=bucket, Key="main/a", Body=b"0123456789")["ETag"]
    modified = s3.get_object(Bucket=bucket, Key="main/a")["ResponseMetadata"]["HTTPHeaders"]["last-modified"]
    with Wire(server.s3) as wire:
        for value, status in ((etag, 206), (modified, 206), ('"0"', 200), ("Mon, 01 Jan 2001 00:00:00 GMT", 200)):
            headers = {"Range": "bytes=2-3", "If-Range": value}
            answer = wire.ask(signed(server, "v4 header", "GET", f"/{bucket}/main/a", "", headers, b""))
            assert (answer.status, answer.body) == (status, b"23" if status == 206 else b"0123456789"), value


def test_several_codings_keep_their_spaces(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"x", ContentEncoding="gzip, br")
    assert s3.head_object(Bucket=bucket, Key="main/a")["ContentEncoding"] == "gzip, br"


def test_a_preflight_request_allows_no_other_site(server: LochanServer, bucket: str) -> None:
    host, _, port = server.s3.rpartition(":")
    with socket.create_connection((host, int(port))) as raw:
        ask = f"OPTIONS /{bucket}/main/a HTTP/1.1\r\nHost: x\r\n"
        raw.sendall(f"{ask}\r\n".encode())
        assert raw.recv(4096).startswith(b"HTTP/1.1 400")
        raw.sendall(f"{ask}Origin: http://a.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n".encode())
        answer = raw.recv(4096)
        assert answer.startswith(b"HTTP/1.1 403") and b"AccessForbidden" in answer


def test_a_refusal_names_the_region(server: LochanServer, bucket: str) -> None:
    with closing(server.boto3(secret="another")) as s3:
        answer = refused("SignatureDoesNotMatch", s3.list_objects_v2, Bucket=bucket)
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-amz-bucket-region"] == "us-east-1"


def test_a_bucket_does_not_end_with_a_dash(server: LochanServer) -> None:
    with closing(server.boto3(flat=True)) as s3:
        refused("InvalidBucketName", s3.create_bucket, Bucket="ends-with-")


def test_an_upload_on_a_branch_that_is_gone(server: LochanServer, s3: Any, bucket: str) -> None:
    server.lochan("branch", "create", f"{bucket}@dev")
    key = {"Bucket": bucket, "Key": "dev/a"}
    upload = s3.create_multipart_upload(**key)["UploadId"]
    etag = s3.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"x")["ETag"]
    server.lochan("branch", "delete", f"{bucket}@dev")
    part = {"UploadId": upload, "MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": etag}]}}
    refused("NoSuchUpload", s3.upload_part, **key, UploadId=upload, PartNumber=2, Body=b"y")
    refused("NoSuchUpload", s3.list_parts, **key, UploadId=upload)
    refused("NoSuchUpload", s3.complete_multipart_upload, **key, **part)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
    s3.abort_multipart_upload(**key, UploadId=upload)


@pytest.mark.parametrize("number", [0, 10_001])
def test_a_part_number_that_is_none(s3: Any, bucket: str, number: int) -> None:
    key = {"Bucket": bucket, "Key": "main/a"}
    upload = s3.create_multipart_upload(**key)["UploadId"]
    answer = refused("InvalidArgument", s3.upload_part, **key, UploadId=upload, PartNumber=number, Body=b"x")
    assert answer["Error"]["Message"] == "Part number must be an integer between 1 and 10000, inclusive"
