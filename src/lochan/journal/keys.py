"""Idempotency keys (rule J8): a request that is sent again with its key gets the result of the first one.

    actor ──▶ keyed(actor, key, "commit", branch, …) ──▶ every append of the request tests the key, and the deciding one
                                                         enters it in the table

Verbs pass their actor on to every append, so they need not know about keys. An append whose events only prepare (a
seal, a turn) tests the key but does not enter it.

The table is part of the folded state, one for each user. It is bounded: the oldest keys are dropped first, and `floor`
is the time of the newest key that was dropped. So a key that the table may have forgotten is never taken for a new one.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple

import msgspec

from lochan.errors import Invalid, KeyReused, LochanError, Unknown
from lochan.formats.record import Actor, CarriedRequest, RecordEntry
from lochan.ids import key_time
from lochan.journal.rules import RULES, JournalRules
from lochan.journal.table import FoldTable

# This is part of the fold, so it is the same in every process: the lake's history decides what is kept, not a setting.
KEPT_PER_USER = 4_096
KEY_LENGTH_MAX = 255


class KnownKey(msgspec.Struct, frozen=True, array_like=True):
    fingerprint: bytes
    time: int  # when the key was made; for a foreign key, when its record was made
    result: Any
    pending: bool


class KeyedResult(NamedTuple):
    """The result of a request that was carried out before."""

    result: Any


class Keys:
    def __init__(self, kept: int = KEPT_PER_USER, rules: JournalRules = RULES) -> None:
        self._users: FoldTable[str, _UserKeys] = FoldTable()
        self._kept = kept
        self._rules = rules

    def look_up(self, entry: RecordEntry, record_time: int) -> KeyedResult | None:
        """Returns the result of an earlier request with this key, or None for a new key, whose request must be carried
        out. Raises KeyReused, Unknown (the key is too old to be known) or Invalid."""
        return self.look_up_key(entry.actor.user, entry.key, entry.fingerprint, record_time, pending=entry.pending)

    def look_up_key(
        self, user: str, key: str, fingerprint: bytes, record_time: int, *, pending: bool = False
    ) -> KeyedResult | None:
        """Looks up the key of a request that has no entry yet, like `look_up`."""
        keys = self._users.get(user)
        known = keys.known.get(key) if keys else None
        if known is not None:
            if known.fingerprint != fingerprint:
                raise KeyReused(
                    f"idempotency key {key!r} was used for another request",
                    hint="take a new key for a new request",
                )
            closes = known.pending and not pending
            return None if closes else KeyedResult(known.result)
        made = key_time(key)
        if made is None:
            return None
        if keys is not None and self._rules.key_is_too_old(made, keys.floor):
            raise Unknown(
                f"idempotency key {key!r} is too old to tell whether its request was carried out",
                hint="look at the lake before you ask again with a new key",
            )
        if self._rules.key_is_from_the_future(made, record_time):
            raise Invalid(f"idempotency key {key!r} was made in the future", hint="set the clock of the client")
        return None

    def remember(self, entry: RecordEntry, record_time: int, result: Any) -> None:
        """Enters the key of the entry, and those of the requests that its changes carry out too."""
        user = self._own_keys(entry.actor.user)
        carried = (entry.key, entry.fingerprint, entry.pending)
        for key, fingerprint, pending in (carried, *((each.key, each.fingerprint, False) for each in entry.others)):
            made = key_time(key)
            time = record_time if made is None else made
            user.known[key] = KnownKey(fingerprint, time, result, pending)
            if len(user.known) > 2 * self._kept:
                user.evict(len(user.known) - self._kept)

    def fork(self) -> "Keys":
        fork = Keys(self._kept, self._rules)
        fork._users = self._users.fork()
        return fork

    def join(self) -> None:
        self._users.join()

    def dump(self) -> object:
        return {name: (user.floor, user.known) for name, user in self._users.items()}

    def load(self, dumped: bytes | msgspec.Raw) -> None:
        for name, (floor, known) in _decoder.decode(dumped).items():
            self._users.put(name, _UserKeys(known, floor, self))

    def _own_keys(self, name: str) -> "_UserKeys":
        """Returns the user's keys. They are copied first if they belong to the state that this one was forked from."""
        user = self._users.get(name)
        if user is None or user.owner is not self:
            user = _UserKeys(dict(user.known), user.floor, self) if user else _UserKeys({}, -1, self)
            self._users.put(name, user)
        return user


