"""Framed bodies: parsed however they are cut, and every false frame is refused before the end."""

import tracemalloc
from base64 import b64encode
from collections.abc import Iterable
from time import perf_counter
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.body import ChunkedBody, chunked_body, decoded_length, stored_content_encoding
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import ChunkSeed, Identity, Payload, SignatureForm
from lochan.server.gateway.wire.signed_request import SignedRequest
from tests.unit.server.wire.chunks import SEED, signatures, signed, signed_trailer, trailer_signature, unsigned_trailer
from tests.unit.server.wire.signers import KEY_ID, REALM, authenticate, secrets

CHUNKS = [b"hello " * 2000, b"world", b"\r\n0\r\n\r\n"]
PLAIN = b"".join(CHUNKS)
CRC = "x-amz-checksum-crc32"
CRC_VALUE = b64encode(crc32(PLAIN).to_bytes(4, "big")).decode()
LINE = f"{CRC}:{CRC_VALUE}"


def reader(payload: Payload, length: int = len(PLAIN), trailer: str = CRC, seed: ChunkSeed = SEED) -> ChunkedBody:
    return ChunkedBody(payload, length, seed, "" if payload is Payload.SIGNED_CHUNKS else trailer)


def play(body: ChunkedBody, pieces: Iterable[bytes]) -> bytes:
    found = b"".join(part for piece in pieces for part in body.feed(piece))
    body.finish()
    return found


def refused(payload: Payload, data: bytes, length: int = len(PLAIN)) -> S3Error:
    """The same error whether the body comes at once or byte by byte."""
    with pytest.raises(S3Error) as at_once:
        play(reader(payload, length), [data])
    with pytest.raises(S3Error) as by_bytes:
        play(reader(payload, length), [data[at : at + 1] for at in range(len(data))])
    assert at_once.value.code == by_bytes.value.code
    return at_once.value


BODIES = {
    Payload.SIGNED_CHUNKS: signed(CHUNKS),
    Payload.SIGNED_CHUNKS_TRAILER: signed_trailer(CHUNKS, CRC, CRC_VALUE),
    Payload.UNSIGNED_CHUNKS_TRAILER: unsigned_trailer(CHUNKS, LINE),
}


@pytest.mark.parametrize("payload", BODIES)
@pytest.mark.parametrize("step", [1, 2, 7, 1000, 1 << 20])
def test_a_body_is_read_however_it_is_cut(payload: Payload, step: int) -> None:
    data = BODIES[payload]
    body = reader(payload)
    assert play(body, [data[at : at + step] for at in range(0, len(data), step)]) == PLAIN
    assert body.trailers == ({} if payload is Payload.SIGNED_CHUNKS else {CRC: CRC_VALUE})


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=300), max_size=8),
    cuts=st.lists(st.integers(1, 400), min_size=1),
    payload=st.sampled_from(list(BODIES)),
)
def test_whatever_the_chunks_and_cuts(chunks: list[bytes], cuts: list[int], payload: Payload) -> None:
    value = b64encode(crc32(b"".join(chunks)).to_bytes(4, "big")).decode()
    data = {
        Payload.SIGNED_CHUNKS: signed(chunks),
        Payload.SIGNED_CHUNKS_TRAILER: signed_trailer(chunks, CRC, value),
        Payload.UNSIGNED_CHUNKS_TRAILER: unsigned_trailer(chunks, f"{CRC}:{value}"),
    }[payload]
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        pieces.append(data[at : at + cuts[len(pieces) % len(cuts)]])
        at += len(pieces[-1])
    assert play(reader(payload, sum(map(len, chunks))), pieces) == b"".join(chunks)


def test_no_byte_may_be_cut_off_the_end() -> None:
    for payload, data in BODIES.items():
        for cut in (*range(1, 130), len(data)):
            with pytest.raises(S3Error) as caught:
                play(reader(payload), [data[:-cut]])
            assert caught.value.code in ("IncompleteBody", "MalformedTrailerError"), (payload, cut)


