"""A request with an idempotency key (rule J8): who asks, and by which key he may ask again.

    actor ──▶ keyed(actor, key, "commit", branch, …) ──▶ every append of the request tests the key, the deciding one
                                                         enters it

Verbs pass their actor on to every append, and so need not know of keys. An append of events that only prepare (a seal,
a turn) tests the key and does not enter it.
"""

from hashlib import sha256
from typing import Any, ClassVar

import msgspec

from lochan.errors import Invalid, LochanError
from lochan.formats.record import Actor

KEY_LENGTH_MAX = 255


class KeyedActor(Actor, frozen=True, array_like=True):
    key: str = ""
    fingerprint: bytes = b""
    is_new: bool = False  # drawn by this process a moment ago: nobody can have used it before


class CarriedOut(LochanError):
    """The request was carried out before, and this is what it gave. Caught by `versioning.idempotency`."""

    kind: ClassVar[str] = "conflict"

    def __init__(self, key: str, result: Any) -> None:
        super().__init__(
            f"the request with idempotency key {key!r} was carried out before", hint="look at the lake for what it did"
        )
        self.key = key
        self.result = result


def keyed(actor: Actor, key: str, *request: object, is_new: bool = False) -> Actor:
    """`request` is whatever makes this request another one than its neighbour. Raises Invalid for what is no key."""
    if not key:
        return actor
    check_key_text(key)
    fingerprint = sha256(msgspec.msgpack.encode(request)).digest()
    return KeyedActor(*_of(actor), key, fingerprint, is_new)


def without_key(actor: Actor) -> Actor:
    """For appends that are not the request's own: those before its last one, and what tidies up after it."""
    return Actor(*_of(actor)) if isinstance(actor, KeyedActor) else actor


def part_of(actor: Actor, name: str) -> Actor:
    """For one of several pieces of work that the request consists of, each of which is decided by itself."""
    if not isinstance(actor, KeyedActor):
        return actor
    return msgspec.structs.replace(actor, key=f"{actor.key}/{sha256(name.encode()).hexdigest()[:16]}")


def _of(actor: Actor) -> tuple[str, str, str, str]:
    return actor.user, actor.client, actor.source, actor.author


def check_key_text(key: str) -> None:
    if not (0 < len(key) <= KEY_LENGTH_MAX and key.isascii() and key.isprintable() and " " not in key):
        raise Invalid(
            f"{key[:80]!r} is not an idempotency key",
            hint=f"a key is 1 to {KEY_LENGTH_MAX} ASCII letters, digits or signs, without blanks",
        )
