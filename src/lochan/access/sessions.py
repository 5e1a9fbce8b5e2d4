"""Sessions of people who have signed in: opening them, finding them by their tokens, and ending them.

    token    LKSS… (the id) . secret          in a cookie, or as Bearer
    journal  session-opened: the id and a hash of the secret

Sessions are in the lake's journal. So every server of the lake knows them, and a session ends at all servers at once,
by the rule that holds for access keys (A1). The journal does not contain enough to make a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from lochan.access.open_access import OpenAccess
from lochan.access.state import AccessState, LoginSession
from lochan.formats.events import Event
from lochan.formats.lake_events import SessionEnded, SessionOpened
from lochan.formats.record import Actor

LIFE_S = 12 * 3600
_ID = "LKSS"
_TOKEN_LENGTH_MAX = 256
_MICROSECONDS = 1_000_000


class SignIn(NamedTuple):
    """Who has signed in, and how."""

    user: str
    how: str  # key | oidc | ldap
    key: str = ""  # the access key that was given; empty: another service has identified the user
    source: str = ""  # that service
    address: str = ""  # where they are, without the port


class NewSession(NamedTuple):
    id: str
    token: str
    expires: int  # microseconds since 1970

    def __repr__(self) -> str:
        """Leaves out the token, so that no log or traceback shows it."""
        return f"NewSession(id={self.id!r}, expires={self.expires})"


async def open_session(access: OpenAccess, signed_in: SignIn, *, actor: Actor, lasts_s: float = LIFE_S) -> NewSession:
    """Opens a session. REQUIRES: the person's identity was checked just now. Raises NotFound or Refused for a user or a
    key that may no longer sign in."""
    id = _ID + access.ids.access_key_id()[len(_ID) :]
    secret = access.ids.access_key_secret()
    expires = access.clock.wall() + round(lasts_s * _MICROSECONDS)
    user, how, key, source, address = signed_in
    event = SessionOpened(id, _digest(secret), user, how, expires, key, source, address)
    await access.submit(actor, lambda state: [event], "open-session", id)
    return NewSession(id, f"{id}.{secret}", expires)


async def find_session(access: OpenAccess, token: str, arrived: float) -> LoginSession | None:
    """Returns the session of a token, for a request that arrived at `arrived` (boot time), or None if there is no such
    session or it has ended."""
    id, dot, secret = token.partition(".")
    if not dot or not id.startswith(_ID) or len(token) > _TOKEN_LENGTH_MAX:
        return None
    found = await _open(access, id, arrived)
    if found is None and await access.freshness.catch_up(arrived):  # opened at another server, a moment ago
        found = await _open(access, id, arrived)
    if found is None or not compare_digest(found.digest, _digest(secret)):
        return None
    return found


async def is_open(access: OpenAccess, id: str, arrived: float) -> bool:
    """Returns whether a session that was found before is still open."""
    return await _open(access, id, arrived) is not None


async def end_session(access: OpenAccess, id: str, *, actor: Actor, key: str = "") -> None:
    """Ends a session. When this returns, no server accepts it any more. Raises NotFound."""
    await access.submit(actor, lambda state: [SessionEnded(id)], "end-session", id, key=key, takes_away=True)


async def end_sessions(access: OpenAccess, user: str, *, actor: Actor, key: str = "") -> int:
    """Ends all sessions of the user, and returns how many there were. Raises NotFound."""

    def decide(state: AccessState) -> Sequence[Event]:
        name = state.user(user).name
        return [SessionEnded(each.id) for each in state.sessions() if each.user == name]

    ended = await access.submit(actor, decide, "end-sessions", user, key=key, takes_away=True)
    return len(ended) if isinstance(ended, list) else 1


async def _open(access: OpenAccess, id: str, arrived: float) -> LoginSession | None:
    return (await access.authorised_state(arrived)).open_session(id, access.clock.wall())


def _digest(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()
