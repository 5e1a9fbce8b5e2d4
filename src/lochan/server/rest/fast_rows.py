"""Small loads on a short way: rows posted to the default branch of a pool, with an access key and its secret.

    headers ──▶ who ──▶ may they? ──▶ the body ──▶ a group of loads ──▶ answer, when it is durable
       └─────────┴──────────┴──▶ the general path, from the beginning

It does what the general path does, without what that builds for requests of every kind. Each request asks anew, in a
state of the lake that was looked at after it had come (A1). What is not so plain takes the general path, and so does
whatever would be refused before its body is read. What is refused later is refused by the same code.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope

from lochan.access import resources
from lochan.access.open_access import OpenAccess
from lochan.access.requester import Requester, address_of
from lochan.access.state import AccessKey
from lochan.api.load import LoadOptions
from lochan.api.load_group import SMALL_BYTES
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.pool import Pool
from lochan.api.row_bytes import load_small
from lochan.api.session import Session, about
from lochan.api.wrappers.proxy import find_verb
from lochan.errors import LochanError
from lochan.journal.journal import ProbeBatch
from lochan.server.api.errors import HttpError, error_response, message
from lochan.server.rest.known_keys import KnownKeys, basic_header
from lochan.server.rest.pool_rows import FORMATS
from lochan.versioning.repositories import POOL, Repository

VERB, OPERATION, CLIENT = "Pool.load", "loadRows", "rest"
_PATH = re.compile("/api/v1/pools/([^/]+)/rows")
_LENGTH = re.compile(rb"[0-9]{1,6}")
_GENERAL = (b"content-encoding", b"transfer-encoding", b"expect", b"upgrade")  # headers of requests that are not plain
_GENERAL_PREFIXES = (b"x-commit-", b"x-amz-")
_SINGLE = (b"content-type", b"content-length", b"idempotency-key")
_OPTIONS = {format: LoadOptions(format=format or None) for format in FORMATS.values()}
_encoder = msgspec.json.Encoder()


class PostRequest(NamedTuple):
    pool: str
    authorization: bytes
    key: str  # of idempotency; empty: none
    options: LoadOptions


class LoadClaim(NamedTuple):
    """A request that may be carried out."""

    request: PostRequest
    who: AccessKey
    pool: Repository


class PostDone(NamedTuple):
    response: Response | bytes  # the body of a success
    error: LochanError | None = None


class FastRows:
    def __init__(self, session: Session, access: OpenAccess, keys: KnownKeys) -> None:
        self._session = session
        self._access = access
        self._keys = keys
        self._probes = ProbeBatch()
        verb = find_verb(Pool, "load")
        assert verb is not None
        self._needs = [each.partition(" ")[::2] for each in verb.needs]

    async def claim(self, scope: Scope, source: str, arrived: float) -> LoadClaim | None:
        """None: it takes the general path, and nothing has been done."""
        request = read_request(scope)
        key = None if request is None else self._keys.find(request.authorization)
        if request is None or key is None:
            return None
        await self._probes.wait(self._access.journal)  # one look for all that came before it
        try:
            access = await self._access.authorised_state(arrived)
        except LochanError:  # the general path reports it
            return None
        now = self._access.clock.wall()
        pool = self._session.lake.known_repository(request.pool)
        if pool is None or pool.kind != POOL or access.active_key(key.id, now) != key:
            return None
        rights = access.lasting_rights(key)
        if rights is None:  # it depends on when and from where it is asked
            rights = access.rights_of(Requester(key.user, key.id, (), address_of(source)), now)
        branch = resources.branch(request.pool, pool.default_branch)
        if not all(rights.allow(action, where.replace("{branch}", branch)) for action, where in self._needs):
            return None
        return LoadClaim(request, key, pool)

    async def carry_out(self, claim: LoadClaim, receive: Receive, source: str) -> PostDone:
        """`receive` gives the body. The answer is the one of the general path."""
        request, who = claim.request, claim.who
        session = self._session.acting_as(who.user, CLIENT, source, is_served=True, credentials=(who.id, ()))
        options = CommitOptions(key=request.key) if request.key else DEFAULT_COMMIT
        try:
            data = await _whole_body(receive)
            with about(request.pool):
                done = await load_small(session, claim.pool, data, request.options, options, "")
        except HttpError as error:
            return PostDone(error_response(error))
        except ClientDisconnect:
            return PostDone(message(400, "the body broke off before its end"))  # which nobody reads
        except LochanError as error:
            return PostDone(error_response(error), error)
        return PostDone(_encoder.encode(done))


async def _whole_body(receive: Receive) -> bytes:
    """Raises ClientDisconnect, and what `receive` does."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_request(scope: Scope) -> PostRequest | None:
    """None: it is not so plain."""
    path = _PATH.fullmatch(scope["path"]) if scope["method"] == "POST" and not scope["query_string"] else None
    authorization = b"" if path is None else basic_header(scope)
    if path is None or not authorization:
        return None
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _GENERAL or name.startswith(_GENERAL_PREFIXES) or (name in _SINGLE and name in found):
            return None
        if name in _SINGLE:
            found[name] = value
    media = found.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
    length = _LENGTH.fullmatch(found.get(b"content-length", b""))
    if media not in FORMATS or length is None or int(length[0]) > SMALL_BYTES:
        return None
    key = found.get(b"idempotency-key", b"").decode("latin-1")
    return PostRequest(path[1], authorization, key, _OPTIONS[FORMATS[media]])
