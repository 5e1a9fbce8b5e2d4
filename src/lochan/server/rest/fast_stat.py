"""Handles `stat` on a short path: for an object at a branch, a tag or a commit, with an access key and its secret.

    headers ──▶ who ──▶ look at both journals ──▶ may they? ──▶ find ──▶ answer
       └─────────┴────────────────┴──────────────────┴───────────┴──▶ the general path, from the beginning

Each request asks again who may read what, which repository a name is, and what the ref names. It asks this in states of
two journals that were looked at after the request arrived (A1), in one look for all requests that came before it. A
request that is not plain, or would be refused, takes the general path. The answers are the same.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.types import Scope

from lochan.access import resources
from lochan.access.open_access import OpenAccess
from lochan.access.rights import NOTHING, Rights
from lochan.access.state import AccessKey
from lochan.api.object_results import ObjectDetails
from lochan.api.session import Session
from lochan.bounded_cache import BoundedCache
from lochan.errors import LochanError
from lochan.formats.entry import Entry
from lochan.journal.journal import ProbeBatch
from lochan.server.ref_cache import CachedRef, Named, NotOpen, RefCache
from lochan.server.rest.known_keys import KnownKeys, basic_header
from lochan.server.rest.object_address import physical_address
from lochan.server.rest.wire import ObjectStats
from lochan.store.capabilities import SmallReads, capability
from lochan.versioning.names import KEY_BYTES_MAX
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repository

VERB, OPERATION, ACTION = "Ref.details", "statObject", "fs:ReadObject"

_PATH = re.compile("/api/v1/repositories/([^/]+)/refs/([^/]+)/objects/stat")
_QUERY = re.compile(rb"path=([^&;=]+)(?:&user_metadata=(true|false))?(?:&presign=false)?")
_COMMIT = re.compile("[0-9a-f]{64}")
_PLACES_MAX = 1_024
_ATTEMPTS = 4  # a branch may be written to while its files are opened; the general path tries more often

_encoder = msgspec.json.Encoder()


class StatRequest(NamedTuple):
    repository: str
    ref: str
    path: str
    metadata: bool
    authorization: bytes


class FastAnswer(NamedTuple):
    user: str
    access_key: str
    request: StatRequest
    body: bytes


class StatPlace:
    """What a ref of a repository names, in one state of the lake and of the repository. The rights of the last key that
    asked are kept with it."""

    __slots__ = ("cached", "front", "key", "named", "numbers", "repository", "rights")

    def __init__(self, repository: OpenRepository, numbers: tuple[int, int], named: Named, front: str) -> None:
        self.repository = repository
        self.numbers = numbers  # the numbers of the last records of both journals
        self.named = named
        self.front = front  # what the resource names of its objects begin with
        self.cached: CachedRef | None = None
        self.key: AccessKey | None = None
        self.rights: Rights = NOTHING


class FastStat:
    def __init__(self, session: Session, access: OpenAccess, lake_url: str, keys: KnownKeys | None = None) -> None:
        self._session = session
        self._access = access
        self._lake = access.journal
        self._url = lake_url
        self._probes = ProbeBatch()
        self._refs = RefCache()
        self._keys = keys or KnownKeys(access)
        self._places: BoundedCache[tuple[str, str], StatPlace] = BoundedCache(_PLACES_MAX)
        # Elsewhere, a request waits for the network, and the time it takes here does not matter.
        self._suits = capability(session.lake.store, SmallReads) is not None

    async def learn(self, scope: Scope) -> None:
        """Learns whose credentials a request carries that the general path has let in."""
        if self._request(scope) is not None:
            await self._keys.learn(scope)

    async def answer(self, scope: Scope, arrived: float) -> FastAnswer | None:
        """Returns the answer, or None if the request is not plain. In that case nothing has been done."""
        request = self._request(scope)
        key = None if request is None else self._keys.find(request.authorization)
        if request is None or key is None:
            return None
        found = self._session.lake.known_repository(request.repository)
        repository = None if found is None else self._session.repositories.hold(found)
        if found is None or repository is None:
            return None
        try:
            entry = await self._found(request, key, found, repository, arrived)
        except LochanError:  # the general path reports it
            return None
        finally:
            self._session.repositories.release(found.id)
        if entry is None:
            return None
        details = ObjectDetails.of(entry)
        address = physical_address(details, self._url, request.repository, request.ref)
        body = _encoder.encode(ObjectStats.of(details.info, address, metadata=request.metadata))
        return FastAnswer(key.user, key.id, request, body)

    async def _found(
        self, request: StatRequest, key: AccessKey, found: Repository, repository: OpenRepository, arrived: float
    ) -> Entry | None:
        journal = repository.journal
        await self._probes.wait(self._lake, journal)
        for each in (self._lake, journal):
            if not each.tail.anchor.sent > arrived:  # something has been appended
                await each.fresh()
        for _ in range(_ATTEMPTS):  # each attempt has states that are new enough, and no wait in between
            if self._session.lake.known_repository(request.repository) is not found:
                return None
            place = self._place(request, repository)
            if place is None or not self._rights(key, place).allow(ACTION, place.front + request.path):
                return None
            try:
                return self._entry(place, request)
            except NotOpen:
                await self._refs.open(repository, request.ref, place.named, request.path)
        return None

    def _place(self, request: StatRequest, repository: OpenRepository) -> StatPlace | None:
        """Returns what the ref names in the known states. Returns None if there is no such ref, or if it is not a plain
        one."""
        numbers = self._lake.tail.state.number, repository.journal.tail.state.number
        place = self._places.get((request.repository, request.ref))
        if place is not None and place.numbers == numbers and place.repository is repository:
            return place
        refs, name, ref = repository.folded(), request.repository, request.ref
        if refs.guard.closed or repository.repository.storage:  # being deleted, or perhaps not on this disk
            return None
        named: Named | None = refs.find_branch(ref)
        resource = resources.branch(name, ref)
        if named is None:
            named, resource = refs.find_tag(ref), resources.tag(name, ref)
        if named is None and _COMMIT.fullmatch(ref):
            named, resource = ref, resources.commit(name, ref)
        if named is None:
            return None
        place = StatPlace(repository, numbers, named, resources.object_at(resource, ""))
        return self._places.put((name, ref), place)

    def _rights(self, key: AccessKey, place: StatPlace) -> Rights:
        """Returns the rights of the key, which must still be what it was taken for. Returns no rights if they depend on
        when and from where the request comes: the general path works those out."""
        access = self._access.folded()
        if key.expires and key.has_expired(self._access.clock.wall()):
            return NOTHING
        if place.key is not key:
            if access.active_key(key.id, self._access.clock.wall()) != key:
                return NOTHING
            place.rights, place.key = access.lasting_rights(key) or NOTHING, key
        return place.rights

    def _entry(self, place: StatPlace, request: StatRequest) -> Entry | None:
        """Returns the entry with its blocks where they are now. Returns None if it does not exist, or if the places of
        its blocks have to be looked up. Raises NotOpen."""
        cached, repository = place.cached, place.repository
        if cached is None:
            cached = place.cached = self._refs.find(repository, request.ref, place.named)
        found, place_block = cached.find(request.path), repository.places.ready()
        if found is None or place_block is None:
            return None
        entry = found[0].entry(found[1]) if isinstance(found, tuple) else found
        placed = tuple(map(place_block, entry.blocks))
        return entry if placed == entry.blocks else msgspec.structs.replace(entry, blocks=placed)

    def _request(self, scope: Scope) -> StatRequest | None:
        path = _PATH.fullmatch(scope["path"]) if self._suits and scope["method"] == "GET" else None
        query = None if path is None else _QUERY.fullmatch(scope["query_string"])
        if path is None or query is None:
            return None
        authorization = basic_header(scope)
        try:
            inside = unquote_to_bytes(query[1].replace(b"+", b" ")).decode()
        except UnicodeDecodeError:
            return None
        if not authorization or not inside or len(inside) * 4 > KEY_BYTES_MAX or "\0" in inside:
            return None
        return StatRequest(path[1], path[2], inside, query[2] != b"false", authorization)
