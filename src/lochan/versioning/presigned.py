"""URLs with which somebody without keys of the store can read one object or put its bytes. Stores that cannot sign,
such as a local disk, have no such URLs: there the bytes go through a server."""

from collections.abc import AsyncIterable

from lochan.errors import AlreadyExists, NotFound, Refused
from lochan.formats.entry import Entry
from lochan.store.capabilities import SignedUrls, StreamIfAbsent, capability
from lochan.versioning.bodies import tokens
from lochan.versioning.open_repository import OpenRepository

EXPIRES_S = 900.0
EXPIRES_S_MAX = 7 * 24 * 3600.0  # the limit of S3


async def url_to_read(repository: OpenRepository, entry: Entry, expires_s: float) -> str:
    """Returns a URL, or an empty text if the store cannot sign, or if the object shares its file with others."""
    signing = capability(repository.store, SignedUrls)
    if signing is None:
        return ""
    placed = await repository.places.place(entry)
    if len(placed.blocks) != 1 or placed.blocks[0].offset or "://" in placed.blocks[0].address:
        return ""
    address = placed.blocks[0].address
    if (await repository.store.head(address)).size != entry.size:  # it shares the file with others
        return ""
    return await signing.signed_url("GET", address, expires_s)


async def url_to_write(repository: OpenRepository, address: str, expires_s: float) -> str:
    """Returns a URL, or an empty text if the store cannot sign."""
    signing = capability(repository.store, SignedUrls)
    return "" if signing is None else await signing.signed_url("PUT", address, expires_s)


async def put_at(
    repository: OpenRepository, branch: str, path: str, token: str, body: AsyncIterable[bytes]
) -> tuple[str, int]:
    """Puts bytes at the address of a token that was not used yet. Returns the address and the size. Raises Refused."""
    key, now = await repository.token_key.get(), repository.clock.wall()
    given = tokens.check(key, token, repository=repository.repository.id, branch=branch, path=path, now=now)
    refs, _ = await repository.refs()
    if refs.collection.held(given.id) is None:
        raise Refused(f"the address token for {path!r} was used already, or given up", hint="ask for a new address")
    return given.address, await _put_once(repository, path, given.address, body)


async def _put_once(repository: OpenRepository, path: str, address: str, body: AsyncIterable[bytes]) -> int:
    """Puts the bytes if the address is free. Bytes that exist may have been linked meanwhile, so they are never
    replaced."""
    once = capability(repository.store, StreamIfAbsent)
    if once is not None:
        other = f"{address}~{repository.ids.ksuid(repository.clock.wall())}"
        at, size = await once.put_stream_if_absent(address, other, body)
        if at == address:
            return size
        await repository.store.delete(other)
    elif not await _exists(repository, address):
        return await repository.store.put_stream(address, body)
    raise AlreadyExists(
        f"bytes were put at the address for {path!r} already", hint="link them, or ask for a new address"
    )


async def _exists(repository: OpenRepository, address: str) -> bool:
    try:
        await repository.store.head(address)
    except NotFound:
        return False
    return True
