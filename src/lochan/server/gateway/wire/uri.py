"""Percent-encoding as AWS signs it: everything but letters, digits and `-_.~`, in upper-case hex, once.

A client may have encoded more or less than that, so what came is decoded and encoded again before it is compared.
"""

import re
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from lochan.server.gateway.wire.errors import S3Error

Pairs = list[tuple[str, str]]

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/_.~-]*")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def canonical_path(path: str) -> str:
    """`path` as on the wire. S3 neither encodes it twice nor folds `..` and `//`: a key is opaque."""
    if _PLAIN_PATH.fullmatch(path):
        return path or "/"
    return quote(unquote_to_bytes(path), safe="/-_.~")


def canonical_part(text: str) -> str:
    """A name or a value in a query, where `+` is a space."""
    if _PLAIN.fullmatch(text):
        return text
    return quote(unquote_to_bytes(text.replace("+", " ")), safe="-_.~")


def query_pairs(query: str) -> Pairs:
    """Names and values as on the wire, in their order; a name alone has an empty value."""
    return [(name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)]


def meant_name(name: str) -> str:
    """The name of a parameter as the operations read it: `%64elete` is `delete`. Whoever looks for a name looks for
    this one, or a signature would be of another request than the one that is carried out."""
    return unquote_plus(name) if "%" in name or "+" in name else name


def decoded(text: str) -> str:
    """Raises InvalidURI where an escape is cut or the bytes are not UTF-8."""
    if "%" not in text and text.isascii():
        return text
    if _BROKEN_ESCAPE.search(text):
        raise S3Error("InvalidURI", URI=text[:1024])
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise S3Error("InvalidURI", URI=text[:1024]) from None


def decoded_pairs(query: str) -> Pairs:
    """Raises InvalidURI."""
    return [(decoded(name.replace("+", " ")), decoded(value.replace("+", " "))) for name, value in query_pairs(query)]
