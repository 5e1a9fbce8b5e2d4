"""Handles percent-encoding as AWS signs it: everything but letters, digits and `-_.~` is encoded once, in upper-case
hex.

A client may have encoded more or less than that, so what arrived is decoded and encoded again before it is compared.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from lochan.server.gateway.wire.errors import S3Error

Pairs = list[tuple[str, str]]

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/_.~-]*")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def canonical_path(path: str) -> str:
    """Returns the canonical form of `path`, which is given as on the wire. S3 neither encodes it twice nor folds `..`
    and `//`, because a key is opaque."""
    if _PLAIN_PATH.fullmatch(path):
        return path or "/"
    return quote(unquote_to_bytes(path), safe="/-_.~")


def canonical_part(text: str) -> str:
    """Returns the canonical form of a name or a value in a query, where `+` is a space."""
    if _PLAIN.fullmatch(text):
        return text
    return quote(unquote_to_bytes(text.replace("+", " ")), safe="-_.~")


def query_pairs(query: str) -> Pairs:
    """Returns names and values as on the wire, in their order. A name alone has an empty value."""
    return [(name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)]


def decode_name(name: str) -> str:
    """Returns the name of a parameter as the operations read it: `%64elete` is `delete`. A search for a name looks for
    this one. Otherwise, a signature would belong to another request than the one that is carried out."""
    return unquote_plus(name) if "%" in name or "+" in name else name


def decode_uri(text: str) -> str:
    """Returns the decoded text. Raises InvalidURI if an escape is cut or the bytes are not UTF-8."""
    if "%" not in text and text.isascii():
        return text
    if _BROKEN_ESCAPE.search(text):
        raise S3Error("InvalidURI", URI=text[:1024])
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise S3Error("InvalidURI", URI=text[:1024]) from None


class SignedRequest:
    """A request as it was signed. `path` and `query` are as on the wire. A server that only has the decoded path uses
    `of_decoded_path`.

    `headers` are pairs in any case, in latin-1 if they are not ASCII. `bucket` is only given if the host names it
    (virtual-host style), because V2 signs it in front of the path.
    """

    def __init__(
        self, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], bucket: str | None = None
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.bucket = bucket
        self.headers: Mapping[str, str] = join_headers(headers)

    @classmethod
    def of_decoded_path(
        cls, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], bucket: str | None = None
    ) -> "SignedRequest":
        return cls(method, canonical_path(path.replace("%", "%25")), query, headers, bucket)

    @cached_property
    def pairs(self) -> Pairs:
        """The parameters of the query, as they were sent."""
        return query_pairs(self.query) if self.query else []

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the parameters, decoded."""
        return frozenset(decode_name(name) for name, _ in self.pairs)

    def canonical_query(self, without: str = "") -> str:
        """Returns the query sorted by the encoded name, then by the encoded value."""
        return canonical_query([pair for pair in self.pairs if decode_name(pair[0]) != without])

    def raw_query(self, without: str = "") -> str:
        """Returns the query sorted, but encoded as the client did."""
        return _assemble([pair for pair in self.pairs if decode_name(pair[0]) != without])

    @property
    def canonical_path(self) -> str:
        return canonical_path(self.path)


def join_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the headers as signatures need them: with names in lower case and trimmed values, and with several of the
    same name joined by commas."""
    found: dict[str, str] = {}
    for name, value in headers:
        name, value = name.lower(), value.strip(" \t")
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def canonical_query(pairs: Pairs) -> str:
    """Returns the canonical form of names and values as they were sent."""
    return _assemble([(canonical_part(name), canonical_part(value)) for name, value in pairs]) if pairs else ""


def wire_bytes(text: str) -> bytes:
    """Returns the bytes of the text. Header values come as latin-1; other text is UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def _assemble(pairs: Pairs) -> str:
    pairs.sort()
    return "&".join([f"{name}={value}" for name, value in pairs])
