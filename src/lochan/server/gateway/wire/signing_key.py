"""The key of a V4 signature: a chain of HMACs from the secret, over the day, the region and the service."""

import hmac
from functools import lru_cache


@lru_cache(maxsize=1024)
def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    """Kept, for it is the same for all requests of a key on one day, and four HMACs are half the work of a check."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def sign(key: bytes, text: bytes) -> str:
    return hmac.digest(key, text, "sha256").hex()


def same(one: str, other: str) -> bool:
    """In a time that does not tell how much was right."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
