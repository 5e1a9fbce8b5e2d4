"""Hostile requests over bare sockets: the right answer comes soon, in little memory, and other clients are served."""

import gzip
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from hashlib import md5, sha256
from typing import Any

import pytest

from tests.integration.gateway.wire import Answer, Sent, Wire, signed, unsigned
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.memory import resident

IDLE_S = 2.0
SOON_S = 2.0  # a case takes some milliseconds; other tests may have the machine
GROWTH_MAX = 50 << 20
TEN = b"0123456789"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    env = {"LOCHAN_GATEWAYS__S3__IDLE_S": str(IDLE_S)}
    with lochan_server(tmp_path_factory.mktemp("attacked") / "lake", env=env) as server:
        with closing(server.boto3()) as s3:
            s3.create_bucket(Bucket="attacked")
            s3.put_object(Bucket="attacked", Key="main/ten", Body=TEN)
        yield server
        with closing(server.boto3()) as s3:
            listed = s3.list_objects_v2(Bucket="attacked", Prefix="main/")["Contents"]
            assert [each["Key"] for each in listed] == ["main/ten"]  # nothing of all this became visible
            assert s3.get_object(Bucket="attacked", Key="main/ten")["Body"].read() == TEN
        log, traceback = server.log.read_text(), server.traceback()
    assert not traceback, traceback
    assert "InternalError" not in log, log


@pytest.fixture(scope="module", autouse=True)
def at_rest(attacked: LochanServer) -> int:
    """Its memory before any of this."""
    return resident(attacked.process.pid)


@pytest.fixture
def wire(attacked: LochanServer) -> Iterator[Wire]:
    with Wire(attacked.s3) as connection:
        yield connection


def put(server: LochanServer, body: bytes = b"abc", key: str = "main/x") -> Sent:
    return signed(server, "v4 header", "PUT", f"/attacked/{key}", "", {}, body)


def soon(wire: Wire, data: bytes) -> Answer:
    begun = time.monotonic()
    with suppress(BrokenPipeError, ConnectionResetError):
        wire.send(data)
    answer = wire.answer()
    assert time.monotonic() - begun < SOON_S
    return answer


def without_length(sent: Sent, coding: str = "chunked") -> bytes:
    return sent.with_header("Content-Length", None).adding("Transfer-Encoding", coding).head()


# What is no HTTP, or could be read in two ways: refused by its form alone, and the connection is closed behind it.


def heads(server: LochanServer) -> dict[str, tuple[bytes, int]]:
    host = f"Host: {server.s3}\r\n"
    start = f"PUT /attacked/main/x HTTP/1.1\r\n{host}"
    good = put(server)
    many = "".join(f"X-{number}: y\r\n" for number in range(10_000))
    return {
        "a negative length": (f"{start}Content-Length: -1\r\n\r\n".encode(), 400),
        "a length that is no number": (f"{start}Content-Length: 1e3\r\n\r\n".encode(), 400),
        "a length with a sign": (f"{start}Content-Length: +3\r\n\r\nabc".encode(), 400),
        "a length over 64 bits": (f"{start}Content-Length: 18446744073709551616\r\n\r\n".encode(), 400),
        "two lengths": (f"{start}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd".encode(), 400),
        "a length and chunks": (good.adding("Transfer-Encoding", "chunked").head() + b"3\r\nabc\r\n0\r\n\r\n", 411),
        "chunks without a length": (without_length(good) + b"3\r\nabc\r\n0\r\n\r\n", 411),
        "chunks with trailers": (without_length(good) + b"3\r\nabc\r\n0\r\nX: y\r\n\r\n", 411),
        "endless trailers": (without_length(good) + b"0\r\n" + b"X: y\r\n" * 50_000, 411),
        "a chunk of 2^72 bytes": (without_length(good) + b"ffffffffffffffffff\r\nabc", 411),
        "another coding": (without_length(good, "identity") + b"abc", 400),
        "a coding of nearly that name": (without_length(good, "xchunked") + b"0\r\n\r\n", 400),
        "a space before a colon": (f"{start}Content-Length : 3\r\n\r\nabc".encode(), 400),
        "a folded line": (f"{start}X-A: b\r\n c\r\n\r\n".encode(), 400),
        "a NUL in a header": (f"{start}X-A: b\0c\r\n\r\n".encode(), 400),
        "a header of a megabyte": (f"{start}X-A: {'b' * (1 << 20)}\r\n\r\n".encode(), 431),
        "ten thousand headers": (f"{start}{many}\r\n".encode(), 431),
        "a path of 100,000 letters": (f"GET /{'a' * 100_000} HTTP/1.1\r\n{host}\r\n".encode(), 414),
        "no HTTP at all": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        "a body that ends early": (put(server, b"abc").head() + b"ab", 400),
        "a large body that ends early": (put(server, b"x" * 400_000).head() + b"ab", 400),
    }


