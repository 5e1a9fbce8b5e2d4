"""Handles small loads on a short path: rows that are posted to the default branch of a pool, with an access key and its
secret.

    headers ──▶ who ──▶ may they? ──▶ the body ──▶ a group of loads ──▶ answer, when it is durable
       └─────────┴──────────┴──▶ the general path, from the beginning

It does what the general path does, without the parts that serve requests of every kind. Each request asks again, in a
state of the lake that was looked at after the request arrived (A1). A request that is not plain takes the general path,
and so does one that would be refused before its body is read. What is refused later is refused by the same code.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope

from lochan.access import resources
from lochan.access.open_access import OpenAccess
from lochan.access.requester import Requester, address_of
from lochan.access.state import AccessKey, AccessState
from lochan.api.branch import message_of
from lochan.api.load import LoadOptions
from lochan.api.load_group import SMALL_BYTES
from lochan.api.options import DEFAULT_COMMIT
from lochan.api.pool import Pool
from lochan.api.results import LoadResult
from lochan.api.row_bytes import SmallLoadPlace
from lochan.api.session import Session
from lochan.api.wrappers.proxy import find_verb
from lochan.bounded_cache import BoundedCache
from lochan.errors import LochanError
from lochan.formats.record import Actor
from lochan.journal.journal import ProbeBatch
from lochan.server.api.errors import HttpError, error_response, message
from lochan.server.rest.known_keys import KnownKeys, basic_header, digest_of
from lochan.server.rest.pool_rows import FORMATS
from lochan.versioning.repositories import POOL

VERB, OPERATION, CLIENT = "Pool.load", "loadRows", "rest"
_PATH = re.compile("/api/v1/pools/([^/]+)/rows")
_LENGTH = re.compile(rb"[0-9]{1,6}")
# Headers of requests that are not plain.
_GENERAL = frozenset((b"content-encoding", b"transfer-encoding", b"expect", b"upgrade"))
_GENERAL_PREFIXES = (b"x-commit-", b"x-amz-")
_SINGLE = frozenset((b"content-type", b"content-length", b"idempotency-key"))
_OPTIONS = {format: LoadOptions(format=format or None) for format in FORMATS.values()}
_MESSAGE = message_of(DEFAULT_COMMIT)
_PLACES_MAX = 1_024
_NEVER = -1
_encoder = msgspec.json.Encoder()


class PostRequest(NamedTuple):
    pool: str
    authorization: bytes
    key: str  # the idempotency key, or empty
    options: LoadOptions


class PostPlace(NamedTuple):
    """What a key may do with a pool, in one state of the lake."""

    number: int  # the number of the lake's last record at that time
    who: AccessKey
    loads: SmallLoadPlace


class LoadClaim(NamedTuple):
    """A request that may be carried out."""

    request: PostRequest
    who: AccessKey
    loads: SmallLoadPlace


class PostDone(NamedTuple):
    response: Response | bytes  # or the body of a success
    error: LochanError | None = None


class FastRows:
    def __init__(self, session: Session, access: OpenAccess, keys: KnownKeys) -> None:
        self._session = session
        self._access = access
        self._keys = keys
        self._probes = ProbeBatch()
        self._places: BoundedCache[tuple[bytes, str, LoadOptions], PostPlace] = BoundedCache(_PLACES_MAX)
        self._encoded: tuple[LoadResult | None, bytes] = None, b""  # the last one, which all loads of a commit share
        verb = find_verb(Pool, "load")
        assert verb is not None
        self._needs = [each.partition(" ")[::2] for each in verb.needs]

    async def claim(self, scope: Scope, source: str, arrived: float) -> LoadClaim | None:
        """Returns the claim of a request, or None if it takes the general path. In that case nothing has been done."""
        request = read_request(scope)
        if request is None:
            return None
        digest = digest_of(request.authorization)
        key = self._keys.find_digest(digest)
        if key is None:
            return None
        await self._probes.wait(self._access.journal)  # one look for all requests that came before it
        try:
            access = await self._access.freshness.authorised_state(arrived)
        except LochanError:  # the general path reports it
            return None
        number = self._access.journal.tail.state.number
        place = self._places.get((digest, request.pool, request.options))
        if place is None or place.number != number or place.who is not key or key.expires:
            place = self._place(request, key, access, source, number)
            if place is None:
                return None
            if place.number == number:
                self._places.put((digest, request.pool, request.options), place)
        return LoadClaim(request, key, place.loads)

    def _place(
        self, request: PostRequest, key: AccessKey, access: AccessState, source: str, number: int
    ) -> PostPlace | None:
        """Returns the place, or None if there is no such pool or the key may not write there."""
        now = self._access.clock.wall()
        pool = self._session.lake.known_repository(request.pool)
        if pool is None or pool.kind != POOL or access.active_key(key.id, now) != key:
            return None
        rights = access.lasting_rights(key)
        if rights is None:  # they depend on when and from where the request comes
            number, rights = _NEVER, access.rights_of(Requester(key.user, key.id, (), address_of(source)), now)
        branch = resources.branch(request.pool, pool.default_branch)
        if not all(rights.allow(action, where.replace("{branch}", branch)) for action, where in self._needs):
            return None
        return PostPlace(number, key, SmallLoadPlace(self._session, pool, request.options, _MESSAGE, ""))

    async def carry_out(self, claim: LoadClaim, receive: Receive, source: str) -> PostDone:
        """Carries out the load. `receive` gives the body. The answer is the same as on the general path."""
        request, who = claim.request, claim.who
        try:
            data = await _whole_body(receive)
            done = await claim.loads.load(Actor(who.user, CLIENT, source), request.key, data)
        except HttpError as error:
            return PostDone(error_response(error))
        except ClientDisconnect:
            return PostDone(message(400, "the body broke off before its end"))  # nobody reads this answer
        except LochanError as error:
            error.hint = error.hint_about(request.pool)
            return PostDone(error_response(error), error)
        if done is not self._encoded[0]:
            self._encoded = done, _encoder.encode(done)
        return PostDone(self._encoded[1])


async def _whole_body(receive: Receive) -> bytes:
    """Returns the whole body. Raises ClientDisconnect, and what `receive` raises."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_request(scope: Scope) -> PostRequest | None:
    """Returns the request, or None if it is not plain."""
    path = _PATH.fullmatch(scope["path"]) if scope["method"] == "POST" and not scope["query_string"] else None
    authorization = b"" if path is None else basic_header(scope)
    if path is None or not authorization:
        return None
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _SINGLE:
            if name in found:
                return None
            found[name] = value
        elif name in _GENERAL or name.startswith(_GENERAL_PREFIXES):
            return None
    options = _options_of(found.get(b"content-type", b""))
    length = _LENGTH.fullmatch(found.get(b"content-length", b""))
    if options is None or length is None or int(length[0]) > SMALL_BYTES:
        return None
    return PostRequest(path[1], authorization, found.get(b"idempotency-key", b"").decode("latin-1"), options)


@lru_cache(maxsize=64)
def _options_of(content_type: bytes) -> LoadOptions | None:
    format = FORMATS.get(content_type.partition(b";")[0].strip().lower().decode("latin-1"))
    return None if format is None else _OPTIONS[format]
