"""Says how text is written in S3's XML and how documents are put together from it. Also writes the short answers:
errors, deletions, and the properties of a bucket.

Characters that XML 1.0 cannot contain are still written as references, as S3 does. A strict parser then refuses the
page instead of reading another key. `encoding-type=url` is meant for such keys, and most clients ask for it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from lochan.server.gateway.wire.errors import S3Error

_SPECIAL = re.compile("[&<>\"'\x00-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.~/*-]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
Encode = Callable[[str], str]
Part = str | memoryview  # a part of a document; much of it comes as bytes, and is copied once


def escape(text: str) -> str:
    return _SPECIAL.sub(_reference, text) if _SPECIAL.search(text) else text


def readable(text: str) -> str:
    """Returns text for people: every parser can read it, but it may differ from the original."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def url_encode(text: str) -> str:
    """Returns text as `encoding-type=url` asks for, which is also safe in XML. A space is %20, which every decoder can
    read."""
    return _UNSAFE.sub(_percent, text) if _UNSAFE.search(text) else text


def encoder(encoding_type: str | None) -> Encode:
    """Returns the encoding for keys, prefixes, markers and delimiters."""
    return url_encode if encoding_type == "url" else escape


def is_as_it_is(text: bytes, encode: Encode) -> bool:
    """Returns whether encoding would change nothing, as far as one quick look can tell."""
    return not text.translate(None, _AS_IT_IS[encode])


def element(name: str, value: str | int | bool | None, encode: Encode = escape) -> str:
    """Returns an element, or an empty string for None. An empty value has an empty element."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"<{name}>{'true' if value else 'false'}</{name}>"
    return f"<{name}>{encode(value) if isinstance(value, str) else value}</{name}>"


def document(name: str, parts: Iterable[Part], namespace: bool = True) -> bytes:
    """Returns a document. `parts` are elements already."""
    attribute = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"' if namespace else ""
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name}{attribute}>'
    inner = (part.encode() if isinstance(part, str) else part for part in parts)
    return b"".join((head.encode(), *inner, f"</{name}>".encode()))


def _reference(found: re.Match[str]) -> str:
    return _NAMED.get(found[0]) or f"&#{ord(found[0])};"


def _percent(found: re.Match[str]) -> str:
    return _quote(found[0])


@lru_cache(maxsize=4096)
def _quote(character: str) -> str:
    return quote(character.encode("utf-8", "surrogatepass"))


_ASCII = "".join(map(chr, range(0x20, 0x7F)))


_AS_IT_IS: Mapping[Encode, bytes] = {
    escape: _SPECIAL.sub("", _ASCII).encode(),
    url_encode: _UNSAFE.sub("", _ASCII).encode(),
}


class DeletedKey(NamedTuple):
    key: str
    version: str | None = None


class UndeletedKey(NamedTuple):
    key: str
    code: str
    message: str
    version: str | None = None


def error(fault: S3Error, resource: str, request_id: str, host_id: str = "") -> bytes:
    """Writes an error. What XML cannot contain is not shown, because a client that cannot read the answer would have to
    guess."""
    parts = [element("Code", fault.code), element("Message", fault.message, readable)]
    parts += [element(name, value, readable) for name, value in fault.fields.items()]
    parts += [
        element("Resource", resource, readable),
        element("RequestId", request_id),
        element("HostId", host_id or request_id),
    ]
    return document("Error", parts, namespace=False)


def delete_result(done: Iterable[DeletedKey], failed: Iterable[UndeletedKey]) -> bytes:
    """Answers DeleteObjects. `done` is empty if the client asked to be quiet."""
    good = [f"<Deleted>{element('Key', one.key)}{element('VersionId', one.version)}</Deleted>" for one in done]
    bad = [
        f"<Error>{element('Key', one.key)}{element('VersionId', one.version)}{element('Code', one.code)}"
        f"{element('Message', one.message)}</Error>"
        for one in failed
    ]
    return document("DeleteResult", (*good, *bad))


def location(region: str) -> bytes:
    """Answers with the region. The oldest region has no name."""
    return document("LocationConstraint", ("" if region == "us-east-1" else escape(region),))


def versioning(status: str | None = None) -> bytes:
    """Answers with the status. None means that versioning was never switched on."""
    return document("VersioningConfiguration", (element("Status", status),))