HEADS = sorted(
    (
        *("a negative length", "a length that is no number", "a length with a sign", "a length over 64 bits"),
        *("two lengths", "a length and chunks", "chunks without a length", "chunks with trailers", "endless trailers"),
        *("a chunk of 2^72 bytes", "another coding", "a coding of nearly that name", "a space before a colon"),
        *("a folded line", "a NUL in a header", "a header of a megabyte", "ten thousand headers"),
        *("a path of 100,000 letters", "no HTTP at all", "a body that ends early", "a large body that ends early"),
    )
)


def test_the_table_of_heads_is_whole(attacked: LochanServer) -> None:
    assert sorted(heads(attacked)) == HEADS


@pytest.mark.parametrize("case", HEADS)
def test_an_invalid_request_closes_the_connection(attacked: LochanServer, wire: Wire, case: str) -> None:
    data, status = heads(attacked)[case]
    if "ends early" in case:
        wire.send(data)
        wire.half_close()
        data = b""
    assert soon(wire, data).status == status
    assert wire.is_closed()


@pytest.mark.parametrize("method", ["FOO", "PATCH", "TRACE", "CONNECT"])
def test_methods_that_there_are_none_of(attacked: LochanServer, wire: Wire, method: str) -> None:
    answer = soon(wire, unsigned(attacked, method, "/attacked").encoded())
    assert (answer.status, answer.code) == (405, "MethodNotAllowed")


def test_older_http_is_answered_and_closed(attacked: LochanServer, wire: Wire) -> None:
    sent = signed(attacked, "v4 header", "GET", "/attacked/main/ten").encoded().replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    assert soon(wire, sent).body == TEN
    assert wire.is_closed()


def test_several_requests_at_once_are_answered_in_order(attacked: LochanServer, wire: Wire) -> None:
    asks = [
        signed(attacked, "v4 header", "GET", "/attacked/main/ten", "", {"Range": f"bytes={at}-{at}"}).encoded()
        for at in range(10)
    ]
    wire.send(b"".join(asks))
    assert [wire.answer().body for _ in asks] == [TEN[at : at + 1] for at in range(10)]


def test_a_request_behind_a_refused_one_is_itself(attacked: LochanServer, wire: Wire) -> None:
    refused = unsigned(attacked, "PUT", "/attacked/main/x", "", (), b"y" * 100)
    wire.send(refused.encoded() + signed(attacked, "v4 header", "GET", "/attacked/main/ten").encoded())
    assert wire.answer().code == "AccessDenied"
    assert wire.answer().body == TEN


# Bodies in XML


def laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "ha">{entities}]><Delete>&l9;</Delete>'.encode()


def deletion(inner: str, head: str = "") -> bytes:
    return f"{head}<Delete>{inner}</Delete>".encode()


NOTHING = "<Object><Key>main/none</Key></Object>"
XML: dict[str, tuple[bytes, str]] = {
    "billion laughs": (laughs(), "MalformedXML"),
    "an outer entity": (
        b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&x;</Key></Object></Delete>',
        "MalformedXML",
    ),
    "an outer definition": (b'<!DOCTYPE d SYSTEM "http://127.0.0.1:1/x.dtd"><Delete/>', "MalformedXML"),
    "a million tags in one another": (deletion("<a>" * 1_000_000), "MalformedXML"),
    "a tag of a megabyte": (deletion(f"<{'a' * (1 << 20)}/>"), "MalformedXML"),
    "an attribute of a megabyte": (deletion(f"<Object x='{'a' * (1 << 20)}'/>"), "MalformedXML"),
    "1,001 keys": (deletion(NOTHING * 1_001), "MalformedXML"),
    "no key": (deletion(""), "MalformedXML"),
    "no end": (b"<Delete><Object>", "MalformedXML"),
    "no XML": (b"{}", "MalformedXML"),
    "nothing": (b"", "MalformedXML"),
    "another element": (b"<Remove><Object><Key>a</Key></Object></Remove>", "MalformedXML"),
    "another encoding": (deletion(NOTHING).decode().encode("utf-7") + b"\xff\xfe", "MalformedXML"),
    "a key of 1,025 bytes": (deletion(f"<Object><Key>main/{'k' * 1_020}</Key></Object>"), ""),
}


