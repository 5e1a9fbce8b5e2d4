"""Users and their access keys: creating, finding, rotating, revoking, disabling and deleting them; and the first user,
created when a lake is first served."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import NamedTuple

from lochan.access import resources
from lochan.access.encryption import seal, unseal
from lochan.access.open_access import OpenAccess
from lochan.access.policy import ADMIN, PATTERN_LENGTH_MAX, PATTERNS_MAX
from lochan.access.state import AccessKey, AccessState, User
from lochan.errors import AlreadyExists, Invalid, KeyReused, PreconditionFailed, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import (
    AdminCreated,
    KeyCreated,
    KeyExpirySet,
    KeyRevoked,
    UserCreated,
    UserDeleted,
    UserDisabled,
)
from lochan.formats.record import Actor

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+=-]{0,127}")
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{3,128}")  # no slash, comma or equals sign: a signature's header is cut at these
_SECRET = re.compile(r"[!-~]{16,128}")
_UNSEALED_MAX = 10_000
_MICROSECONDS = 1_000_000
LASTS_S_MAX = 100 * 366 * 86_400
ADMIN_NAME = "admin"


async def create_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> User:
    """Creates a user without any rights. Raises Invalid or AlreadyExists."""
    check_name("user", name)
    await access.submit(actor, lambda state: [UserCreated(name)], "create-user", name, key=key)
    return access.folded().find_user(name) or User(name, 0, actor.user)  # sent twice, and deleted since


async def delete_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """Deletes the user and all their keys, which are not accepted anywhere when this returns. Raises NotFound, or
    Refused if no user would have the policy Admin."""
    await access.submit(actor, lambda state: [UserDeleted(name)], "delete-user", name, key=key, takes_away=True)


async def set_disabled(access: OpenAccess, name: str, on: bool, *, actor: Actor, key: str = "") -> User:
    """Disables or enables the user. When this returns after disabling, none of the user's keys and tokens is accepted.
    They are accepted again after enabling, but the sessions have ended. Raises NotFound, or Refused if no user would
    have the policy Admin."""
    event = UserDisabled(name, on)
    await access.submit(actor, lambda state: [event], "set-disabled", name, on, key=key, takes_away=on)
    return access.folded().user(name)


async def ensure_admin(
    access: OpenAccess, access_key_id: str = "", secret: str = "", *, name: str = ADMIN_NAME, actor: Actor
) -> NewAccessKey | None:
    """Creates a user with all rights and a key if there is no user at all, and returns the credentials, only this once.
    Otherwise returns None. If several servers start at once, one of them gets the credentials: the user is created by
    one event, which is valid while there is no user. Raises Invalid."""
    credentials = admin_credentials(access, access_key_id, secret, name=name)
    if not (await access.state()).is_empty():
        return None
    event = AdminCreated(name, ADMIN, credentials.access_key_id, await seal_secret(access, credentials))
    try:
        await access.submit(actor, lambda state: [event], "create-admin")
    except AlreadyExists:
        return None
    return credentials


def admin_credentials(access: OpenAccess, access_key_id: str, secret: str, *, name: str = ADMIN_NAME) -> NewAccessKey:
    """Returns the given credentials, or new ones. It stores nothing. Raises Invalid."""
    if bool(access_key_id) != bool(secret):
        raise Invalid(
            "only one half of the first administrator's access key was given",
            hint="set both LOCHAN_ADMIN_ACCESS_KEY_ID and LOCHAN_ADMIN_SECRET_ACCESS_KEY, or neither",
        )
    check_name("user", name)
    return new_credentials(access, name, access_key_id, secret)


@dataclass(frozen=True, slots=True)
class NewAccessKey:
    """An access key with its secret, to be shown once, to the caller that created it."""

    user: str
    access_key_id: str
    secret_access_key: str = field(repr=False)  # so that no log or traceback shows it


class KeyOwner(NamedTuple):
    user: str
    secret: str

    def __repr__(self) -> str:
        return f"KeyOwner(user={self.user!r})"


async def create_key(
    access: OpenAccess,
    user: str,
    *,
    id: str = "",
    secret: str = "",
    limits: Sequence[str] = (),
    lasts_s: float = 0,
    actor: Actor,
    key: str = "",
) -> NewAccessKey:
    """Creates an access key. Id and secret are drawn if they are not given. Outside its `limits`, which are patterns of
    resources, it allows nothing; after `lasts_s` it has expired. `key` is the idempotency key: a request that is sent
    again gets the credentials of the first time. Raises Invalid, NotFound or AlreadyExists."""
    check_limits(limits)
    credentials = new_credentials(access, user, id, secret)
    (await access.state()).user(user)
    expires = expiry(access, lasts_s)
    event = KeyCreated(user, credentials.access_key_id, await seal_secret(access, credentials), tuple(limits), expires)
    request = "create-key", user, id, *((list(limits), lasts_s) if limits or lasts_s else ())
    made = await access.submit(actor, lambda state: [event], *request, key=key)
    if made == credentials.access_key_id:
        return credentials
    return await _earlier_key(access, made, secret)


async def rotate_key(
    access: OpenAccess, id: str, *, grace_s: float = 0, lasts_s: float = 0, actor: Actor, key: str = ""
) -> NewAccessKey:
    """Creates another key of the same user with the same limits, and lets the old one expire after `grace_s`, at once
    if that is 0. One event does both, so the user is never without a key. Raises Invalid or NotFound."""
    if grace_s < 0:
        raise Invalid(f"{grace_s} is not a number of seconds", hint="0 ends the old key at once")
    old = (await access.state()).key(id)
    new = None if old is None else await _replacement(access, old, lasts_s)
    ends = expiry(access, grace_s)

    def decide(state: AccessState) -> Sequence[Event]:
        now = state.need_key(id)  # not before: sent again, the request finds what it has done
        if new is None or now != old:
            raise PreconditionFailed(f"access key {id!r} was changed meanwhile", hint="try again")
        sooner = min(ends, now.expires) if now.expires else ends
        return [new.event, KeyExpirySet(id, sooner) if grace_s else KeyRevoked(id)]

    results = await access.submit(actor, decide, "rotate-key", id, grace_s, lasts_s, key=key, takes_away=True)
    if new is not None and results[0] == new.credentials.access_key_id:
        return new.credentials
    return await _earlier_key(access, results[0], "")


class _Replacement(NamedTuple):
    credentials: NewAccessKey
    event: KeyCreated


async def _replacement(access: OpenAccess, old: AccessKey, lasts_s: float) -> _Replacement:
    credentials = new_credentials(access, old.user, "", "")
    secret = await seal_secret(access, credentials)
    ends = expiry(access, lasts_s) or old.expires
    return _Replacement(credentials, KeyCreated(old.user, credentials.access_key_id, secret, old.limits, ends))


def expiry(access: OpenAccess, lasts_s: float) -> int:
    """Returns when the key expires, in microseconds since 1970, or 0 for never. Raises Invalid."""
    if not 0 <= lasts_s <= LASTS_S_MAX:
        raise Invalid(f"{lasts_s} is not a number of seconds that a key can last", hint="0: for ever")
    return access.clock.wall() + round(lasts_s * _MICROSECONDS) if lasts_s else 0


def check_limits(limits: Sequence[str]) -> None:
    """Raises Invalid for too many, too long or malformed patterns."""
    if len(limits) > PATTERNS_MAX:
        raise Invalid(f"{len(limits)} limits are too many; {PATTERNS_MAX} is the most", hint="use wildcards")
    for each in limits:
        if len(each) > PATTERN_LENGTH_MAX:
            raise Invalid(f"a limit is longer than {PATTERN_LENGTH_MAX} characters: {each[:40]!r}…")
        resources.check_pattern(each)


async def revoke_key(access: OpenAccess, id: str, *, actor: Actor, key: str = "") -> None:
    """Revokes the key. No server accepts it for a request that is sent after this returns. Raises NotFound."""
    await access.submit(actor, lambda state: [KeyRevoked(id)], "revoke-key", id, key=key, takes_away=True)


async def find_key(access: OpenAccess, id: str, arrived: float) -> KeyOwner | None:
    """Returns the owner of a key, for a request that arrived at `arrived` (boot time). Returns None if there is no such
    key, if it has expired, or if its user is disabled. Raises Refused if the encryption key is another one."""
    found = (await access.authorised_state(arrived)).active_key(id, access.clock.wall())
    return None if found is None else KeyOwner(found.user, await unseal_secret(access, found))


async def check_encryption(access: OpenAccess) -> list[str]:
    """Returns, for a server's start, the ids of keys whose secrets were encrypted with another key than this process
    has, which happens while one encryption key replaces another. Raises Refused if these are all keys."""
    keys = (await access.state()).keys()
    lost, reason = [], None
    for each in keys:
        try:
            await unseal_secret(access, each)
        except Refused as error:
            lost.append(each.id)
            reason = error
    if reason is not None and len(lost) == len(keys):
        raise reason
    return lost


def new_credentials(access: OpenAccess, user: str, id: str, secret: str) -> NewAccessKey:
    if id:
        check_key_id(id)
    if secret:
        check_secret(secret)
    return NewAccessKey(user, id or access.ids.access_key_id(), secret or access.ids.access_key_secret())


async def seal_secret(access: OpenAccess, credentials: NewAccessKey) -> bytes:
    return seal(
        await access.encryption.get(),
        access.ids.nonce(),
        credentials.secret_access_key,
        id=credentials.access_key_id,
        user=credentials.user,
    )


async def unseal_secret(access: OpenAccess, key: AccessKey) -> str:
    """Decrypts the secret once. It is cached by its sealed bytes, which always differ, so a new key with an old id
    never gets the old secret."""
    known = access.unsealed.get(key.sealed)
    if known is None:
        known = unseal(await access.encryption.get(), key.sealed, id=key.id, user=key.user)
        if len(access.unsealed) >= _UNSEALED_MAX:
            access.unsealed.clear()
        access.unsealed[key.sealed] = known
    return known


async def _earlier_key(access: OpenAccess, id: str, secret: str) -> NewAccessKey:
    """Returns the key that the same request created before. Raises KeyReused if it was given another secret."""
    found = (await access.state()).need_key(id)
    known = await unseal_secret(access, found)
    if secret and not compare_digest(secret.encode(), known.encode()):
        raise KeyReused("the idempotency key was used for another secret", hint="take a new key for a new request")
    return NewAccessKey(found.user, id, known)


def check_name(owner: str, name: str) -> None:
    """Raises Invalid unless the text can be the name of a user, a group or a policy."""
    if not _NAME.fullmatch(name):
        hint = "up to 128 letters, digits and any of . _ @ + = -, beginning with a letter or a digit"
        raise Invalid(f"{name!r} cannot be a {owner}'s name", hint=hint)


def check_key_id(id: str) -> None:
    if not _KEY_ID.fullmatch(id):
        raise Invalid(
            f"{id!r} cannot be an access key's id", hint="3 to 128 letters, digits, dots, dashes and underscores"
        )


def check_secret(secret: str) -> None:
    """Raises Invalid. The message does not repeat the secret."""
    if not _SECRET.fullmatch(secret):
        raise Invalid(
            f"the {len(secret)} characters that were given cannot be the secret of an access key",
            hint="16 to 128 printable ASCII characters without a space",
        )
