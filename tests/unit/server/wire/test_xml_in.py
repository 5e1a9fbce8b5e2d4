"""Documents from clients: their meaning, and that no hostile one costs time or memory."""

import tracemalloc
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import (
    CompletedPart,
    CompleteReader,
    DeleteReader,
    Deletion,
    parse_complete,
    parse_create_bucket,
    parse_delete,
)

NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'


def part(number: object, etag: str = '"e"', more: str = "") -> str:
    return f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{more}</Part>"


def complete(*parts: str) -> bytes:
    return f"<CompleteMultipartUpload>{''.join(parts)}</CompleteMultipartUpload>".encode()


def delete(*keys: str, more: str = "") -> bytes:
    objects = "".join(f"<Object><Key>{escape(key)}</Key></Object>" for key in keys)
    return f"<Delete>{objects}{more}</Delete>".encode()


def refused(parse: Callable[[bytes], Any], body: bytes) -> str:
    with pytest.raises(S3Error) as caught:
        parse(body)
    return caught.value.code


def test_the_parts_of_an_upload() -> None:
    checked = part(3, "&quot;c&quot;", "<ChecksumCRC32>AAAAAA==</ChecksumCRC32>")
    body = complete(part(1, '"a"'), part(2, " b "), checked)
    assert parse_complete(body) == [
        CompletedPart(1, "a", {}),
        CompletedPart(2, "b", {}),
        CompletedPart(3, "c", {"CRC32": "AAAAAA=="}),
    ]


def test_a_document_as_clients_write_it() -> None:
    body = complete("\n  ", part(1), "\r\n\t", "<!-- a comment -->", part(2))
    for form in (
        body,
        DECLARATION + body,
        b"\xef\xbb\xbf" + DECLARATION + body,
        body.replace(b"<CompleteMultipartUpload>", f"<CompleteMultipartUpload {NAMESPACE}>".encode()),
        body.replace(b"<CompleteMultipartUpload>", f'<CompleteMultipartUpload {NAMESPACE[:-2]}">'.encode()),
        body.replace(b"<Part>", b'<Part a="1">'),
    ):
        assert [found.number for found in parse_complete(form)] == [1, 2]
    prefixed = body.replace(b"</", b"</s:").replace(b"<P", b"<s:P").replace(b"<E", b"<s:E")
    prefixed = prefixed.replace(
        b"<CompleteMultipartUpload>", f"<s:CompleteMultipartUpload xmlns:s{NAMESPACE[5:]}>".encode()
    )
    assert len(parse_complete(prefixed)) == 2


@pytest.mark.parametrize(
    "body, code",
    [
        (complete(), "MalformedXML"),
        (complete(part(0)), "MalformedXML"),
        (complete(part(-1)), "MalformedXML"),
        (complete(part(10_001)), "MalformedXML"),
        (complete(part("1.0")), "MalformedXML"),
        (complete(part("1" * 5000)), "MalformedXML"),
        (complete(part("٣")), "MalformedXML"),
        (complete(part("")), "MalformedXML"),
        (complete(part(1, "")), "MalformedXML"),
        (complete("<Part><PartNumber>1</PartNumber></Part>"), "MalformedXML"),
        (complete("<Part><ETag>a</ETag></Part>"), "MalformedXML"),
        (complete(part(1, more="<PartNumber>2</PartNumber>")), "MalformedXML"),
        (complete(part(1, more="<Colour>red</Colour>")), "MalformedXML"),
        (complete(part(1, more="<ChecksumCRC32>x</ChecksumCRC32>")), "InvalidRequest"),
        (complete(part(1), "stray"), "MalformedXML"),
        (complete(part("<b>1</b>")), "MalformedXML"),
        (complete(part(2), part(1)), "InvalidPartOrder"),
        (complete(part(1), part(1)), "InvalidPartOrder"),
        (complete(part(1))[:-1], "MalformedXML"),
        (complete(part(1)) + b"<x/>", "MalformedXML"),
        (
            complete(part(1)).replace(b"<CompleteMultipartUpload>", b'<CompleteMultipartUpload xmlns="urn:x">'),
            "MalformedXML",
        ),
        (complete(part(1)).decode().encode("utf-16"), "MalformedXML"),
        (complete(part(1)).decode().encode("utf-16-le"), "MalformedXML"),
        (b'<?xml version="1.0" encoding="UTF-16"?>' + complete(part(1)), "MalformedXML"),
        (b'<?xml version="1.0" encoding="latin-1"?>' + complete(part(1)), "MalformedXML"),
        (b"<!DOCTYPE x>" + complete(part(1)), "MalformedXML"),
        (delete("a"), "MalformedXML"),
        (b"", "MalformedXML"),
        (b"\x00", "MalformedXML"),
        (b"\xff\xfe", "MalformedXML"),
        (b"{}", "MalformedXML"),
    ],
)
def test_invalid_lists_of_parts(body: bytes, code: str) -> None:
    assert refused(parse_complete, body) == code


@pytest.mark.thorough
def test_ten_thousand_parts_and_not_one_more() -> None:
    parts = [
        part(number, "d" * 32, "<ChecksumSHA256>" + "A" * 43 + "=</ChecksumSHA256>") for number in range(1, 10_001)
    ]
    assert len(parse_complete(complete(*parts))) == 10_000
    assert refused(parse_complete, complete(*parts, part(10_000))) == "MalformedXML"


