"""The checksums of bytes that are read for nothing else: of a copy, which moves none."""

import hashlib
from base64 import b64encode
from collections.abc import AsyncIterable, Sequence

from lochan.server.gateway.wire.checksums import HASHERS
from lochan.versioning.bodies.digests import Feed, Hashing

_hashing = Hashing()


async def digests(read: AsyncIterable[bytes], algorithms: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The MD5 in hex, and the additional checksums that are wanted, in base64."""
    md5 = hashlib.md5(usedforsecurity=False)
    hashers = {name: HASHERS[name]() for name in algorithms}
    feed = Feed(_hashing, [md5, *hashers.values()])
    async for piece in read:
        await feed.add(piece)
    await feed.done()
    return md5.hexdigest(), {name: b64encode(hasher.digest()).decode() for name, hasher in hashers.items()}
