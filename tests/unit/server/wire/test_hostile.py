"""Whatever comes over the wire, the result is a value or an S3 error, never another exception."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lochan.server.gateway import object_headers as conditions
from lochan.server.gateway.wire import addressing, checksums, xml_in, xml_out
from lochan.server.gateway.wire import body as chunked
from lochan.server.gateway.wire import header_values as dates
from lochan.server.gateway.wire import header_values as etags
from lochan.server.gateway.wire import header_values as ranges
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FormReader
from lochan.server.gateway.wire.identity import Payload, Realm
from lochan.server.gateway.wire.post_policy import post_claimed, post_form
from lochan.server.gateway.wire.signed_request import SignedRequest
from tests.unit.server.wire.chunks import SEED
from tests.unit.server.wire.signers import NOW, REALM, Sent, authenticate, check, secrets, sign

LATIN = st.text(st.characters(max_codepoint=255), max_size=60)
FORMS = [sign(form, "PUT", query="partNumber=1&uploadId=u", headers={"x-amz-meta-a": "1"}) for form in
         ("v4 header", "v4 query", "v2 header", "v2 query")]  # fmt: skip


def tolerated(call: Callable[[], Any]) -> Any:
    """The result; an error must be one that a client can get."""
    try:
        return call()
    except S3Error as error:
        assert xml_out.error(error, "/b/k", "r")
        return error


@st.composite
def damaged(draw: st.DrawFn) -> Sent:
    """A good request in which something was cut out, put in or doubled."""
    sent: Sent = draw(st.sampled_from(FORMS))
    where = draw(st.sampled_from(["path", "query", "header", "name", "method"]))
    if where in ("path", "query", "method"):
        return sent.having(**{where: _spoilt(draw, getattr(sent, where))})
    at = draw(st.integers(0, len(sent.headers) - 1))
    name, value = sent.headers[at]
    pair = (name, _spoilt(draw, value)) if where == "header" else (_spoilt(draw, name), value)
    return sent.having(headers=(*sent.headers[:at], pair, *sent.headers[at + 1 :]))


def _spoilt(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, len(text)))
    middle = draw(st.one_of(LATIN, st.sampled_from(["&", "=", "%", "%FF", "+", ",", ";", "/", "\x00", "é", text])))
    return text[:start] + middle + text[end:]


@pytest.mark.thorough
@settings(max_examples=400)
@given(damaged())
def test_a_damaged_request_is_refused_or_means_the_same(sent: Sent) -> None:
    found = tolerated(lambda: check(sent))
    if found is None or isinstance(found, S3Error):
        return
    # It still holds: then what was changed is not signed, or is another way to write the same.
    whole = next(one for one in FORMS if check(one) is not None and check(one).form is found.form)  # type: ignore[union-attr]
    assert sent.method == whole.method
    assert sent.request().canonical_path == whole.request().canonical_path
    unsigned = found.form.value.startswith("v2")
    if not unsigned:
        dropped = re.compile("X-Amz-Signature=[^&]*")
        assert sorted(dropped.sub("", sent.request().canonical_query()).split("&")) == sorted(
            dropped.sub("", whole.request().canonical_query()).split("&")
        )


@given(LATIN, LATIN, LATIN, st.lists(st.tuples(LATIN, LATIN)), LATIN)
def test_any_request(method: str, path: str, query: str, headers: list[tuple[str, str]], authorization: str) -> None:
    for scheme in ("AWS4-HMAC-SHA256 ", "AWS ", ""):
        pairs = [*headers, ("Authorization", scheme + authorization)]
        request = SignedRequest(method, path, query, pairs, "bucket")
        assert isinstance(tolerated(lambda request=request: authenticate(request, REALM, secrets, NOW)), S3Error)  # type: ignore[misc]


FIELDS = ("key", "policy", "x-amz-signature", "x-amz-credential", "x-amz-date", "x-amz-algorithm", "signature")


@given(st.dictionaries(st.sampled_from((*FIELDS, "AWSAccessKeyId")), LATIN), LATIN)
def test_any_form(fields: dict[str, str], filename: str) -> None:
    tolerated(lambda: post_claimed(post_form(fields.items(), "bucket", filename), Realm(), NOW))


@given(st.binary(max_size=200))
@example(b"<Delete><Object><Key>a</Key></Object></Delete>")
def test_any_body(data: bytes) -> None:
    for parse in (xml_in.parse_complete, xml_in.parse_delete, xml_in.parse_create_bucket):
        tolerated(lambda parse=parse: parse(data))  # type: ignore[misc]
    for payload in (Payload.SIGNED_CHUNKS, Payload.SIGNED_CHUNKS_TRAILER, Payload.UNSIGNED_CHUNKS_TRAILER):
        body = chunked.ChunkedBody(payload, 10, SEED, "x-amz-checksum-crc32")
        tolerated(lambda body=body: (list(body.feed(data)), body.finish()))  # type: ignore[misc]
    form = FormReader("multipart/form-data; boundary=b")
    tolerated(lambda: list(form.feed(b"--b\r\n" + data)))
    tolerated(form.finish)


CONDITIONS = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")


@given(LATIN, st.integers(0, 1000))
def test_any_header(text: str, size: int) -> None:
    for call in (
        lambda: ranges.requested_span("bytes=" + text, size),
        lambda: ranges.copied_span("bytes=" + text, size),
        lambda: etags.if_range_holds(text, "e", 5),
        lambda: etags.parse_etags(text, weakly=True),
        lambda: conditions.read_conditions(dict.fromkeys(CONDITIONS, text)),
        lambda: conditions.delete_conditions(text, text, text),
        lambda: dates.parse_http_date(text),
        lambda: checksums.declared_checksum({"x-amz-checksum-crc32": text}),
        lambda: checksums.declared_checksum({"x-amz-trailer": text}),
        lambda: checksums.content_md5({"content-md5": text}),
        lambda: addressing.parse_address(text, "/" + text, (text,)),
        lambda: addressing.copy_source(text),
        lambda: addressing.checked_bucket(text),
        lambda: FormReader(f"multipart/form-data; boundary={text}"),
    ):
        tolerated(call)


def test_no_secret_is_revealed() -> None:
    for sent in FORMS:
        with pytest.raises(S3Error) as caught:
            authenticate(sent.having(method="DELETE").request(), REALM, lambda id: "canary-secret", NOW)
        assert b"canary" not in xml_out.error(caught.value, "/", "r")
