"""Every form of signature, on every route, spoiled in every way: refused with S3's code, and nothing is changed by it.

After each refusal the same connection carries a good request, or is closed: what was refused must not be taken for a
request of its own.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from hashlib import md5
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from botocore.auth import HmacV1Auth

from lochan.access.policy import ACTIONS
from lochan.server.gateway.operations import buckets as configuration
from lochan.server.gateway.routes import ROUTES
from tests.integration.gateway.wire import FORMS, Answer, Sent, Wire, signed, unsigned
from tests.servers.lochan import LochanServer

NAMES = [route.name for routes in ROUTES.values() for route in routes.values()]
DELETION = b"<Delete><Object><Key>main/a</Key></Object></Delete>"


class Ask(NamedTuple):
    method: str
    path: str = "/{bucket}"
    query: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""


COPY = {"x-amz-copy-source": "/{bucket}/main/a"}
MD5 = {"Content-MD5": b64encode(md5(DELETION).digest()).decode()}
KEY, NEW = "/{bucket}/main/a", "/{bucket}/main/new"
ASKS = {
    "ListBuckets": Ask("GET", "/"),
    "GetBucketLocation": Ask("GET", query="location="),
    "GetBucketVersioning": Ask("GET", query="versioning="),
    "ListMultipartUploads": Ask("GET", query="prefix=main%2F&uploads="),
    "ListObjectVersions": Ask("GET", query="prefix=main%2F&versions="),
    "ListObjectsV2": Ask("GET", query="list-type=2&prefix=main%2F"),
    "ListObjects": Ask("GET", query="prefix=main%2F"),
    **{absent.operation: Ask("GET", query=f"{name}=") for name, absent in configuration.OF_BUCKETS.items()},
    "HeadBucket": Ask("HEAD"),
    "CreateBucket": Ask("PUT", "/{bucket}-new"),
    "DeleteBucket": Ask("DELETE"),
    "DeleteObjects": Ask("POST", query="delete=", headers=MD5, body=DELETION),
    "PostObject": Ask("POST", body=b"no form"),
    "ListParts": Ask("GET", KEY, "uploadId={upload}"),
    "GetObjectAttributes": Ask("GET", KEY, "attributes=", {"x-amz-object-attributes": "ETag"}),
    **{absent.operation: Ask("GET", KEY, f"{name}=") for name, absent in configuration.OF_OBJECTS.items()},
    "GetObject": Ask("GET", KEY),
    "HeadObject": Ask("HEAD", KEY),
    "UploadPartCopy": Ask("PUT", KEY, "partNumber=1&uploadId={upload}", COPY),
    "UploadPart": Ask("PUT", KEY, "partNumber=1&uploadId={upload}", {}, b"part"),
    "CopyObject": Ask("PUT", NEW, "", COPY),
    "RenameObject": Ask("PUT", "/{bucket}/main/named", "renameObject=", {"x-amz-rename-source": "/{bucket}/main/a"}),
    "PutObject": Ask("PUT", NEW, "", {"x-amz-meta-a": "b", "Content-Type": "x/y"}, b"a body"),
    "CreateMultipartUpload": Ask("POST", NEW, "uploads="),
    "CompleteMultipartUpload": Ask("POST", KEY, "uploadId={upload}", {}, b"{complete}"),
    "AbortMultipartUpload": Ask("DELETE", KEY, "uploadId={upload}"),
    "DeleteObject": Ask("DELETE", KEY),
}


# What is answered by an error although the request is good: there is none of it.
ABSENT = {
    absent.operation: absent.error
    for names in (configuration.OF_BUCKETS, configuration.OF_OBJECTS)
    for absent in names.values()
    if absent.error
}


class Target(NamedTuple):
    """A bucket with an object, and an upload with a part."""

    server: LochanServer
    bucket: str
    upload: str
    complete: bytes

    def signed(self, name: str, form: str, **how: Any) -> Sent:
        ask = ASKS[name]
        named = {"bucket": self.bucket, "upload": self.upload}
        body = self.complete if ask.body == b"{complete}" else ask.body
        headers = {key: value.format(**named) for key, value in ask.headers.items()}
        path, query = ask.path.format(**named), ask.query.format(**named)
        return signed(self.server, form, ask.method, path, query, headers, body, **how)


def new_target(server: LochanServer, s3: Any, bucket: str) -> Target:
    s3.create_bucket(Bucket=bucket)
    key = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**key, Body=b"kept")
    upload = s3.create_multipart_upload(**key)["UploadId"]
    etag = s3.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"part")["ETag"]
    part = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    complete = f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>"
    return Target(server, bucket, upload, complete.encode())


def snapshot(s3: Any, target: Target) -> Any:
    """Everything that a refused request could have changed."""
    bucket = {"Bucket": target.bucket}
    return (
        [each["Name"] for each in s3.list_buckets()["Buckets"]],
        [(each["Key"], each["ETag"]) for each in s3.list_objects_v2(**bucket, Prefix="main/").get("Contents", [])],
        [each["UploadId"] for each in s3.list_multipart_uploads(**bucket).get("Uploads", [])],
        s3.list_parts(**bucket, Key="main/a", UploadId=target.upload)["Parts"],
    )


@pytest.fixture(scope="module")
def target(server: LochanServer) -> Iterator[Target]:
    with closing(server.boto3()) as s3:
        found = new_target(server, s3, "matrix")
        before = snapshot(s3, found)
        yield found
        assert snapshot(s3, found) == before


def test_every_route_has_an_action_and_a_place_in_this_matrix() -> None:
    assert sorted(NAMES) == sorted(ASKS)
    for routes in ROUTES.values():
        for route in routes.values():
            assert route.action in ACTIONS, route.name


# botocore does not sign the newer sub-resources by version 2; and in a link nobody signs what a list is of.
LISTS = ("ListMultipartUploads", "ListObjectVersions", "ListObjectsV2", "ListObjects")
_NEWER = {
    route.name: "SignatureDoesNotMatch"
    for routes in ROUTES.values()
    for mark, route in routes.items()
    if mark.partition("+")[0] not in ("", "list-type", *HmacV1Auth.QSAOfInterest)
}
UNSIGNED_BY_V2 = {"v2 header": _NEWER, "v2 query": {**_NEWER, **dict.fromkeys(LISTS, "AccessDenied")}}


@pytest.mark.parametrize("form", FORMS)
def test_unspoiled_they_are_carried_out(server: LochanServer, s3: Any, form: str) -> None:
    """Otherwise the matrix below would prove nothing."""
    own = new_target(server, s3, f"unspoiled-{form.replace(' ', '-')}")
    last = ("CompleteMultipartUpload", "AbortMultipartUpload", "DeleteObjects", "DeleteObject", "DeleteBucket")
    expected = {"AbortMultipartUpload": "NoSuchUpload", "DeleteBucket": "BucketNotEmpty", **ABSENT}
    expected |= UNSIGNED_BY_V2.get(form, {})
    with Wire(server.s3) as wire:
        for name in (*(each for each in ASKS if each not in last), *last):
            answer = wire.ask(own.signed(name, form))
            if name == "PostObject":
                assert answer.code == "MalformedPOSTRequest"
            else:
                assert answer.code == expected.get(name, ""), (name, answer)
                assert answer.status < 300 or name in expected, (name, answer)


Spoil = Callable[[Target, str, str], Sent | None]


def another_method(target: Target, name: str, form: str) -> Sent:
    sent = target.signed(name, form)
    return replace(
        sent, method={"GET": "DELETE", "HEAD": "GET", "PUT": "GET", "POST": "PUT", "DELETE": "PUT"}[sent.method]
    )


def another_path(target: Target, name: str, form: str) -> Sent:
    sent = target.signed(name, form)
    return replace(sent, path=sent.path + "x")


def another_query(target: Target, name: str, form: str) -> Sent:
    """Version 2 signs some of the parameters only."""
    sent = target.signed(name, form)
    return replace(sent, query="&".join(filter(None, (sent.query, "response-content-type=x%2Fy"))))


def another_host(target: Target, name: str, form: str) -> Sent | None:
    sent = target.signed(name, form)
    return sent.with_header("Host", "other.example") if form.startswith("v4") else None


def another_date(target: Target, name: str, form: str) -> Sent:
    sent = target.signed(name, form)
    if form == "v4 header":
        date = sent.header("X-Amz-Date")
        return sent.with_header("X-Amz-Date", date[:-3] + f"{(int(date[-3:-1]) + 1) % 60:02d}Z")
    if form == "v2 header":
        date = sent.header("Date")
        return sent.with_header("Date", re.sub(r":(\d\d) GMT", lambda s: f":{(int(s[1]) + 1) % 60:02d} GMT", date))
    wanted = "X-Amz-Expires" if form == "v4 query" else "Expires"
    query = re.sub(rf"(?<![-\w]){wanted}=(\d+)", lambda s: f"{wanted}={int(s[1]) + 1}", sent.query)
    return replace(sent, query=query)


def another_hash(target: Target, name: str, form: str) -> Sent | None:
    if form != "v4 header":
        return None
    return target.signed(name, form).with_header("X-Amz-Content-SHA256", "0" * 64)


def another_body(target: Target, name: str, form: str) -> Sent | None:
    sent = target.signed(name, form)
    read = ("DeleteObjects", "UploadPart", "PutObject", "CompleteMultipartUpload")
    return replace(sent, body=bytes(reversed(sent.body))) if form == "v4 header" and name in read else None


def another_meta(target: Target, name: str, form: str) -> Sent | None:
    sent = target.signed(name, form)
    signed_one = next((key for key, _ in sent.headers if key in ("x-amz-copy-source", "x-amz-meta-a")), None)
    if signed_one is None:
        return None
    return sent.with_header(signed_one, sent.header(signed_one) + "x")


def another_secret(target: Target, name: str, form: str) -> Sent:
    return target.signed(name, form, secret="guessed")


def unknown_key(target: Target, name: str, form: str) -> Sent:
    return target.signed(name, form, key="NOBODYSKEY0000000001")


def a_session(target: Target, name: str, form: str) -> Sent:
    """Well signed, with a token that no key here has."""
    return target.signed(name, form, token="the-token-of-some-session")


def cut_signature(target: Target, name: str, form: str) -> Sent:
    sent = target.signed(name, form)
    if form.endswith("header"):
        return sent.with_header("Authorization", sent.header("Authorization")[:-1])
    return replace(sent, query=re.sub(r"(Signature=)(?:%..|.)", r"\1", sent.query))


def an_hour_old(target: Target, name: str, form: str) -> Sent:
    return target.signed(name, form, ago=timedelta(hours=1))


def an_hour_ahead(target: Target, name: str, form: str) -> Sent | None:
    """A link of version 2 does not say when it was made."""
    return None if form == "v2 query" else target.signed(name, form, ago=timedelta(hours=-1))


def unsigned_header(target: Target, name: str, form: str) -> Sent:
    return target.signed(name, form).adding("x-amz-website-redirect-location", "http://elsewhere.example/")


def two_forms(target: Target, name: str, form: str) -> Sent:
    sent = target.signed(name, form)
    if form.endswith("query"):
        return sent.adding("Authorization", target.signed(name, "v4 header").header("Authorization"))
    more = target.signed(name, "v2 query" if form.startswith("v4") else "v4 query").query
    return replace(sent, query=more)


def twice(target: Target, name: str, form: str) -> Sent | None:
    sent = target.signed(name, form)
    return sent.adding("Authorization", sent.header("Authorization")) if form.endswith("header") else None


def nobody(target: Target, name: str, form: str) -> Sent:
    sent = target.signed(name, "v2 header")
    return sent.with_header("Authorization", None)


MISMATCH = {"SignatureDoesNotMatch"}
SPOILS: dict[Spoil, set[str]] = {
    another_method: MISMATCH | {"MethodNotAllowed", "NotImplemented"},
    another_path: MISMATCH,
    another_query: MISMATCH,
    another_host: MISMATCH,
    another_date: MISMATCH,
    another_hash: MISMATCH,
    another_body: {"XAmzContentSHA256Mismatch"},
    another_meta: MISMATCH,
    another_secret: MISMATCH,
    unknown_key: {"InvalidAccessKeyId"},
    a_session: {"InvalidToken"},
    cut_signature: MISMATCH,
    an_hour_old: {"RequestTimeTooSkewed", "AccessDenied"},
    an_hour_ahead: {"RequestTimeTooSkewed", "AccessDenied"},
    unsigned_header: MISMATCH | {"AccessDenied"},
    two_forms: {"InvalidArgument"},
    twice: MISMATCH | {"AuthorizationHeaderMalformed", "InvalidAccessKeyId", "InvalidArgument"},
    nobody: {"AccessDenied"},
}
STATUS = {"MethodNotAllowed": 405, "NotImplemented": 501} | dict.fromkeys(
    ("AuthorizationHeaderMalformed", "InvalidArgument", "InvalidToken", "XAmzContentSHA256Mismatch"), 400
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_spoiled_they_are_refused(target: Target, name: str, form: str) -> None:
    wire = Wire(target.server.s3)
    cells = 0
    for spoil, codes in SPOILS.items():
        sent = spoil(target, name, form)
        if sent is None:
            continue
        answer = wire.ask(sent)
        unsigned_by_v2 = {code for key, code in UNSIGNED_BY_V2.get(form, {}).items() if key == name}
        _check(answer, sent, codes | unsigned_by_v2, (spoil.__name__, name, form))
        cells += 1
        if answer.headers.get("connection") == "close":
            assert wire.is_closed(), spoil
            wire.__exit__()
            wire = Wire(target.server.s3)
            continue
        good = wire.ask(signed(target.server, "v4 header", "GET", f"/{target.bucket}/main/a"))
        assert (good.status, good.body) == (200, b"kept"), (spoil, good)
    wire.__exit__()
    assert cells >= 12


def _check(answer: Answer, sent: Sent, codes: set[str], cell: object) -> None:
    assert "x-amz-request-id" in answer.headers, cell
    if sent.method == "HEAD":  # no body, so no code
        assert answer.status in {STATUS.get(code, 403) for code in codes}, (cell, answer)
        return
    assert answer.code in codes, (cell, answer)
    assert answer.status == STATUS.get(answer.code, 403), (cell, answer)
    assert answer.headers["x-amz-request-id"].encode() in answer.body


@pytest.mark.parametrize("form", FORMS)
def test_a_body_is_asked_for_only_when_its_sender_is_known(target: Target, form: str) -> None:
    body = b"waited for"
    path = f"/{target.bucket}/main/expected"
    good = signed(target.server, form, "PUT", path, "", {"Expect": "100-continue"}, body)
    with Wire(target.server.s3) as wire:
        wire.send(good.head())
        assert wire.interim() == 100
        wire.send(body)
        assert wire.answer().status == 200
        assert wire.ask(signed(target.server, form, "DELETE", path)).status == 204
    for spoil in ({"secret": "guessed"}, {"key": "NOBODY"}, {"ago": timedelta(hours=2)}):
        with Wire(target.server.s3) as wire:
            wire.send(signed(target.server, form, "PUT", path, "", {"Expect": "100-continue"}, body, **spoil).head())
            assert wire.interim() == 403  # and not 100 before it


@pytest.mark.parametrize("name", ["%64elete", "delet%65="])
@pytest.mark.parametrize("form", FORMS)
def test_a_signed_form_cannot_be_made_into_a_deletion(target: Target, form: str, name: str) -> None:
    """Operations are found by decoded names, so signatures are of decoded names."""
    sent = signed(target.server, form, "POST", f"/{target.bucket}", "", MD5, DELETION)
    with Wire(target.server.s3) as wire:
        answer = wire.ask(replace(sent, query="&".join(filter(None, (sent.query, name)))))
        assert answer.code == "SignatureDoesNotMatch", answer
        good = wire.ask(signed(target.server, "v4 header", "GET", f"/{target.bucket}/main/a"))
        assert (good.status, good.body) == (200, b"kept")


@pytest.mark.parametrize("query", ["uploadId=a&uploadId=b", "uploadId=b&upload%49d=a", "prefix=a&prefix=b"])
def test_a_parameter_that_comes_twice_is_refused(target: Target, query: str) -> None:
    """A signature of version 4 sorts parameters, so it does not define which is the first."""
    with Wire(target.server.s3) as wire:
        answer = wire.ask(signed(target.server, "v4 header", "GET", f"/{target.bucket}/main/a", query))
        assert (answer.status, answer.code) == (400, "InvalidArgument")


def test_a_body_is_not_asked_for_if_it_could_not_be_taken(target: Target) -> None:
    for path, status in ((f"/{target.bucket}/nowhere/a", 404), ("/no-such-bucket/main/a", 404)):
        with Wire(target.server.s3) as wire:
            wire.send(signed(target.server, "v4 header", "PUT", path, "", {"Expect": "100-continue"}, b"x").head())
            assert wire.interim() == status


@pytest.mark.parametrize("size", [0, 60_000, 1 << 20])
def test_a_refused_body_is_never_a_request(target: Target, size: int) -> None:
    """After some filler, the body contains a correctly signed request that would delete the object."""
    inner = signed(target.server, "v4 header", "DELETE", f"/{target.bucket}/main/a").encoded()
    body = b"x" * size + inner
    for sent in (
        unsigned(target.server, "PUT", f"/{target.bucket}/main/a", "", (), body),
        signed(target.server, "v4 header", "PUT", f"/{target.bucket}/main/a", "", {}, body, secret="guessed"),
        signed(target.server, "v4 header", "GET", f"/{target.bucket}/main/a", "", {}, body),
        signed(target.server, "v4 header", "PUT", f"/{target.bucket}/nowhere/a", "", {}, body),
    ):
        with Wire(target.server.s3) as wire:
            answer = wire.ask(sent)
            assert answer.status == (200 if sent.method == "GET" else answer.status)
            if answer.headers.get("connection") == "close":
                assert wire.is_closed()
            else:
                good = wire.ask(signed(target.server, "v4 header", "GET", f"/{target.bucket}/main/a"))
                assert (good.status, good.body) == (200, b"kept")
    with Wire(target.server.s3) as wire:
        assert wire.ask(signed(target.server, "v4 header", "GET", f"/{target.bucket}/main/a")).status == 200
