"""Entity tags of uploads in parts."""

from hashlib import md5

from lochan.server.gateway.wire.header_values import quote_etag, unquote_etag
from lochan.versioning.uploads import multipart_etag


def test_the_tag_of_parts_is_the_md5_of_their_md5s() -> None:
    parts = [md5(part).hexdigest() for part in (b"one", b"two")]
    expected = md5(md5(b"one").digest() + md5(b"two").digest()).hexdigest()
    assert multipart_etag(parts) == f"{expected}-2"
    assert multipart_etag(parts[:1]) == f"{md5(md5(b'one').digest()).hexdigest()}-1"


def test_quotes_come_and_go() -> None:
    assert quote_etag("a") == '"a"'
    assert [unquote_etag(text) for text in ('"a"', "a", ' "a" ', '"', '""', '"a')] == ["a", "a", "a", '"', "", '"a']