@pytest.mark.parametrize("case", XML)
def test_lists_of_deletions(attacked: LochanServer, wire: Wire, case: str) -> None:
    body, code = XML[case]
    digest = {"Content-MD5": b64encode(md5(body).digest()).decode()}
    sent = signed(attacked, "v4 header", "POST", "/attacked", "delete=", digest, body)
    answer = soon(wire, sent.encoded())
    assert (answer.status, answer.code) == (400, code) if code else answer.status == 200, answer.body[:500]
    if not code:
        assert b"<Error>" in answer.body and b"KeyTooLongError" in answer.body


def test_a_list_of_100_mb_is_not_read(attacked: LochanServer, wire: Wire) -> None:
    sent = signed(attacked, "v4 header", "POST", "/attacked", "delete=", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
    answer = soon(wire, sent.with_header("Content-Length", str(100 << 20)).head())
    assert (answer.status, answer.code) == (400, "EntityTooLarge")
    assert wire.is_closed()


def completion(*numbers: object) -> bytes:
    parts = "".join(f"<Part><PartNumber>{each}</PartNumber><ETag>{'0' * 32}</ETag></Part>" for each in numbers)
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()


@pytest.mark.parametrize(
    "body, code",
    [
        pytest.param(completion(0), "MalformedXML InvalidArgument InvalidPart", id="part 0"),
        pytest.param(completion(10_001), "MalformedXML InvalidArgument InvalidPart", id="part 10,001"),
        pytest.param(completion(-1), "MalformedXML InvalidArgument InvalidPart", id="part -1"),
        pytest.param(completion("1e3"), "MalformedXML", id="part 1e3"),
        pytest.param(completion(*range(1, 10_002)), "MalformedXML InvalidArgument", id="10,001 parts"),
        pytest.param(completion(*range(1, 10_001)), "InvalidPart", id="10,000 parts that are not there"),
        pytest.param(completion(2, 1), "InvalidPartOrder InvalidPart", id="not in order"),
        pytest.param(completion(1, 1), "InvalidPartOrder InvalidPart", id="twice"),
        pytest.param(completion(), "MalformedXML InvalidPart", id="no parts"),
        pytest.param(laughs(), "MalformedXML", id="billion laughs"),
    ],
)
def test_completions(attacked: LochanServer, wire: Wire, body: bytes, code: str) -> None:
    with closing(attacked.boto3()) as s3:
        upload = s3.create_multipart_upload(Bucket="attacked", Key="main/up")["UploadId"]
        sent = signed(attacked, "v4 header", "POST", "/attacked/main/up", f"uploadId={upload}", {}, body)
        answer = soon(wire, sent.encoded())
        assert answer.status == 400 and answer.code in code.split(), answer
        s3.abort_multipart_upload(Bucket="attacked", Key="main/up", UploadId=upload)


# Ranges


@pytest.mark.parametrize(
    "asked, status",
    [
        ("bytes=" + "0-," * 10_000, 200),
        ("bytes=" + ",".join(f"{n}-{n}" for n in range(5_000)), 200),
        ("bytes=5-2", 200),
        ("bytes=0-99999999999999999999999999", 206),
        (f"bytes={1 << 63}-", 416),
        ("bytes=-0", 416),
        ("bytes=-", 200),
        ("bytes=a-b", 200),
        ("lines=0-1", 200),
        ("bytes=10-", 416),
    ],
)
def test_ranges(attacked: LochanServer, wire: Wire, asked: str, status: int) -> None:
    answer = soon(wire, signed(attacked, "v4 header", "GET", "/attacked/main/ten", "", {"Range": asked}).encoded())
    assert answer.status == status, answer
    assert len(answer.body) <= 10 or status == 416


# Bodies in chunks, of clients that lie about them


def framed(server: LochanServer, body: bytes, length: object, trailer: str = "x-amz-checksum-crc32") -> Sent:
    headers = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": str(length),
        "Content-Encoding": "aws-chunked",
    } | ({"x-amz-trailer": trailer} if trailer else {})
    return signed(server, "v4 header", "PUT", "/attacked/main/x", "", headers, body)


