"""What the fast path does below the verbs, all in one place: it looks at what is known already, reads small bodies at
once, and hands small bodies to their pack. Nothing else of the gateway reaches below `lochan.api`.

The view of a branch and the headers of its objects are kept as long as nothing about the branch changes.
"""

from collections.abc import Mapping
from typing import NamedTuple

from lochan.api.open_object import OpenObject
from lochan.api.session import ServerSession
from lochan.bounded_cache import BoundedCache
from lochan.formats.entry import Entry as Entry
from lochan.formats.record import Actor
from lochan.server.gateway.object_headers import ObjectHeaders, stored_headers
from lochan.server.gateway.request import Headers
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.store.capabilities import SmallReads, WriterProcess, capability
from lochan.versioning.bodies.body import PACKED_BYTES_MAX as PACKED_BYTES_MAX
from lochan.versioning.bodies.body import HashedBody as HashedBody
from lochan.versioning.bodies.body import ready
from lochan.versioning.open_repository import OpenRepository as OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.state.branch import BranchState

_BRANCHES_MAX = 256
_OBJECTS_MAX = 10_000  # in all of them: some 25 MB


def reads_at_once(session: ServerSession) -> bool:
    """Whether the lake is on a disk. Elsewhere a request waits for the network, and what it takes here does not
    matter."""
    return capability(session.lake.store, SmallReads) is not None


def write_beside(session: ServerSession) -> None:
    """On a disk, small files are written by a process beside this one. It ends with this one."""
    writer = capability(session.lake.store, WriterProcess)
    if writer is not None:
        writer.write_beside()


def holds_rows(repository: OpenRepository) -> bool:
    return repository.repository.kind == POOL


class CachedObject(NamedTuple):
    """An object, with what HeadObject says of it."""

    entry: Entry
    headers: Headers
    with_checksums: Headers


class CachedBranch:
    """At one moment. A change makes other layers or another head, so these two tell whether it is still the same."""

    __slots__ = ("_head", "_layers", "_reader", "_view")

    def __init__(self, repository: OpenRepository, branch: BranchState, view: View) -> None:
        self._layers: Layers = branch.layers
        self._head = branch.head
        self._view = view
        self._reader = repository.reader

    def is_of(self, branch: BranchState) -> bool:
        return self._layers is branch.layers and self._head == branch.head

    async def look_up(self, path: str) -> CachedObject | None:
        entry = await self._view.get(path)
        if entry is None:
            return None
        found, length = OpenObject(self._reader, entry), ("content-length", str(entry.size))
        plain = [*stored_headers(found, checksums=False), length]
        summed = [*stored_headers(found, checksums=True), length] if entry.checksums else plain
        return CachedObject(entry, plain, summed)


class ObjectCache:
    def __init__(self) -> None:
        self._branches: BoundedCache[tuple[str, str], CachedBranch] = BoundedCache(_BRANCHES_MAX)
        self._objects: BoundedCache[tuple[CachedBranch, str], CachedObject] = BoundedCache(_OBJECTS_MAX)

    async def object(self, repository: OpenRepository, ref: str, path: str) -> CachedObject | None:
        """In the state that is known. None: there is none, or no such branch."""
        branch = repository.folded().find_branch(ref)
        if branch is None:
            return None
        at = repository.repository.id, ref
        known = self._branches.get(at)
        if known is None or not known.is_of(branch):
            known = self._branches.put(at, await _opened(repository, branch))
        found = self._objects.get((known, path))
        if found is None:
            found = await known.look_up(path)
            if found is not None:
                self._objects.put((known, path), found)
        return found


async def _opened(repository: OpenRepository, branch: BranchState) -> CachedBranch:
    commit = repository.folded().commit(branch.head)
    return CachedBranch(repository, branch, await repository.view(ResolvedRef(branch.head, commit, branch)))


def hashed(
    path: str,
    data: bytes,
    kept: ObjectHeaders,
    sha256: bytes,
    md5: str | None,
    checksums: Mapping[str, str | None],
) -> HashedBody:
    """A small body. Raises where it is not what was declared."""
    return ready(
        path,
        data,
        content_type=kept.content_type,
        headers=kept.headers,
        metadata=kept.metadata,
        expected_md5=md5,
        checksums=checksums,
        sha256=sha256,
    )


async def stage(
    repository: OpenRepository, branch: str, body: HashedBody, user: str, client: str, source: str
) -> Entry:
    """Durable and seen by everybody when it returns."""
    await repository.packing.stage(body, branch, Actor(user, client, source))
    repository.staged(branch)
    return body.entry
