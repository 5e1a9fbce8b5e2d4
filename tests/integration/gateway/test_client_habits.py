"""Habits of clients that S3 tolerates and that once broke the gateway, reproduced with boto3."""

from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.integration.gateway.trees import objects
from tests.servers.lochan import LochanServer


def test_the_root_of_a_ref_is_a_folder(server: LochanServer, s3: Any, bucket: str) -> None:
    """pyarrow and S3A make every folder on the way to a file, and delete the markers of those that are not empty."""
    root = {"Bucket": bucket, "Key": "main/"}
    assert s3.put_object(**root)["ETag"] == '"d41d8cd98f00b204e9800998ecf8427e"'
    s3.put_object(**root, Body=b"", ContentType="application/x-directory")
    head = s3.head_object(**root)
    assert (head["ContentLength"], head["ContentType"]) == (0, "application/x-directory")
    assert s3.get_object(**root)["Body"].read() == b""
    assert objects(s3, bucket, "main/") == {}  # nothing is stored of it
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"1")
    s3.delete_object(**root)
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/"}, {"Key": "main/a"}]})
    assert [each["Key"] for each in answer["Deleted"]] == ["main/", "main/a"]
    assert s3.head_object(**root)["ContentLength"] == 0
    with pytest.raises(ClientError, match=r"InvalidArgument.*has no path after"):
        s3.put_object(**root, Body=b"bytes")
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.put_object(Bucket=bucket, Key="main", Body=b"")
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket=bucket, Key="nowhere/")
    server.lochan("tag", "create", f"{bucket}@v1")
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.put_object(Bucket=bucket, Key="v1/")
    assert s3.head_object(Bucket=bucket, Key="v1/")["ContentLength"] == 0


def test_an_empty_body_that_waits_to_be_asked_for(server: LochanServer, s3: Any, bucket: str) -> None:
    """Files are sent with `Expect: 100-continue`, and nobody asks for an empty one. botocore before 1.44 then misreads
    the next answer on the same connection, so there must be none."""
    url = s3.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "main/a"}, ExpiresIn=60)
    path = url.removeprefix(server.endpoint)
    for headers, closes in (({"Expect": "100-continue"}, True), ({}, False)):
        with closing(HTTPConnection(server.s3)) as connection:
            connection.request("PUT", path, headers={"Content-Length": "0", **headers})
            answer = connection.getresponse()
            assert (answer.status, answer.read(), answer.will_close) == (200, b"", closes)


def test_folders_are_objects_with_a_slash_at_the_end(server: LochanServer, s3: Any, bucket: str) -> None:
    for key in ("main/a/", "main/a/b/", "main/a/b/file"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/a/", Delimiter="/")
    assert [each["Key"] for each in listed["Contents"]] == ["main/a/"]
    assert [each["Prefix"] for each in listed["CommonPrefixes"]] == ["main/a/b/"]
    assert s3.head_object(Bucket=bucket, Key="main/a/b/")["ContentLength"] == 0
    s3.delete_object(Bucket=bucket, Key="main/a/")
    assert sorted(objects(s3, bucket, "main/")) == ["a/b/", "a/b/file"]