class _UserKeys:
    __slots__ = ("floor", "known", "owner")

    def __init__(self, known: dict[str, KnownKey], floor: int, owner: Keys) -> None:
        self.known = known
        self.floor = floor
        self.owner = owner

    def evict(self, count: int) -> None:
        """Forgets the `count` oldest keys. A pending one stays, because its job is still running."""
        oldest = sorted((k.time, key) for key, k in self.known.items() if not k.pending)[:count]
        for time, key in oldest:
            del self.known[key]
            self.floor = max(self.floor, time)


_decoder = msgspec.msgpack.Decoder(dict[str, tuple[int, dict[str, KnownKey]]])


class KeyedActor(Actor, frozen=True, array_like=True):
    key: str = ""
    fingerprint: bytes = b""
    is_new: bool = False  # whether this process has just made the key, so that no request can have used it before
    others: tuple[CarriedRequest, ...] = ()  # requests of the same user that the same changes carry out


class CarriedOut(LochanError):
    """The request was carried out before, with this result. `versioning.idempotency` catches it."""

    kind: ClassVar[str] = "conflict"

    def __init__(self, key: str, result: Any) -> None:
        super().__init__(
            f"the request with idempotency key {key!r} was carried out before", hint="look at the lake for what it did"
        )
        self.key = key
        self.result = result


def with_key(actor: Actor, key: str, *request: object, is_new: bool = False) -> Actor:
    """Returns the actor with an idempotency key. `request` is everything that distinguishes this request from others.
    Raises Invalid for an invalid key."""
    if not key:
        return actor
    check_key_text(key)
    fingerprint = sha256(msgspec.msgpack.encode(request)).digest()
    return KeyedActor(*_of(actor), key, fingerprint, is_new)


def with_keys(actor: Actor, requests: Sequence[Actor]) -> Actor:
    """Returns an actor for several requests of one user at once: the changes carry out all of those that have a key. An
    append that finds that one of them was carried out before raises CarriedOut with its key, and changes nothing."""
    keyed = [each for each in requests if isinstance(each, KeyedActor)]
    if not keyed:
        return actor
    others = tuple([CarriedRequest(each.key, each.fingerprint) for each in keyed[1:]])
    return KeyedActor(*_of(actor), keyed[0].key, keyed[0].fingerprint, False, others)


def without_key(actor: Actor) -> Actor:
    """Returns the actor without its key, for appends that do not decide the request: those before its last one, and
    those that clean up after it."""
    return Actor(*_of(actor)) if isinstance(actor, KeyedActor) else actor


def part_of(actor: Actor, name: str) -> Actor:
    """Returns the actor for one of several parts of a request, each of which is decided by itself."""
    if not isinstance(actor, KeyedActor):
        return actor
    return msgspec.structs.replace(actor, key=f"{actor.key}/{sha256(name.encode()).hexdigest()[:16]}")


def _of(actor: Actor) -> tuple[str, str, str, str]:
    return actor.user, actor.client, actor.source, actor.author


def check_key_text(key: str) -> None:
    if not (0 < len(key) <= KEY_LENGTH_MAX and key.isascii() and key.isprintable() and " " not in key):
        raise Invalid(
            f"{key[:80]!r} is not an idempotency key",
            hint=f"a key is 1 to {KEY_LENGTH_MAX} printable ASCII characters without blanks",
        )
