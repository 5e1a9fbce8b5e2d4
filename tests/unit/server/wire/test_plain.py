"""A plain body must match its signature and its declared length."""

from hashlib import sha256

import pytest

from lochan.server.gateway.wire.body import PlainBody
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Identity, Payload, SignatureForm


def hashed(body: bytes) -> Identity:
    return Identity("id", SignatureForm.V4_HEADER, Payload.HASHED, sha256(body).hexdigest())


def play(body: PlainBody, *pieces: bytes) -> bytes:
    found = b"".join(part for piece in pieces for part in body.feed(piece))
    assert body.finish() == {}
    return found


def refused(body: PlainBody, *pieces: bytes) -> str:
    with pytest.raises(S3Error) as caught:
        play(body, *pieces)
    return caught.value.code


def test_a_signed_body_is_compared_at_its_end() -> None:
    assert play(PlainBody(hashed(b"hello"), 5), b"hel", b"", b"lo") == b"hello"
    assert refused(PlainBody(hashed(b"hello"), 5), b"hullo") == "XAmzContentSHA256Mismatch"
    assert refused(PlainBody(hashed(b""), None), b"x") == "XAmzContentSHA256Mismatch"


def test_the_length_is_kept_to() -> None:
    assert refused(PlainBody(hashed(b"hello"), 5), b"hell") == "IncompleteBody"
    assert refused(PlainBody(None, 5), b"hello!") == "IncompleteBody"
    assert play(PlainBody(None, None), b"hello") == b"hello"


def test_an_unsigned_body_is_not_hashed() -> None:
    assert play(PlainBody(Identity("id", SignatureForm.V4_QUERY, Payload.UNSIGNED), 2), b"ab") == b"ab"


def test_the_new_owner_of_the_hash_compares_it() -> None:
    body = PlainBody(hashed(b"hello"), 5)
    compare = body.hand_over()
    assert compare is not None
    assert play(body, b"hullo") == b"hullo"
    compare(sha256(b"hello").digest())
    with pytest.raises(S3Error) as caught:
        compare(sha256(b"hullo").digest())
    assert caught.value.code == "XAmzContentSHA256Mismatch"
    assert PlainBody(Identity("id", SignatureForm.V4_QUERY, Payload.UNSIGNED), 2).hand_over() is None
