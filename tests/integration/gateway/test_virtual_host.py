"""Buckets in the host name, as boto3 addresses them: `bucket.objects.example/key`."""

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import urllib3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.servers.lochan import LochanServer, lochan_server

DOMAIN = "objects.example"


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    """A server that knows its name, which every name below it leads to."""
    real = socket.getaddrinfo

    def resolve(host: Any, *rest: Any, **named: Any) -> Any:
        return real("127.0.0.1" if str(host).endswith(DOMAIN) else host, *rest, **named)

    lake = tmp_path_factory.mktemp("named") / "lake"
    with (
        pytest.MonkeyPatch.context() as patched,
        lochan_server(
            lake, env={"LOCHAN_GATEWAYS__S3__DOMAIN": DOMAIN, "LOCHAN_GATEWAYS__S3__SIGNATURE_V2": "true"}
        ) as it,
    ):
        patched.setattr(socket, "getaddrinfo", resolve)
        yield it


def client(server: LochanServer, address: str, version: str = "s3v4") -> Any:
    port = address.rpartition(":")[2]
    return boto3.client(
        "s3",
        endpoint_url=f"http://{DOMAIN}:{port}",
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "virtual"}, signature_version=version, retries={"max_attempts": 1}),
    )


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_a_bucket_in_the_host_name(named: LochanServer, version: str) -> None:
    bucket = f"virtual-{version}"
    hosts = []
    with closing(client(named, named.s3, version)) as s3:
        s3.meta.events.register("before-send.s3", lambda request, **_: hosts.append(urlsplit(request.url).hostname))
        s3.create_bucket(Bucket=bucket)
        assert bucket in [each["Name"] for each in s3.list_buckets()["Buckets"]]
        for key in ("main/a", "main/a b/ü+%2F", "main//x/..y"):
            s3.put_object(Bucket=bucket, Key=key, Body=key.encode(), Metadata={"k": "v"})
            found = s3.get_object(Bucket=bucket, Key=key)
            assert (found["Body"].read(), found["Metadata"]) == (key.encode(), {"k": "v"})
            link = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key})
            assert f"//{bucket}.{DOMAIN}:" in link
            assert urllib3.request("GET", link).data == key.encode()
        assert len(s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]) == 3
        s3.copy_object(Bucket=bucket, Key="main/copy", CopySource={"Bucket": bucket, "Key": "main/a b/ü+%2F"})
        upload = s3.create_multipart_upload(Bucket=bucket, Key="main/parts")["UploadId"]
        part = s3.upload_part(Bucket=bucket, Key="main/parts", UploadId=upload, PartNumber=1, Body=b"x")
        parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
        s3.complete_multipart_upload(Bucket=bucket, Key="main/parts", UploadId=upload, MultipartUpload=parts)
        every = [{"Key": each["Key"]} for each in s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]]
        assert len(every) == 5
        assert "Errors" not in s3.delete_objects(Bucket=bucket, Delete={"Objects": every})
        with pytest.raises(ClientError, match="NoSuchKey"):
            s3.get_object(Bucket=bucket, Key="main/a")
        s3.delete_bucket(Bucket=bucket)
        with pytest.raises(ClientError, match="NoSuchBucket"):
            s3.list_objects_v2(Bucket=bucket)
    assert set(hosts) == {f"{bucket}.{DOMAIN}", DOMAIN} and hosts.count(DOMAIN) == 1, hosts  # the one: ListBuckets


def test_a_form_posted_to_a_bucket_in_the_host_name(named: LochanServer) -> None:
    with closing(client(named, named.s3)) as s3:
        s3.create_bucket(Bucket="virtual-form")
        form = s3.generate_presigned_post("virtual-form", "main/${filename}")
        assert form["url"].startswith(f"http://virtual-form.{DOMAIN}:")
        answer = urllib3.request("POST", form["url"], fields={**form["fields"], "file": ("a.csv", b"1,2")})
        assert (answer.status, answer.headers["location"]) == (204, f"{form['url']}main/a.csv")
        assert s3.get_object(Bucket="virtual-form", Key="main/a.csv")["Body"].read() == b"1,2"


def test_a_bucket_with_dots_in_the_host_name(named: LochanServer) -> None:
    with closing(client(named, named.flat)) as s3:
        s3.create_bucket(Bucket="virtual.dotted.name")
        s3.put_object(Bucket="virtual.dotted.name", Key="a", Body=b"x")
        assert s3.get_object(Bucket="virtual.dotted.name", Key="a")["Body"].read() == b"x"
        s3.delete_object(Bucket="virtual.dotted.name", Key="a")
        s3.delete_bucket(Bucket="virtual.dotted.name")


def test_a_bucket_that_is_not_there(named: LochanServer) -> None:
    with closing(client(named, named.s3)) as s3, pytest.raises(ClientError, match="NoSuchBucket"):
        s3.get_object(Bucket="no-such-bucket", Key="main/a")
