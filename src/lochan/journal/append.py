"""Puts one record into its slot, and finds out what became of it (rules J1, J2, J5, J6).

AlreadyExists, a conflict, a timeout and a 5xx all mean the same: nobody knows until the slot is read back. Our put-id
there means success, another one means that the number is lost, and nothing there means that the same bytes are sent
again.
"""

from lochan.clock import Clock
from lochan.errors import AlreadyExists, Corrupt, DiskFull, FutureFormat, Mistake, Retry, Transient, Unknown
from lochan.failpoints import fp
from lochan.formats import record as records
from lochan.formats.record import SealedRecord
from lochan.ids import Ids
from lochan.journal.rules import RULES, JournalRules
from lochan.journal.slots import Slots
from lochan.journal.state import State
from lochan.journal.tail import JournalTail, ends_early

_PAUSE_MIN_S = 0.02
_PAUSE_MAX_S = 2.0


class Appender:
    def __init__(
        self, slots: Slots, tail: JournalTail[State], clock: Clock, ids: Ids, rules: JournalRules = RULES
    ) -> None:
        self._slots = slots
        self._tail = tail
        self._clock = clock
        self._ids = ids
        self._rules = rules

    async def append(self, sealed: SealedRecord, deadline: float, *, in_doubt: bool = False) -> bool:
        """Appends the record. Returns True if this record is decided at its number, and False if another one is. Raises
        Unknown if that is not clear by `deadline` (boot time), and DiskFull or a Mistake if certainly nothing was
        created. `in_doubt` means that an earlier call for the same record ended in Unknown."""
        pause = _PAUSE_MIN_S
        while True:
            try:
                decided = await self._try(sealed)
            except (DiskFull, Mistake) as error:
                # It was certainly not created this time, but perhaps by an earlier attempt.
                if in_doubt:
                    raise Unknown(f"record {sealed.record.number} may or may not be written: {error}") from error
                raise
            except Retry:
                decided = None
            if decided is not None:
                return decided
            in_doubt = True
            if self._clock.boot() >= deadline:
                raise Unknown(
                    f"{self._slots.name} did not say whether record {sealed.record.number} was written",
                    hint="ask again with the same idempotency key, or look whether it happened",
                )
            sealed = self._rules.retried(sealed)
            await self._clock.sleep(pause * (0.5 + self._ids.fraction()))
            pause = min(pause * 2, _PAUSE_MAX_S)

    async def _try(self, sealed: SealedRecord) -> bool | None:
        """Sends one put, and returns what follows from its answer, or None if the outcome is still open."""
        number = sealed.record.number
        sent = self._tail.now()
        created = False
        fp("append.before_put")
        try:
            await self._slots.create(number, sealed.data)
            created = True
        except AlreadyExists:
            if not self._rules.reads_back():
                return False
        except (Transient, Unknown):
            pass
        fp("append.after_put")
        try:
            return await self._look(sealed, created, sent)
        except (DiskFull, Mistake) as error:  # the put was sent; only the look is refused, which decides nothing (J2)
            raise Unknown(f"record {number} cannot be read back: {error}") from error

    async def _look(self, sealed: SealedRecord, created: bool, sent: float) -> bool | None:
        """Returns whether our record is decided at that number, or None if that is still open."""
        number = sealed.record.number
        data = None if created else await self._slots.read(number)
        # J5: whatever the slot contains, the segment decides if there is one.
        segment = await self._tail.segment_unless_trusted(number, sent, self._rules.writer_trust_s)
        if segment is not None:
            if number >= segment.first + len(segment.records):
                raise ends_early(segment, number, self._slots.name)
            data = segment.records[number - segment.first]
        elif created:
            return True
        return None if data is None else self._is_ours(data, sealed)

    def _is_ours(self, data: bytes, sealed: SealedRecord) -> bool | None:
        try:
            found = records.decode(data, f"record {sealed.record.number} of {self._slots.name}")
        except Corrupt:  # perhaps damaged only on the network: it does not show whose record is there
            return None
        except FutureFormat:  # from a newer Lochan, so not ours; the fold will report it
            return False
        return found.record.put_id == sealed.record.put_id