CRC = b"x-amz-checksum-crc32:NSRBwg==\r\n\r\n"  # of abc


@pytest.mark.parametrize(
    "body, length",
    [
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC, 2, id="more than was told"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC, 4, id="less than was told"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC, -3, id="a negative length"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC, "3e0", id="a length that is no number"),
        pytest.param(b"-3\r\nabc\r\n0\r\n" + CRC, 3, id="a negative chunk"),
        pytest.param(b"400000000\r\nabc\r\n0\r\n" + CRC, 3, id="a chunk of 16 GB"),
        pytest.param(b"f" * 100_000, 3, id="a size without an end"),
        pytest.param(b"3;" + b"x" * 100_000, 3, id="an extension without an end"),
        pytest.param(b"3\r\nabc\r\n", 3, id="no last chunk"),
        pytest.param(b"3\r\nabcX\r\n0\r\n" + CRC, 3, id="a chunk longer than its size"),
        pytest.param(b"3\r\nabc\r\n0\r\n\r\n", 3, id="no trailer"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC.replace(b"NSRBwg==", b"AAAAAA=="), 3, id="a wrong checksum"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC.replace(b"crc32:", b"sha1:"), 3, id="a checksum of another kind"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC[:-2] + CRC, 3, id="a trailer twice"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + b"x" * 100_000, 3, id="a trailer without an end"),
        pytest.param(b"3\r\nabc\r\n0\r\n" + CRC + b"more", 3, id="bytes behind the end"),
    ],
)
def test_lies_about_chunks(attacked: LochanServer, wire: Wire, body: bytes, length: object) -> None:
    answer = soon(wire, framed(attacked, body, length).encoded())
    assert 400 <= answer.status < 404, answer
    assert answer.code in (
        *("BadDigest", "IncompleteBody", "InvalidArgument", "InvalidChunkSizeError", "InvalidRequest"),
        *("MalformedTrailerError", "SignatureDoesNotMatch"),
    ), answer


def test_bytes_beyond_the_declared_length_are_not_kept(attacked: LochanServer, wire: Wire) -> None:
    """Three bytes are promised, 200 MB come in chunks that add up to them at the first look."""
    before = resident(attacked.process.pid)
    sent = framed(attacked, b"", 3).with_header("Content-Length", str(200 << 20))
    wire.send(sent.head() + b"3\r\nabc\r\n0\r\n")
    with suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(200):
            wire.send(b"x" * (1 << 20))
    with suppress(EOFError):  # the answer may be lost when the connection is reset under the rest of the body
        assert wire.answer().status in (400, 403)
    assert resident(attacked.process.pid) - before < 20 << 20


# Numbers and sizes


@pytest.mark.parametrize("number", ["0", "-1", "10001", "1e3", "", "99999999999999999999", "%00", "１"])
def test_numbers_of_parts(attacked: LochanServer, wire: Wire, number: str) -> None:
    query = f"partNumber={number if number.isascii() else '%EF%BC%91'}&uploadId=none"
    answer = soon(wire, signed(attacked, "v4 header", "PUT", "/attacked/main/x", query, {}, b"x").encoded())
    assert (answer.status, answer.code) in ((400, "InvalidArgument"), (404, "NoSuchUpload"))


def test_too_large_sizes_are_refused_before_the_body(attacked: LochanServer, wire: Wire) -> None:
    sent = signed(
        attacked, "v4 header", "PUT", "/attacked/main/x", "", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, b"abc"
    )
    answer = soon(wire, sent.with_header("Content-Length", str((5 << 40) + 1)).head())
    assert (answer.status, answer.code) == (400, "EntityTooLarge")
    assert wire.is_closed()