def test_keys_to_delete() -> None:
    more = "<Object><Key>v</Key><VersionId>null</VersionId><ETag>&quot;e&quot;</ETag></Object><Quiet>true</Quiet>"
    found = parse_delete(delete(" a b ", "x&<>\"'", "é/\n", more=more))
    assert found.quiet
    assert found.objects == [Deletion(" a b "), Deletion("x&<>\"'"), Deletion("é/\n"), Deletion("v", "null", "e")]
    assert not parse_delete(delete("a")).quiet
    assert not parse_delete(delete("a", more="<Quiet>false</Quiet>")).quiet


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1), min_size=1))
def test_whatever_the_keys(keys: list[str]) -> None:
    keys = [key for key in keys if "￾" not in key and "￿" not in key] or ["k"]
    assert [found.key for found in parse_delete(delete(*keys)).objects] == keys


@pytest.mark.parametrize(
    "body",
    [
        delete(),
        delete(*["k"] * 1001),
        delete(""),
        delete("k" * 9000),
        delete("a", more="<Quiet>perhaps</Quiet>"),
        delete("a", more="<Quiet>true</Quiet><Quiet>true</Quiet>"),
        delete("a", more="<Object></Object>"),
        delete("a", more="<Object><Key>a</Key><Key>b</Key></Object>"),
        delete("a").replace(b"a", b"&#0;"),
        delete("a").replace(b"a", b"&#xD800;"),
        delete("a").replace(b"a", b"\xff"),
        delete("a").replace(b"a", b"&nbsp;"),
        delete("a\x01"),
    ],
)
def test_invalid_lists_of_keys(body: bytes) -> None:
    assert refused(parse_delete, body) == "MalformedXML"


def test_a_thousand_long_keys() -> None:
    keys = [f"{number:04}" + "&" * 1020 for number in range(1000)]
    assert [found.key for found in parse_delete(delete(*keys)).objects] == keys


def test_where_a_bucket_shall_be() -> None:
    document = "<CreateBucketConfiguration {}><LocationConstraint>eu-1</LocationConstraint></CreateBucketConfiguration>"
    assert parse_create_bucket(document.format(NAMESPACE).encode()) == "eu-1"
    assert parse_create_bucket(b"") == parse_create_bucket(b" \n") == ""
    assert parse_create_bucket(b"<CreateBucketConfiguration/>") == ""
    assert refused(parse_create_bucket, b"<CreateBucket/>") == "MalformedXML"
    assert refused(parse_create_bucket, b"<" + b"a" * 100_000) == "MalformedXML"


def _laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}]><Delete><Object><Key>&l9;</Key></Object></Delete>'.encode()


HUGE = 100_000_000
# How a document begins, what then comes again and again, and how many bytes of it.
HOSTILE: dict[str, tuple[bytes, bytes, int]] = {
    "billion laughs": (_laughs(), b"", 0),
    "an entity of a file": (
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&e;</Key></Object></Delete>',
        b"",
        0,
    ),
    "a document type elsewhere": (b'<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd"><Delete/>', b"", 0),
    "parameter entities": (b'<!DOCTYPE x [<!ENTITY % e "x"> %e;]><Delete/>', b"", 0),
    "a million nested tags": (b"<Delete>", b"<Object>", 8_000_000),
    "a million keys": (b"<Delete>", b"<Object><Key>k</Key></Object>", 30_000_000),
    "one key": (b"<Delete><Object><Key>", b"k", HUGE),
    "spaces": (b"<Delete>", b" ", HUGE),
    "one tag": (b"<Delete ", b"a", HUGE),
    "one value": (b'<Delete a="', b"a", HUGE),
    "one comment": (b"<Delete><!--", b"a", HUGE),
    "many comments": (b"<Delete>", b"<!---->", HUGE),
    "one instruction": (b"<Delete><?x ", b"a", HUGE),
    "one section": (b"<Delete><Object><Key><![CDATA[", b"k", HUGE),
    "attributes": (b"<Delete " + b" ".join(b'a%d=""' % number for number in range(50_000)), b" ", 100),
    "references": (b"<Delete><Object><Key>", b"&amp;", HUGE),
    "empty elements": (b"<Delete>", b"<Object/>", HUGE),
}


def pieces(name: str) -> Iterator[bytes]:
    head, again, size = HOSTILE[name]
    yield from (head[at : at + 65536] for at in range(0, len(head), 65536))
    block = again * (65536 // len(again)) if again else b""
    yield from (block for _ in range(size // len(block) if block else 0))


@pytest.mark.parametrize("reader", [DeleteReader, CompleteReader])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_costs_little(name: str, reader: Callable[[], DeleteReader | CompleteReader]) -> None:
    started = perf_counter()
    with pytest.raises(S3Error) as caught:
        one = reader()
        for piece in pieces(name):
            one.feed(piece)
        one.finish()
    spent = perf_counter() - started
    assert caught.value.code == "MalformedXML"
    assert spent < 5  # one second, on a machine that has nothing else to do


@pytest.mark.parametrize("name", HOSTILE)
def test_nor_memory(name: str) -> None:
    tracemalloc.start()
    with pytest.raises(S3Error):
        one = DeleteReader()
        for piece in pieces(name):
            one.feed(piece)
        one.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("size", [7_000_000, 20_000_000])
def test_a_whole_body_at_once_is_judged_alike(size: int) -> None:
    body = b"<Delete " + b"a" * size
    tracemalloc.start()
    started = perf_counter()
    assert refused(parse_delete, body) == "MalformedXML"
    spent, peak = perf_counter() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spent < 5 and peak < 1_000_000
