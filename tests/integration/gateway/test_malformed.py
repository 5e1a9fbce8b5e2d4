"""Requests made at random from parts of requests: none gets a server error, none hangs, and none changes anything it
should not.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.integration.gateway.wire import FORMS, Sent, Wire, signed
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.memory import resident

COUNT = int(os.environ.get("REQUESTS") or (200_000 if os.environ.get("FULL") else 1_500))
GROWTH_MAX = 50 << 20
SEED = int(os.environ.get("SEED", "1"))

METHODS = ("GET", "GET", "PUT", "PUT", "POST", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH")
BUCKETS = ("fuzzed", "fuzzed", "fuzzed", "no-such", "x", "UPPER", "", "..")
REFS = ("main", "main", "main", "main", "v1", "main~1", "main@", "main$", "no-such", "0" * 64, "main+x-1", "", "..")
PATHS = ("a", "b/c", "..", "%00", "%2F", "%FF", "a%20b", "%E2%80%AE", "k" * 1_025, "", "//", "a%0Ab", "%25", "+")
NAMES = (
    *("uploads", "uploadId", "partNumber", "list-type", "prefix", "delimiter", "marker", "start-after", "max-keys"),
    *(
        "continuation-token",
        "encoding-type",
        "fetch-owner",
        "versions",
        "versionId",
        "delete",
        "location",
        "attributes",
    ),
    *("versioning", "key-marker", "upload-id-marker", "max-uploads", "max-parts", "part-number-marker", "tagging"),
    *("acl", "response-content-type", "response-expires", "x-id", "X-Amz-Date", "X-Amz-Signature", "Signature"),
)
VALUES = (
    *("", "1", "2", "0", "-1", "1e3", "99999999999999999999", "main/", "main/a", "/", "url", "true", "%00", "%FF", "%"),
    *("null", "a" * 2_000, "%F0%9F%98%80", "x/y", "a%0D%0Ab", "&", "=", "%EF%BC%91", "AAAA"),
)
HEADERS = (
    *("Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Content-MD5", "Content-Type"),
    *(
        "x-amz-copy-source",
        "x-amz-copy-source-range",
        "x-amz-metadata-directive",
        "x-amz-meta-a",
        "x-amz-checksum-crc32",
    ),
    *("x-amz-checksum-sha256", "x-amz-sdk-checksum-algorithm", "x-amz-checksum-type", "x-amz-checksum-mode"),
    *("x-amz-decoded-content-length", "x-amz-trailer", "Content-Encoding", "x-amz-object-attributes", "Expires"),
    *("x-amz-acl", "x-amz-tagging", "x-amz-security-token", "x-amz-storage-class", "Cache-Control"),
)
TOLD = (
    *("", "*", '"x"', "bytes=0-1", "bytes=-1", "bytes=a", "Sun, 06 Nov 1994 08:49:37 GMT", "yesterday", "AAAAAA=="),
    *(
        "/fuzzed/main/a",
        "fuzzed/main/a?versionId=1",
        "fuzzed",
        "/",
        "%FF/%FF",
        "COPY",
        "REPLACE",
        "crc32",
        "CRC32",
        "9",
    ),
    *("-1", "ETag,ObjectSize", "aws-chunked", "x-amz-checksum-crc32", "multipart/form-data; boundary=b", "\xe9", "a,b"),
)
BODIES = (
    *(
        b"",
        b"x",
        b"abc" * 5_000,
        b"<Delete/>",
        b"<Delete><Object><Key>main/a</Key></Object></Delete>",
        b"<",
        b"\xff\xfe",
    ),
    b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>",
    b"<CreateBucketConfiguration><LocationConstraint>x</LocationConstraint></CreateBucketConfiguration>",
    b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nmain/x\r\n--b--\r\n',
    b"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n",
)
FINE = (301, 304, 400, 403, 404, 405, 409, 411, 412, 414, 416, 431, 501)  # 501: what S3 has and a lake has not


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    quiet = {"LOCHAN_LOGGING__ACCESS": "false"}
    with lochan_server(tmp_path_factory.mktemp("fuzzed") / "lake", env=quiet) as server:
        with closing(server.boto3()) as s3:
            s3.create_bucket(Bucket="fuzzed")
            s3.put_object(Bucket="fuzzed", Key="main/a", Body=b"kept")
        server.lochan("commit", "fuzzed", "-m", "first")
        server.lochan("tag", "create", "fuzzed@v1")
        yield server
        traceback = server.traceback()
    assert not traceback, traceback


def test_requests_at_random(fuzzed: LochanServer) -> None:
    chance = random.Random(SEED)
    seen: Counter[int] = Counter()
    before = 0
    wire = Wire(fuzzed.s3)
    for number in range(COUNT):
        sent = _request(fuzzed, chance)
        data = _spoiled(sent, chance) if chance.random() < 0.3 else sent.encoded()
        try:
            wire.send(data)
            if data != sent.encoded():
                wire.half_close()  # a head without an end would be waited for
            answer = wire.answer(head=sent.method == "HEAD" and data.startswith(b"HEAD"))
            assert answer.status < 300 or answer.status in FINE, (SEED, number, data[:2_000], answer)
            seen[answer.status] += 1
            keep = data == sent.encoded() and answer.headers.get("connection") != "close"
        except (EOFError, BrokenPipeError, ConnectionResetError, ValueError):
            assert data != sent.encoded() or sent.body, (SEED, number, data[:2_000])  # not answered, but for garbage
            keep = False
        except TimeoutError:
            pytest.fail(f"no answer: seed {SEED}, request {number}: {data[:2_000]!r}")
        if not keep:
            wire.__exit__()
            wire = Wire(fuzzed.s3)
        if number == COUNT // 3:
            before = resident(fuzzed.process.pid)
    wire.__exit__()
    assert {200, 400, 403, 404} <= seen.keys(), seen  # they came to very different ends
    assert resident(fuzzed.process.pid) - before < GROWTH_MAX


def _request(server: LochanServer, chance: random.Random) -> Sent:
    bucket, ref, path = chance.choice(BUCKETS), chance.choice(REFS), chance.choice(PATHS)
    target = chance.choice((f"/{bucket}/{ref}/{path}", f"/{bucket}/{ref}/{path}", f"/{bucket}", f"/{bucket}/", "/"))
    pairs = [f"{chance.choice(NAMES)}={chance.choice(VALUES)}" for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))]
    headers = {chance.choice(HEADERS): chance.choice(TOLD) for _ in range(chance.choice((0, 0, 1, 2, 4)))}
    if chance.random() < 0.1:
        headers["x-amz-content-sha256"] = chance.choice(
            ("UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "x")
        )
    method = chance.choice(METHODS)
    body = chance.choice(BODIES) if method in ("PUT", "POST") else b""
    return signed(server, chance.choice(FORMS), method, target, "&".join(pairs), headers, body)


def _spoiled(sent: Sent, chance: random.Random) -> bytes:
    """Some of its bytes changed, left out, doubled."""
    data = bytearray(sent.encoded())
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.choice((1, 1, 10, 100))]
            case 2:
                data[at:at] = data[at : at + chance.choice((1, 10, 100))]
            case _:
                data[at:at] = chance.choice((b"\r\n", b"\0", b"\xff", b" ", b":", b"\r\n\r\n", b"A" * 5_000))
        if not data:
            return b"\r\n"
    return bytes(data)