def test_what_is_packed_stays_packed(attacked: LochanServer) -> None:
    """A body of ten megabytes in some kilobytes is kept as it came."""
    packed = gzip.compress(bytes(10 << 20))
    with closing(attacked.boto3()) as s3:
        key = {"Bucket": "attacked", "Key": "main/packed"}
        s3.put_object(**key, Body=packed, ContentEncoding="gzip")
        head = s3.head_object(**key)
        assert (head["ContentLength"], head["ContentEncoding"]) == (len(packed), "gzip")
        s3.delete_object(**key)
    digest = sha256(packed).hexdigest()
    sent = signed(attacked, "v4 header", "POST", "/attacked", "delete=", {"Content-Encoding": "gzip"}, packed)
    with Wire(attacked.s3) as wire:
        assert sent.header("X-Amz-Content-SHA256") == digest
        assert soon(wire, sent.encoded()).code == "MalformedXML"


def test_all_this_took_little_memory(attacked: LochanServer, at_rest: int) -> None:
    grown = resident(attacked.process.pid) - at_rest
    assert grown < GROWTH_MAX, f"{grown >> 20} MiB more"


# Clients that stand still


def test_who_stands_still_is_sent_away_and_the_others_are_served(attacked: LochanServer) -> None:
    begun = time.monotonic()
    with ExitStack() as stack, closing(attacked.boto3()) as s3:
        # Fewer than strangers from one address may have: beyond that the oldest go, however busy the server is.
        slow = [stack.enter_context(Wire(attacked.s3)) for _ in range(240)]
        for number, wire in enumerate(slow):
            head = (b"", b"GET / HTTP/1.1\r\nHost: a\r\n", put(attacked, b"x" * 1_000).head() + b"x")[number % 3]
            wire.send(head)
        asked = time.monotonic()
        for _ in range(20):
            assert s3.get_object(Bucket="attacked", Key="main/ten")["Body"].read() == TEN
        assert time.monotonic() - asked < SOON_S
        for number, wire in enumerate(slow):
            if number % 3 == 2:
                answer = wire.answer()
                assert (answer.status, answer.code) == (400, "RequestTimeout")
            assert wire.is_closed(IDLE_S + 5), number
        assert time.monotonic() - begun < IDLE_S + 10


def test_who_does_not_read_what_it_asked_for_holds_nothing(attacked: LochanServer) -> None:
    large = bytes(96 << 20)
    with ExitStack() as stack, closing(attacked.boto3()) as s3:
        key = {"Bucket": "attacked", "Key": "main/large"}
        s3.put_object(**key, Body=large)
        before = resident(attacked.process.pid)
        deaf = [stack.enter_context(Wire(attacked.s3)) for _ in range(6)]
        for wire in deaf:
            wire.send(signed(attacked, "v4 header", "GET", "/attacked/main/large").encoded())
        time.sleep(1)  # time to read too much, if it would
        assert resident(attacked.process.pid) - before < len(deaf) * (40 << 20)  # and not six times the whole
        slow = s3.get_object(**key)["Body"]
        begun = slow.read(1 << 20)
        time.sleep(IDLE_S / 2)  # slow is not deaf
        assert begun + slow.read() == large
        time.sleep(IDLE_S)  # who is deaf for so long is given up
        for wire in deaf:
            with pytest.raises(EOFError):  # it ends before its length
                wire.answer()
        s3.delete_object(**key)


def test_who_hangs_up_leaves_nothing_behind(attacked: LochanServer) -> None:
    for _ in range(20):
        with Wire(attacked.s3) as wire:
            wire.send(put(attacked, b"x" * 500_000, "main/gone").head() + b"x" * 300_000)
    threads = [threading.Thread(target=_hang_up, args=(attacked,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(attacked.boto3()) as s3:
        found: Any = s3.list_objects_v2(Bucket="attacked", Prefix="main/")
        assert [each["Key"] for each in found["Contents"]] == ["main/ten"]


def _hang_up(server: LochanServer) -> None:
    for _ in range(25):
        with Wire(server.s3) as wire:
            wire.send(signed(server, "v4 header", "GET", "/attacked/main/ten").encoded()[:-10])