def test_no_bit_of_a_signed_body_may_be_flipped() -> None:
    chunks = [b"hello", b"world"]
    for payload, data in (
        (Payload.SIGNED_CHUNKS, signed(chunks)),
        (Payload.SIGNED_CHUNKS_TRAILER, signed_trailer(chunks, CRC, CRC_VALUE)),
    ):
        for at in range(len(data)):
            # A hex digit or a header's name in upper case is the same; the high bit changes whatever it is in.
            changed = data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :]
            with pytest.raises(S3Error):
                play(reader(payload, 10), [changed])


def test_chunks_cannot_be_swapped_dropped_doubled_or_moved() -> None:
    chunks = [b"one", b"two", b"six"]
    first, second, third, last = (
        b"%x;chunk-signature=%s\r\n%s\r\n" % (len(chunk), signature.encode(), chunk)
        for chunk, signature in zip((*chunks, b""), signatures(chunks), strict=True)
    )
    assert play(reader(Payload.SIGNED_CHUNKS, 9), [first, second, third, last]) == b"onetwosix"
    for order, length in (
        ((second, first, third, last), 9),
        ((first, third, second, last), 9),
        ((first, second, last), 6),
        ((first, first, second, third, last), 12),
        ((last,), 0),
    ):
        assert refused(Payload.SIGNED_CHUNKS, b"".join(order), length).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("payload", BODIES)
def test_the_length_must_be_what_was_declared(payload: Payload) -> None:
    assert refused(payload, BODIES[payload], len(PLAIN) + 1).code == "IncompleteBody"
    assert refused(payload, BODIES[payload], len(PLAIN) - 1).code == "IncompleteBody"
    assert refused(payload, BODIES[payload], 0).code == "IncompleteBody"


@pytest.mark.parametrize(
    "size", [b"-1", b"+5", b" 5", b"5 ", b"0x5", b"5_0", b"", b"g", b"\xc2\xb2", b"00000000000000005", b"5" * 2000]
)
@pytest.mark.parametrize("payload", BODIES)
def test_a_size_is_a_plain_number(payload: Payload, size: bytes) -> None:
    data = size + b";chunk-signature=" + b"0" * 64 + b"\r\nhello\r\n"
    assert refused(payload, data).code == "InvalidRequest"


@pytest.mark.parametrize("size", [b"400000000", b"7fffffffffffffff", b"ffffffffffffffff"])
def test_an_absurd_size_is_refused_before_its_bytes_come(size: bytes) -> None:
    error = refused(Payload.UNSIGNED_CHUNKS_TRAILER, size + b"\r\n")
    assert error.code == "IncompleteBody"


@pytest.mark.parametrize(
    "data, code",
    [
        (b"5\nhello\r\n0\r\n" + LINE.encode() + b"\r\n\r\n", "InvalidRequest"),
        (b"5\r\nhelloX\r\n0\r\n\r\n", "InvalidRequest"),
        (b"4\r\nhello\r\n0\r\n\r\n", "InvalidRequest"),
        (b"5\r\nhello0\r\n\r\n", "InvalidRequest"),
        (unsigned_trailer([b"hello"]), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], LINE, LINE), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], LINE, "x-amz-checksum-sha1:AAAA"), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], "x-amz-checksum-sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk="), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], "x-amz-meta-a:1"), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], "no colon"), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], f"{CRC}:%%%%"), "InvalidRequest"),
        (unsigned_trailer([b"hello"], f"{CRC}:AAAA"), "InvalidRequest"),
        (unsigned_trailer([b"hello"], f"{CRC}:{'A' * 2000}"), "InvalidRequest"),
        (unsigned_trailer([b"hello"], LINE, "x-amz-trailer-signature:" + "0" * 64), "MalformedTrailerError"),
        (unsigned_trailer([b"hello"], LINE) + b"more", "IncompleteBody"),
        (unsigned_trailer([b"hello"], LINE) + b"5\r\nhello\r\n", "IncompleteBody"),
        (unsigned_trailer([b"hello"], LINE) + b"\r\n" * 100, "IncompleteBody"),
        (b"", "IncompleteBody"),
    ],
)
def test_what_is_malformed_has_its_code(data: bytes, code: str) -> None:
    assert refused(Payload.UNSIGNED_CHUNKS_TRAILER, data, 5).code == code


