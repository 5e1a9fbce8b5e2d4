"""Entity tags: the MD5 of a body, or for an upload in parts the MD5 of the parts' MD5s with `-N` behind it."""

from collections.abc import Iterable
from hashlib import md5


def multipart_etag(parts: Iterable[str]) -> str:
    """From the parts' MD5s in hex, in the order of their numbers."""
    digests = [bytes.fromhex(part) for part in parts]
    return f"{md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}"


def quoted(etag: str) -> str:
    return f'"{etag}"'


def unquoted(text: str) -> str:
    """Clients give tags with quotes and without them."""
    text = text.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
