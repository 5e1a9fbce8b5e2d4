"""Idempotency keys (rule J8): which requests have been carried out, so that a re-sent one gets the first one's result.

The table is part of the folded state, per user. It is bounded: the keys made longest ago go first, and `floor`
remembers how far that went, so a key the table may have forgotten is never taken for a new one.
"""

from typing import Any, NamedTuple

import msgspec

from lochan.errors import Invalid, KeyReused, Unknown
from lochan.formats.record import RecordEntry
from lochan.ids import key_time
from lochan.journal.rules import RULES, JournalRules
from lochan.journal.table import FoldTable

# Part of the fold, and so the same in every process: a lake's history decides what is remembered, not a setting.
KEPT_PER_USER = 4_096


class KnownKey(msgspec.Struct, frozen=True, array_like=True):
    fingerprint: bytes
    time: int  # when the key was made; for a foreign key, when its record was
    result: Any
    pending: bool


class KeyedResult(NamedTuple):
    """The request was carried out before; this is what it gave."""

    result: Any


class Keys:
    def __init__(self, kept: int = KEPT_PER_USER, rules: JournalRules = RULES) -> None:
        self._users: FoldTable[str, _UserKeys] = FoldTable()
        self._kept = kept
        self._rules = rules

    def look_up(self, entry: RecordEntry, record_time: int) -> KeyedResult | None:
        """None: not seen before, carry it out. Raises KeyReused, Unknown (too old to tell) or Invalid."""
        user = self._users.get(entry.actor.user)
        known = user.known.get(entry.key) if user else None
        if known is not None:
            if known.fingerprint != entry.fingerprint:
                raise KeyReused(
                    f"idempotency key {entry.key!r} was used for another request",
                    hint="take a new key for a new request",
                )
            closes = known.pending and not entry.pending
            return None if closes else KeyedResult(known.result)
        made = key_time(entry.key)
        if made is None:
            return None
        if user is not None and self._rules.key_is_too_old(made, user.floor):
            raise Unknown(
                f"idempotency key {entry.key!r} is too old to tell whether its request was carried out",
                hint="look at the lake before you ask again with a new key",
            )
        if self._rules.key_is_from_the_future(made, record_time):
            raise Invalid(f"idempotency key {entry.key!r} was made in the future", hint="set the clock of the client")
        return None

    def remember(self, entry: RecordEntry, record_time: int, result: Any) -> None:
        user = self._own(entry.actor.user)
        made = key_time(entry.key)
        time = record_time if made is None else made
        user.known[entry.key] = KnownKey(entry.fingerprint, time, result, entry.pending)
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

    def _own(self, name: str) -> "_UserKeys":
        """The user's keys, copied first if they belong to the state this one was forked from."""
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
        """Forget the `count` keys made longest ago. A pending one stays: its job is still running."""
        oldest = sorted((k.time, key) for key, k in self.known.items() if not k.pending)[:count]
        for time, key in oldest:
            del self.known[key]
            self.floor = max(self.floor, time)


_decoder = msgspec.msgpack.Decoder(dict[str, tuple[int, dict[str, KnownKey]]])
