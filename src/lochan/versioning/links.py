"""Objects whose bytes a client has put itself: at an address that we gave out, or outside the lake.

    address ──▶ the client puts the bytes there itself ──▶ link, once, with the token that came with the address

Between the two the journal holds the address open, so that garbage collection leaves the bytes alone; the event that
links them closes it, and with it the token (rule G3). An address in the lake is linked in no other way.

A presigned URL of a store accepts bytes any number of times until it expires, also after the link. So the store copies
the bytes to an address that was never given out, and that copy is checked and linked: bytes that an object names are
never replaced (G1). The store could be told to accept bytes once (`If-None-Match: *`, signed), but then every client
would have to send that header, and those of lakeFS do not."""

import hashlib
import re
from typing import NamedTuple

from lochan.errors import BadDigest, Gone, Invalid, NotFound, Refused, Transient
from lochan.failpoints import fp
from lochan.formats.collection_events import Opened
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.journal.keys import CarriedOut
from lochan.store.capabilities import ServerCopies, capability
from lochan.store.protocol import Stat
from lochan.versioning.bodies import tokens
from lochan.versioning.bodies.outside_files import plain_etag
from lochan.versioning.bodies.tokens import AddressToken
from lochan.versioning.copy import SAME, CopyChanges, with_options
from lochan.versioning.idempotency import entry_first, once
from lochan.versioning.names import check_key
from lochan.versioning.objects import Check, append_staged
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import LINK

EXPIRES_S = 24 * 3600.0
_HASHED_BYTES_MAX = 64 << 20  # a larger file is read only if a checksum was declared
_MD5 = re.compile(r"[0-9a-f]{32}")


class PhysicalAddress(NamedTuple):
    token: str
    address: str  # an address in the lake
    url: str  # the URL that the bytes are put to
    expires: int  # microseconds since 1970


class LinkOptions(NamedTuple):
    """The properties of the bytes that the client declares."""

    size: int | None = None
    checksum: str | None = None  # the MD5 in hex


NOTHING = LinkOptions()


async def _address_first(repository: OpenRepository, before: CarriedOut) -> PhysicalAddress:
    held = repository.folded().collection.held(before.result)
    if held is None:
        raise Gone("the address that this key was used for has been linked or has expired", hint="ask for a new one")
    # It is not recorded whether a URL was given out, so this assumes one, which costs a copy and does no harm.
    return await _issue(repository, before.result, held.branch, held.path, held.address, held.expires, True)


@once(_address_first)
async def physical_address(
    repository: OpenRepository,
    branch: str,
    path: str,
    *,
    actor: Actor,
    expires_s: float = EXPIRES_S,
    presigned: bool = False,
) -> PhysicalAddress:
    """Returns an address that nobody else knows, for bytes that the client will put there itself. With `presigned`, it
    comes with a URL of the store to put them to."""
    check_key(path)
    refs, mint = await repository.refs()
    refs.branch(branch)
    now = repository.clock.wall()
    id = repository.ids.ksuid(now)
    address, expires = repository.bodies.address(path, mint), now + int(expires_s * 1e6)
    await repository.token_key.get()  # it may fail, so it comes before anything is held open
    await repository.submit(actor, Opened(id, LINK, address, branch, path, expires))
    fp("link.opened")
    return await _issue(repository, id, branch, path, address, expires, presigned)


async def _issue(
    repository: OpenRepository, id: str, branch: str, path: str, address: str, expires: int, presigned: bool
) -> PhysicalAddress:
    token = AddressToken(id, repository.repository.id, branch, path, address, expires, presigned)
    return PhysicalAddress(
        tokens.issue(await repository.token_key.get(), token), address, _url(repository, address), expires
    )