def test_signed_trailers_need_their_signature_and_it_must_hold() -> None:
    good = signed_trailer([b"hello"], CRC, CRC_VALUE)
    kind = Payload.SIGNED_CHUNKS_TRAILER
    assert refused(kind, good.replace(CRC_VALUE.encode(), b"AAAAAA=="), 5).code == "SignatureDoesNotMatch"
    assert refused(kind, good.partition(b"x-amz-trailer-signature")[0] + b"\r\n", 5).code == "IncompleteBody"
    assert refused(kind, signed([b"hello"]), 5).code == "MalformedTrailerError"
    forged = good[:-68] + b"0" * 64 + good[-4:]
    assert refused(kind, forged, 5).code == "SignatureDoesNotMatch"
    assert refused(kind, unsigned_trailer([b"hello"], LINE), 5).code == "InvalidRequest"


def test_signed_chunks_without_trailers_take_none() -> None:
    data = signed([b"hello"])[:-2] + LINE.encode() + b"\r\n\r\n"
    assert refused(Payload.SIGNED_CHUNKS, data, 5).code == "MalformedTrailerError"


def test_the_line_ends_of_minio_go_are_taken() -> None:
    """It ends a trailer with LF, leaves a line empty in front of the signature, or one too many at the end."""
    assert (
        play(reader(Payload.UNSIGNED_CHUNKS_TRAILER, 5), [b"5\r\nhello\r\n0\r\n%s\n\r\n\r\n" % LINE.encode()])
        == b"hello"
    )
    last = trailer_signature(f"{LINE}\n", signatures([b"hello"])[-1])
    data = signed([b"hello"])[:-2] + f"{LINE}\n\r\nx-amz-trailer-signature:{last}\r\n\r\n".encode()
    assert play(reader(Payload.SIGNED_CHUNKS_TRAILER, 5), [data]) == b"hello"


EXAMPLE = [b"a" * 65536, b"a" * 1024]


EXAMPLE_HEADERS = {
    "host": "s3.amazonaws.com",
    "x-amz-date": "20130524T000000Z",
    "x-amz-storage-class": "REDUCED_REDUNDANCY",
    "content-encoding": "aws-chunked",
    "x-amz-decoded-content-length": "66560",
}


def example_body(signature: str, headers: dict[str, str]) -> ChunkedBody:
    """The body of AWS's example, signed with this seed."""
    credential = f"Credential={KEY_ID}/20130524/us-east-1/s3/aws4_request"
    signed_headers = f"SignedHeaders={';'.join(sorted(headers))}"
    authorization = ("authorization", f"AWS4-HMAC-SHA256 {credential},{signed_headers},Signature={signature}")
    request = SignedRequest("PUT", "/examplebucket/chunkObject.txt", "", (*headers.items(), authorization))
    found = authenticate(request, REALM, secrets, 1369353600)
    assert found is not None
    return chunked_body(found, headers)


