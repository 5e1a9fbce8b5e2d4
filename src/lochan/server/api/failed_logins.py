"""Limits the number of wrong secrets for one access key from one address, so that nobody can try very many.

Each key has a bucket of attempts at each address, which fills again with time. Only wrong secrets take from it. A limit
for a key alone would let a stranger lock its user out, and one for an address alone would lock out everybody behind the
same proxy. A user who has been let in from there does not wait because of others' mistakes: that secret is known to
have been right."""

from hashlib import sha256
from hmac import compare_digest
from math import ceil

from lochan.bounded_cache import BoundedCache

ATTEMPTS = 20
REFILL_S = 3.0  # the time for one more attempt
_BUCKETS_MAX = 10_000


class FailedLogins:
    """The counts of one process. A server with several workers allows so many attempts in each."""

    def __init__(self) -> None:
        # By address and access key: when the bucket is full again, and the hash of the secret that was right.
        self._until: BoundedCache[tuple[str, str], float] = BoundedCache(_BUCKETS_MAX)
        self._right: BoundedCache[tuple[str, str], bytes] = BoundedCache(_BUCKETS_MAX)

    def wait_s(self, address: str, key: str, secret: str, now: float) -> int:
        """Returns how many seconds to wait until another attempt is checked, or 0. `now` is by the boot clock."""
        behind = (self._until.get((address, key)) or 0.0) - now
        wait_s = max(0, ceil(behind - (ATTEMPTS - 1) * REFILL_S))
        if wait_s and compare_digest(self._right.get((address, key)) or b"", _hash(secret)):
            return 0
        return wait_s

    def failed(self, address: str, key: str, now: float) -> None:
        bucket = address, key
        self._until.put(bucket, max(self._until.get(bucket) or 0.0, now) + REFILL_S)

    def succeeded(self, address: str, key: str, secret: str) -> None:
        if self._right.get((address, key)) is None:
            self._right.put((address, key), _hash(secret))


def _hash(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()
