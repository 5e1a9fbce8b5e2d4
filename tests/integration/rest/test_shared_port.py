"""S3 and the API on one port: clients that are given a single address use both."""

import http.client
import json
import urllib.request
from contextlib import closing
from dataclasses import replace

import pytest

from tests.integration.api.client import Client
from tests.integration.rest.test_lakefs_clients import play
from tests.servers.lochan import LochanServer


@pytest.fixture(scope="module")
def shared(server: LochanServer) -> LochanServer:
    server.lochan("repo", "create", "shared")
    return replace(server, s3=server.api)


def test_objects_in_and_out(shared: LochanServer) -> None:
    body = bytes(range(256)) * 40_000
    with closing(shared.boto3()) as client:
        client.put_object(Bucket="shared", Key="main/a/large.bin", Body=body, Metadata={"k": "v"})
        client.put_object(Bucket="shared", Key="main/a/small.txt", Body=b"small")
        found = client.get_object(Bucket="shared", Key="main/a/large.bin")
        assert (found["Body"].read() == body, found["Metadata"]) == (True, {"k": "v"})
        assert client.get_object(Bucket="shared", Key="main/a/large.bin", Range="bytes=255-256")["Body"].read() == (
            b"\xff\x00"
        )
        assert client.head_object(Bucket="shared", Key="main/a/small.txt")["ContentLength"] == 5
        listed = client.list_objects_v2(Bucket="shared", Prefix="main/a/")["Contents"]
        assert [each["Key"] for each in listed] == ["main/a/large.bin", "main/a/small.txt"]
        with pytest.raises(client.exceptions.NoSuchKey):
            client.get_object(Bucket="shared", Key="main/none")


def test_a_presigned_address(shared: LochanServer) -> None:
    with closing(shared.boto3(signature_version="s3v4")) as client:
        client.put_object(Bucket="shared", Key="main/one two+é.txt", Body=b"here")
        target = {"Bucket": "shared", "Key": "main/one two+é.txt"}
        with urllib.request.urlopen(client.generate_presigned_url("get_object", target, 60)) as answer:
            assert answer.read() == b"here"


def test_a_wrong_signature_is_answered_as_s3_does(shared: LochanServer) -> None:
    with closing(shared.boto3(secret="wrong")) as client, pytest.raises(Exception, match="SignatureDoesNotMatch"):
        client.get_object(Bucket="shared", Key="main/a/small.txt")


@pytest.mark.parametrize("path, status", [("/", 200), ("/shared/main/a", 404), ("/nothing?list-type=2", 404)])
def test_nothing_outside_the_api_answers_json(shared: LochanServer, path: str, status: int) -> None:
    answer = Client(shared.api, "", "").ask("GET", path)
    assert answer.status == status
    assert not answer.headers["content-type"].startswith("application/json")


def test_the_api_is_still_there(shared: LochanServer, admin: Client) -> None:
    found = admin.ask("GET", "/api/v1/repositories/shared/refs/main/objects/ls?prefix=a/")
    assert [each["path"] for each in json.loads(found.body)["results"]] == ["a/large.bin", "a/small.txt"]


def test_a_body_is_left_unread_by_a_refusal(shared: LochanServer) -> None:
    connection = http.client.HTTPConnection(shared.api, timeout=30)
    with closing(connection):
        headers = {"authorization": "AWS4-HMAC-SHA256 nonsense", "content-length": "5"}
        connection.request("PUT", "/shared/main/x", b"12345", headers)
        answer = connection.getresponse()
        assert (answer.status, b"<Code>" in answer.read()) == (400, True)


def test_delta_tables(shared: LochanServer) -> None:
    shared.lochan("repo", "create", "tables")
    play("run_deltalake.py", shared, "lakefs://tables/main/tables/t", client="deltalake")
    assert shared.lochan("log", "tables").count("table: tables/t/") >= 3  # each write was a branch, merged at its end


PAGES = (
    "text/html",
    "image/svg+xml",
    "application/xhtml+xml; charset=utf-8",
    "text/xml",
    "unknown/unknown",
    "TEXT/HTML",
)


@pytest.mark.parametrize("kind", PAGES)
def test_an_object_that_is_a_page_runs_no_script_where_the_web_page_is(shared: LochanServer, kind: str) -> None:
    """A link to it is of the same origin as the page, whose cookie the browser sends along."""
    with closing(shared.boto3(signature_version="s3v4")) as client:
        target = {"Bucket": "shared", "Key": "main/evil.txt"}
        client.put_object(**target, Body=b"<script>steal()</script>", ContentType=kind)
        with urllib.request.urlopen(client.generate_presigned_url("get_object", target, 60)) as answer:
            assert answer.headers["content-security-policy"] == "sandbox"
            assert answer.headers["x-content-type-options"] == "nosniff"
        client.put_object(**target, Body=b"<script>steal()</script>", ContentType="text/plain")
        asked = {**target, "ResponseContentType": kind}
        with urllib.request.urlopen(client.generate_presigned_url("get_object", asked, 60)) as answer:
            assert answer.headers["content-type"] == kind
            assert answer.headers["content-security-policy"] == "sandbox"


@pytest.mark.parametrize("kind", ["text/plain", "image/png", "application/pdf", "application/octet-stream"])
def test_what_runs_nothing_is_shown_as_ever(shared: LochanServer, kind: str) -> None:
    with closing(shared.boto3(signature_version="s3v4")) as client:
        target = {"Bucket": "shared", "Key": "main/still"}
        client.put_object(**target, Body=b"x", ContentType=kind)
        with urllib.request.urlopen(client.generate_presigned_url("get_object", target, 60)) as answer:
            assert "content-security-policy" not in answer.headers
            assert answer.headers["x-content-type-options"] == "nosniff"
