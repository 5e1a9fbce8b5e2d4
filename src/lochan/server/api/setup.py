"""Makes the first administrator, for the person with the link that the server printed when it started.

The link works once, and no longer than the server runs. Its token is drawn anew at each start, and only while the lake
has no user. This process gets only the token's hash, so nothing that it could show would let anybody in."""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from lochan.access.users import NewAccessKey, ensure_admin
from lochan.api.session import Session
from lochan.server.api.errors import HttpError

CLIENT = "page"


def token_hash(token: str) -> bytes:
    return sha256(token.encode()).digest()


async def make_admin(session: Session, expected: bytes, token: str, name: str, source: str) -> NewAccessKey:
    """Makes the administrator. Its credentials are shown only this once. Raises 403 for a wrong token, and 409 if the
    lake has users. Raises Invalid for a name that no user can have; the token can then be used again."""
    access = session.lake.open_access()
    if not (await access.state()).is_empty():
        raise HttpError(409, "the lake is set up already: sign in with an access key, or ask an administrator for one")
    if not expected or not compare_digest(token_hash(token), expected):
        words = "this set-up link is not valid: `lochan serve` prints another one each time it starts on a new lake"
        raise HttpError(403, words)
    made = await ensure_admin(access, name=name, actor=session.acting_as(name, CLIENT, source).actor)
    if made is None:  # another request was quicker
        raise HttpError(409, "the lake was set up just now, by somebody else who had the link")
    return made