@once(entry_first)
async def link(
    repository: OpenRepository,
    branch: str,
    path: str,
    token: str,
    *,
    actor: Actor,
    declared: LinkOptions = NOTHING,
    options: CopyChanges = SAME,
    check: Check | None = None,
) -> Entry:
    """Makes the bytes at the token's address the object at the path, if `check` allows it. `check` gets the object that
    is there at that very moment; if it refuses, the token stays valid. Raises Refused for a token that is not valid
    here or was used before, NotFound if nothing is there yet, and Invalid for bytes that are not as declared."""
    key, now = await repository.token_key.get(), repository.clock.wall()
    given = tokens.check(key, token, repository=repository.repository.id, branch=branch, path=path, now=now)
    refs, mint = await repository.refs()
    if refs.collection.held(given.id) is None:
        raise Refused(f"the address token for {path!r} was used already, or given up", hint="ask for a new address")
    try:
        stat = await repository.store.head(await _settle(repository, given, mint))
    except NotFound as error:
        where = _url(repository, given.address)
        raise NotFound(f"there is nothing at {where}", hint="put the bytes there first") from error
    entry = with_options(await _entry(repository, path, stat, declared), options)
    await append_staged(repository, actor, Staged(branch, puts=(entry,), closes=(given.id,)), path, check)
    fp("link.landed")
    return entry


async def _settle(repository: OpenRepository, given: AddressToken, mint: int) -> str:
    """Returns an address whose bytes nobody can replace any more. Raises NotFound."""
    copies = capability(repository.store, ServerCopies)
    if not given.presigned or copies is None:  # if no store signs, the server takes the bytes, and only once
        return given.address
    address = repository.bodies.address(given.path, mint)
    await copies.copy(given.address, address)
    return address


@once(entry_first)
async def stage(
    repository: OpenRepository, branch: str, path: str, url: str, *, actor: Actor, options: CopyChanges = SAME
) -> Entry:
    """Makes the file at a URL outside the lake the object at the path, without a copy. Raises NotFound, and Refused for
    a file of this lake or another one."""
    check_key(path)
    if repository.outside is None:
        raise Invalid(
            "files outside the lake cannot be reached from here",
            hint="this lake was opened without access to other stores",
        )
    if f"{url.rstrip('/')}/".startswith(f"{repository.store.url}/"):
        raise Refused(f"{url} is in this lake", hint="ask for an address, put the bytes there, and link its token")
    refs, _ = await repository.refs()
    refs.branch(branch)
    entry = with_options(await repository.outside.link(path, url), options)
    await repository.submit(actor, Staged(branch, puts=(entry,)))
    repository.staged(branch)
    return entry


async def _entry(repository: OpenRepository, path: str, stat: Stat, declared: LinkOptions) -> Entry:
    if declared.size not in (None, stat.size):
        raise Invalid(f"{path!r}: {stat.size} bytes were put there, not {declared.size}", hint="put them again")
    etag, sha256 = plain_etag(stat.etag), b""
    checksum = etag if _MD5.fullmatch(etag) else ""
    if not checksum and (declared.checksum is not None or stat.size <= _HASHED_BYTES_MAX):
        checksum, sha256 = await _hash_file(repository, stat)
        etag = checksum
    if declared.checksum is not None and declared.checksum.lower() != checksum:
        raise BadDigest(f"{path!r}: the MD5 of what was put there is {checksum}, not {declared.checksum}")
    return Entry(
        path=path,
        blocks=(Block(stat.path, 0, stat.size, sha256),),
        size=stat.size,
        checksum=checksum,
        etag=etag,
        mtime=repository.clock.wall(),
    )


async def _hash_file(repository: OpenRepository, stat: Stat) -> tuple[str, bytes]:
    """Returns the MD5 and the SHA-256 of a file on a local disk, which has no ETag that depends on the bytes. Raises
    Transient unless all bytes were read: hashes of fewer bytes would make the object look damaged for ever."""
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    async for piece in repository.store.get_stream(stat.path):
        md5.update(piece)
        sha256.update(piece)
        size += len(piece)
    if size != stat.size:
        raise Transient(f"{size} of the {stat.size} bytes at {stat.path} were read", hint="try again")
    return md5.hexdigest(), sha256.digest()


def _url(repository: OpenRepository, address: str) -> str:
    root = repository.store.url
    return f"{root}/{address.replace('%', '%25') if root.startswith('file://') else address}"