def test_the_example_that_aws_publishes() -> None:
    payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    headers = EXAMPLE_HEADERS | {"x-amz-content-sha256": payload, "content-length": "66824"}
    body = example_body("4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9", headers)
    told = (
        "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    )
    frames = [
        b"%x;chunk-signature=%s\r\n%s\r\n" % (len(chunk), signature.encode(), chunk)
        for chunk, signature in zip((*EXAMPLE, b""), told, strict=True)
    ]
    assert sum(map(len, frames)) == 66824
    assert play(body, frames) == b"a" * 66560


def test_and_its_example_with_a_trailer() -> None:
    payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
    headers = EXAMPLE_HEADERS | {"x-amz-content-sha256": payload, "x-amz-trailer": "x-amz-checksum-crc32c"}
    body = example_body("106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e", headers)
    told = (
        "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
        "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
        "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
    )
    frames = [
        b"%x;chunk-signature=%s\r\n%s" % (len(chunk), signature.encode(), chunk + b"\r\n" if chunk else b"")
        for chunk, signature in zip((*EXAMPLE, b""), told, strict=True)
    ]
    frames.append(
        b"x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:"
        b"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n"
    )
    assert play(body, frames) == b"a" * 66560
    assert body.trailers == {"x-amz-checksum-crc32c": "sOO8/Q=="}


def identity(payload: Payload, seed: ChunkSeed | None = SEED) -> Identity:
    return Identity("id", SignatureForm.V4_HEADER, payload, seed=seed)


def test_a_request_says_how_its_body_is_framed() -> None:
    headers = {"x-amz-decoded-content-length": "5", "x-amz-trailer": "X-Amz-Checksum-CRC32"}
    body = chunked_body(identity(Payload.UNSIGNED_CHUNKS_TRAILER), headers)
    assert play(body, [unsigned_trailer([b"hello"], LINE)]) == b"hello"


@pytest.mark.parametrize(
    "headers, code",
    [
        ({}, "MissingContentLength"),
        ({"x-amz-decoded-content-length": "-1"}, "InvalidArgument"),
        ({"x-amz-decoded-content-length": "1e3"}, "InvalidArgument"),
        ({"x-amz-decoded-content-length": "9" * 30}, "InvalidArgument"),
        ({"x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-checksum-crc99"}, "InvalidRequest"),
        ({"x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-meta-a"}, "InvalidRequest"),
    ],
)
def test_a_request_that_does_not_say_it_is_refused(headers: dict[str, str], code: str) -> None:
    with pytest.raises(S3Error) as caught:
        chunked_body(identity(Payload.UNSIGNED_CHUNKS_TRAILER), headers)
    assert caught.value.code == code


def test_signed_chunks_need_a_seed_and_signed_trailers_a_name() -> None:
    for payload, seed in ((Payload.SIGNED_CHUNKS, None), (Payload.SIGNED_CHUNKS_TRAILER, SEED)):
        with pytest.raises(S3Error) as caught:
            chunked_body(identity(payload, seed), {"x-amz-decoded-content-length": "5"})
        assert caught.value.code == "InvalidRequest"
    assert decoded_length({"x-amz-decoded-content-length": "0"}) == 0


def test_what_is_kept_of_the_content_encoding() -> None:
    assert stored_content_encoding("aws-chunked") == ""
    assert stored_content_encoding("AWS-Chunked, gzip") == "gzip"
    assert stored_content_encoding("gzip,aws-chunked ,br") == "gzip,br"


@pytest.mark.parametrize(
    "data",
    [b"\r" * 4_000_000, b"a" * 4_000_000, b"0" * 4_000_000, b";" * 4_000_000, b"1\r\nx\r\n" * 700_000],
    ids=["returns", "letters", "zeros", "semicolons", "tiny chunks"],
)
def test_time_and_memory_stay_small_whatever_comes(data: bytes) -> None:
    body = ChunkedBody(Payload.UNSIGNED_CHUNKS_TRAILER, 600_000, None, CRC)
    tracemalloc.start()
    started = perf_counter()
    with pytest.raises(S3Error):
        for at in range(0, len(data), 65536):
            for _ in body.feed(data[at : at + 65536]):
                pass
    spent, peak = perf_counter() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert spent < 5


def test_chunks_may_be_small_but_not_all_of_a_large_body() -> None:
    assert play(reader(Payload.UNSIGNED_CHUNKS_TRAILER, 1000), [unsigned_trailer([b"x"] * 1000, LINE)]) == b"x" * 1000
    large = unsigned_trailer([b"x" * 2000] * 3000, LINE)
    assert len(play(reader(Payload.UNSIGNED_CHUNKS_TRAILER, 6_000_000), [large])) == 6_000_000
    tiny = unsigned_trailer([b"x"] * 1100, LINE)
    assert refused(Payload.UNSIGNED_CHUNKS_TRAILER, tiny, 1100).code == "InvalidChunkSizeError"


def test_lines_that_come_in_pieces_cost_no_more() -> None:
    body = reader(Payload.SIGNED_CHUNKS, 100_000)
    data = signed([b"x" * 100_000])
    started = perf_counter()
    for at in range(len(data)):
        for _ in body.feed(data[at : at + 1]):
            pass
    assert body.finish() == {}
    assert perf_counter() - started < 10
