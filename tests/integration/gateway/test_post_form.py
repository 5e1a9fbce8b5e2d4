"""Uploads by a form: botocore signs the policy, a plain HTTP client sends the form."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import urllib3

from tests.integration.gateway.test_boto3 import BIG, keys
from tests.servers.lochan import LochanServer

FILE = ("cat.txt", b"a file of a browser", "text/plain")


def post(url: str, fields: Any, file: Any = FILE, headers: dict[str, str] | None = None) -> Any:
    """The file last, as a browser sends it."""
    form = [*(fields.items() if isinstance(fields, dict) else fields), *([("file", file)] if file else [])]
    return urllib3.request("POST", url, fields=form, headers=headers, redirect=False, retries=False)


def code(answer: Any) -> str:
    return str(answer.data.partition(b"<Code>")[2].partition(b"</Code>")[0].decode())


@pytest.fixture(params=["s3v4", "s3"])
def s3(request: pytest.FixtureRequest, server: LochanServer) -> Iterator[Any]:
    """Left to itself botocore signs forms in the older way here."""
    with closing(server.boto3(signature_version=request.param)) as client:
        yield client


@pytest.fixture
def s3v4(server: LochanServer) -> Iterator[Any]:
    with closing(server.boto3(signature_version="s3v4")) as client:
        yield client


def test_a_form_is_an_object(s3: Any, bucket: str) -> None:
    told = {"Content-Type": "text/csv", "Cache-Control": "no-cache", "x-amz-meta-owner": "ada"}
    made = s3.generate_presigned_post(
        bucket, "main/in/${filename}", Fields=told, Conditions=[{name: value} for name, value in told.items()]
    )
    answer = post(made["url"], made["fields"], ("C:\\pictures\\cat.txt", b"bytes", "text/plain"))
    assert answer.status == 204, answer.data
    assert answer.headers["etag"] == '"' + hashlib.md5(b"bytes").hexdigest() + '"'
    assert answer.headers["location"].endswith(f"/{bucket}/main/in/cat.txt")
    got = s3.get_object(Bucket=bucket, Key="main/in/cat.txt")
    assert got["Body"].read() == b"bytes"
    assert (got["ContentType"], got["CacheControl"], got["Metadata"]) == ("text/csv", "no-cache", {"owner": "ada"})


def test_a_large_form_is_streamed(s3: Any, bucket: str) -> None:
    made = s3.generate_presigned_post(bucket, "main/big")
    assert post(made["url"], made["fields"], ("big", BIG, "x/y")).status == 204
    assert s3.get_object(Bucket=bucket, Key="main/big")["Body"].read() == BIG
    assert post(made["url"], made["fields"], ("empty", b"", "x/y")).status == 204
    assert s3.head_object(Bucket=bucket, Key="main/big")["ContentLength"] == 0


def test_what_the_form_wants_to_be_answered(s3: Any, bucket: str) -> None:
    def made(name: str, value: str) -> Any:
        signed = s3.generate_presigned_post(
            bucket, "main/a b&c", Fields={name: value}, Conditions=[["starts-with", f"${name}", ""]]
        )
        return post(signed["url"], signed["fields"])

    etag = hashlib.md5(FILE[1]).hexdigest()
    for wanted, status in (("200", 200), ("201", 201), ("204", 204), ("500", 204), ("nonsense", 204)):
        assert made("success_action_status", wanted).status == status
    xml = made("success_action_status", "201").data.decode()
    assert f"<Bucket>{bucket}</Bucket><Key>main/a b&amp;c</Key>" in xml, xml
    sent_on = made("success_action_redirect", "https://shop.example/done?x=1")
    assert sent_on.status == 303
    assert sent_on.headers["location"] == (
        f"https://shop.example/done?x=1&bucket={bucket}&key=main%2Fa+b%26c&etag=%22{etag}%22"
    )
    for bad in ("javascript:alert(1)", "http://[", "http://a/\r\nSet-Cookie: x=y", "//nowhere", "http://ü.example/"):
        answer = made("redirect", bad)
        assert (answer.status, "set-cookie" in answer.headers) == (204, False), bad


def test_the_length_is_as_the_policy_says(s3: Any, bucket: str) -> None:
    limits = [["content-length-range", 5, 300_000]]
    made = s3.generate_presigned_post(bucket, "main/sized", Conditions=limits)
    for size, expected in ((4, "EntityTooSmall"), (5, ""), (300_000, ""), (300_001, "EntityTooLarge")):
        answer = post(made["url"], made["fields"], ("f", b"x" * size, "x/y"))
        assert code(answer) == expected, size
    assert code(post(made["url"], made["fields"], ("f", BIG, "x/y"))) == "EntityTooLarge"
    assert s3.head_object(Bucket=bucket, Key="main/sized")["ContentLength"] == 300_000


def test_digests_in_fields(s3: Any, bucket: str) -> None:
    good = base64.b64encode(hashlib.md5(FILE[1]).digest()).decode()
    sha = base64.b64encode(hashlib.sha256(FILE[1]).digest()).decode()
    other = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    for name, value, expected in (
        ("Content-MD5", good, ""),
        ("Content-MD5", base64.b64encode(bytes(16)).decode(), "BadDigest"),
        ("Content-MD5", "nonsense", "InvalidDigest"),
        ("x-amz-checksum-sha256", sha, ""),
        ("x-amz-checksum-sha256", other, "BadDigest"),
    ):
        key = f"main/{name}-{expected}"
        made = s3.generate_presigned_post(bucket, key, Fields={name: value}, Conditions=[{name: value}])
        assert code(post(made["url"], made["fields"])) == expected, name
        assert (key in keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/"))) == (not expected)


@pytest.mark.parametrize(
    "change, expected",
    [
        pytest.param({"key": "main/other"}, "AccessDenied", id="another key"),
        pytest.param({"x-amz-meta-more": "1"}, "AccessDenied", id="a field that no condition names"),
        pytest.param({"x-amz-signature": "0" * 64}, "SignatureDoesNotMatch", id="another signature"),
        pytest.param({"x-amz-date": "20200101T000000Z"}, "InvalidArgument", id="a date that is not the credential's"),
        pytest.param({"x-amz-algorithm": "AWS4-HMAC-SHA1"}, "InvalidArgument", id="another algorithm"),
        pytest.param({"policy": "e30="}, "InvalidPolicyDocument", id="an empty policy"),
        pytest.param({"policy": "!"}, "InvalidPolicyDocument", id="no policy at all"),
        pytest.param({"policy": None}, "InvalidPolicyDocument", id="without its policy"),
        pytest.param({"x-amz-signature": None}, "InvalidArgument", id="without its signature"),
        pytest.param({"key": None}, "UserKeyMustBeSpecified", id="without a key"),
    ],
)
def test_a_form_that_was_changed(s3v4: Any, bucket: str, change: dict[str, str | None], expected: str) -> None:
    made = s3v4.generate_presigned_post(bucket, "main/a")
    fields = {name: value for name, value in {**made["fields"], **change}.items() if value is not None}
    answer = post(made["url"], fields)
    assert (answer.status // 100, code(answer)) == (4, expected), answer.data
    assert keys(s3v4.list_objects_v2(Bucket=bucket, Prefix="main/")) == []


def test_who_signed_it(server: LochanServer, s3: Any, bucket: str) -> None:
    url = f"{server.endpoint}/{bucket}"
    assert code(post(url, {"key": "main/a"})) == "AccessDenied"  # nobody
    with closing(server.boto3(key="NOBODY")) as other:
        assert code(post(url, other.generate_presigned_post(bucket, "main/a")["fields"])) == "InvalidAccessKeyId"
    with closing(server.boto3(secret="guessed")) as other:
        assert code(post(url, other.generate_presigned_post(bucket, "main/a")["fields"])) == "SignatureDoesNotMatch"
    user = f"poster-{bucket}"
    server.lochan("auth", "users", "create", user)
    made = json.loads(server.lochan("auth", "keys", "create", user, "-f", "json"))
    with closing(server.boto3(key=made["access_key_id"], secret=made["secret_access_key"])) as theirs:
        assert code(post(url, theirs.generate_presigned_post(bucket, "main/a")["fields"])) == "AccessDenied"
    late = s3.generate_presigned_post(bucket, "main/a", ExpiresIn=-1)
    assert code(post(url, late["fields"])) == "AccessDenied"
    fields = s3.generate_presigned_post(bucket, "main/a")["fields"]
    elsewhere = f"{bucket}-2"
    s3.create_bucket(Bucket=elsewhere)
    assert code(post(f"{server.endpoint}/{elsewhere}", fields)) == "AccessDenied"  # the policy names its bucket
    doubled = post(url, fields, headers={"Authorization": f"AWS {server.access_key}:x", "Date": "now"})
    assert doubled.status == 403
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == []


def test_forms_that_are_none(server: LochanServer, s3: Any, bucket: str) -> None:
    fields = s3.generate_presigned_post(bucket, "main/a")["fields"]
    url = f"{server.endpoint}/{bucket}"
    assert code(post(url, fields, file=None)) == "InvalidArgument"
    assert code(post(url, {**fields, "x-ignore-long": "x" * 30_000})) == "MaxPostPreDataLengthExceededError"
    assert code(post(url, [*fields.items(), ("key", "main/b")])) == "InvalidArgument"
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    for body, headers, expected in (
        (b"--b\r\n", form, "IncompleteBody"),
        (b"nothing of a form", form, "IncompleteBody"),
        (b"--b\r\n\r\nx\r\n--b--", form, "MalformedPOSTRequest"),
        (b"x=y", {"Content-Type": "multipart/form-data"}, "MalformedPOSTRequest"),
        (b"x=y", {"Content-Type": "application/x-www-form-urlencoded"}, "AccessDenied"),
    ):
        answer = urllib3.request("POST", url, body=body, headers=headers, retries=False)
        assert code(answer) == expected, (body, answer.data)
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == []


def test_a_filename_cannot_leave_the_folder(s3: Any, bucket: str) -> None:
    made = s3.generate_presigned_post(bucket, "main/in/${filename}")
    for filename in ("../../etc/passwd", "..\\..\\passwd", "/etc/passwd"):
        assert post(made["url"], made["fields"], (filename, b"x", "x/y")).status == 204
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/in/passwd"]
