"""Users and their access keys: created, found, revoked, deleted; and the first user, made when a lake is first served.
Rotating a key is creating the new one, then revoking the old one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import NamedTuple

from lochan.access.encryption import seal, unseal
from lochan.access.open_access import OpenAccess
from lochan.access.policy import ADMIN
from lochan.access.state import AccessKey, User
from lochan.errors import AlreadyExists, Invalid, KeyReused, Refused
from lochan.formats.lake_events import AdminCreated, KeyCreated, KeyRevoked, UserCreated, UserDeleted
from lochan.formats.record import Actor

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+=-]{0,127}")
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{3,128}")  # no slash, comma or equals sign: a signature's header is cut at these
_SECRET = re.compile(r"[!-~]{16,128}")
_UNSEALED_MAX = 10_000
ADMIN_NAME = "admin"


async def create_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> User:
    """Nothing is allowed to a new user. Raises Invalid, AlreadyExists."""
    check_name("user", name)
    await access.submit(actor, lambda state: [UserCreated(name)], "create-user", name, key=key)
    return access.folded().find_user(name) or User(name, 0, actor.user)  # sent twice, and deleted since


async def delete_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """With all its keys, which work nowhere any more when this returns. Raises NotFound, or Refused for the last who
    has the policy Admin."""
    await access.submit(actor, lambda state: [UserDeleted(name)], "delete-user", name, key=key, takes_away=True)


async def ensure_admin(
    access: OpenAccess, access_key_id: str = "", secret: str = "", *, name: str = ADMIN_NAME, actor: Actor
) -> NewAccessKey | None:
    """If there is no user at all: makes one who may do everything, with a key, and returns its credentials, this once.
    Else None. Of several servers that start at once, one is given them: it is one event, valid while there is no user.
    Raises Invalid."""
    credentials = admin_credentials(access, access_key_id, secret, name=name)
    if not (await access.state()).is_empty():
        return None
    event = AdminCreated(name, ADMIN, credentials.access_key_id, await sealed(access, credentials))
    try:
        await access.submit(actor, lambda state: [event], "create-admin")
    except AlreadyExists:
        return None
    return credentials


def admin_credentials(access: OpenAccess, access_key_id: str, secret: str, *, name: str = ADMIN_NAME) -> NewAccessKey:
    """Those that were given, or new ones; nothing is kept of them. Raises Invalid."""
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
    access: OpenAccess, user: str, *, id: str = "", secret: str = "", actor: Actor, key: str = ""
) -> NewAccessKey:
    """Id and secret are drawn where they are not given. `key` is the idempotency key: a request that is sent again gets
    the credentials of the first time. Raises Invalid, NotFound, AlreadyExists."""
    credentials = new_credentials(access, user, id, secret)
    (await access.state()).user(user)
    event = KeyCreated(user, credentials.access_key_id, await sealed(access, credentials))
    made = await access.submit(actor, lambda state: [event], "create-key", user, id, key=key)
    if made == credentials.access_key_id:
        return credentials
    return await _made_before(access, made, secret)


async def revoke_key(access: OpenAccess, id: str, *, actor: Actor, key: str = "") -> None:
    """When this returns, no request that is sent from then on is let in by it, wherever. Raises NotFound."""
    await access.submit(actor, lambda state: [KeyRevoked(id)], "revoke-key", id, key=key, takes_away=True)


async def find_key(access: OpenAccess, id: str, arrived: float) -> KeyOwner | None:
    """For a request that had arrived at `arrived` (boot time). Raises Refused where the encryption key is another."""
    found = (await access.authorised_state(arrived)).key(id)
    return None if found is None else KeyOwner(found.user, await unsealed(access, found))


async def check_encryption(access: OpenAccess) -> list[str]:
    """For a server's start: the ids of keys whose secrets were encrypted with another key than this process has, such
    as are left while one encryption key takes over from another. Raises Refused if that is all of them."""
    keys = (await access.state()).keys()
    lost, reason = [], None
    for each in keys:
        try:
            await unsealed(access, each)
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


async def sealed(access: OpenAccess, credentials: NewAccessKey) -> bytes:
    return seal(
        await access.encryption.get(),
        access.ids.nonce(),
        credentials.secret_access_key,
        id=credentials.access_key_id,
        user=credentials.user,
    )


async def unsealed(access: OpenAccess, key: AccessKey) -> str:
    """Decrypted once. Kept by the sealed bytes, which always differ: a new key with an old id is not found here."""
    known = access.unsealed.get(key.sealed)
    if known is None:
        known = unseal(await access.encryption.get(), key.sealed, id=key.id, user=key.user)
        if len(access.unsealed) >= _UNSEALED_MAX:
            access.unsealed.clear()
        access.unsealed[key.sealed] = known
    return known


async def _made_before(access: OpenAccess, id: str, secret: str) -> NewAccessKey:
    """The key that the same request made before."""
    found = (await access.state()).need_key(id)
    known = await unsealed(access, found)
    if secret and not compare_digest(secret.encode(), known.encode()):
        raise KeyReused("the idempotency key was used for another secret", hint="take a new key for a new request")
    return NewAccessKey(found.user, id, known)


def check_name(owner: str, name: str) -> None:
    """Checks the name of a user or a policy."""
    if not _NAME.fullmatch(name):
        hint = "up to 128 letters, digits and any of . _ @ + = -, beginning with a letter or a digit"
        raise Invalid(f"{name!r} cannot be a {owner}'s name", hint=hint)


def check_key_id(id: str) -> None:
    if not _KEY_ID.fullmatch(id):
        raise Invalid(
            f"{id!r} cannot be an access key's id", hint="3 to 128 letters, digits, dots, dashes and underscores"
        )


def check_secret(secret: str) -> None:
    """What was given is never repeated."""
    if not _SECRET.fullmatch(secret):
        raise Invalid(
            f"the {len(secret)} characters that were given cannot be the secret of an access key",
            hint="16 to 128 printable ASCII characters without a space",
        )
