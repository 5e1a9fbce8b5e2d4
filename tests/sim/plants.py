"""Planted bugs: each removes one rule from the shipped journal. The simulator must catch every one.

A plant is another `JournalRules`, or a class of the journal with one method changed; nothing here is a second journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from lochan.formats import record as records
from lochan.formats.record import RecordEntry, SealedRecord
from lochan.journal import group, trim
from lochan.journal.rules import Anchor, JournalRules
from lochan.journal.state import State
from tests.sim.violation import NothingPlanted


@dataclass(frozen=True)
class Plant:
    """`rules` is handed to every journal of the run; `patch` swaps classes while the run lasts."""

    rules: JournalRules
    patches: tuple[tuple[Any, str, Any], ...] = field(default=())

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Raises NothingPlanted if what is to be changed no longer exists: otherwise the error of the patch itself
        would be taken for a bug that was caught."""
        for where, name, _ in self.patches:
            if not hasattr(where, name):
                raise NothingPlanted(f"{where!r} has no {name!r} any more; the plant has to follow the code")
        before = [(where, name, getattr(where, name)) for where, name, _ in self.patches]
        for where, name, what in self.patches:
            setattr(where, name, what)
        try:
            yield
        finally:
            for where, name, what in before:
                setattr(where, name, what)


class ShortDay(JournalRules):
    """The shipped rules with a shorter day: a slot is trimmed as soon as it is older than anybody's trust in it."""

    trim_age_s = 61 * 60.0


NONE = Plant(ShortDay())


def _without(name: str, value: Callable[..., Any]) -> Plant:
    """All rules except one, whose decision becomes `value`."""
    return Plant(type("Planted", (ShortDay,), {name: value})())


# --- J1, J2 -------------------------------------------------------------------------------------
def _new_put_id(self: JournalRules, sealed: SealedRecord) -> SealedRecord:
    return records.encode(msgspec.structs.replace(sealed.record, put_id=sha256(sealed.record.put_id).digest()[:16]))


# --- J3 -----------------------------------------------------------------------------------------
class _ChecksAlone(group.GroupCommit):
    """Each request is checked against what is durable, without the earlier ones of its batch."""

    def _check(self, batch: Any, draft: State, time: int) -> Any:
        all_: tuple[list[Any], ...] = ([], [], [], [])
        for one in batch:
            checked: Any = super()._check([one], self._tail.state.fork(), time)
            for whole, part in zip(all_, checked, strict=True):
                whole.extend(part)
        return all_

    def _adopt(self, sealed: SealedRecord, draft: State) -> None:
        if self._tail.next == sealed.record.number:
            self._tail.state.fold(sealed)


class _ChecksOnce(group.GroupCommit):
    """After a lost race the same entries are sent again, unchecked."""

    def _check(self, batch: Any, draft: State, time: int) -> Any:
        fresh = [one for one in batch if one.request not in self._decided()]
        accepted, refused, rest, entries = super()._check(fresh, draft, time)
        for one, entry in zip(accepted, entries, strict=True):
            self._decided()[one.request] = entry
        again = [one for one in batch if one not in fresh and one.request in self._decided()]
        kept: list[RecordEntry] = [self._decided()[one.request] for one in again]
        return again + accepted, refused, rest, kept + entries

    def _decided(self) -> dict[Any, RecordEntry]:
        return self.__dict__.setdefault("decided", {})  # type: ignore[no-any-return]

    def _adopt(self, sealed: SealedRecord, draft: State) -> None:
        if self._tail.next == sealed.record.number:
            self._tail.state.fold(sealed)


class _ChecksBeforePause(_ChecksOnce):
    """What was checked before others had their turn is sent after them, unchecked. A lost race is checked again."""

    async def _give_way(self) -> None:
        super()._check(list(self._queue), self._tail.state.fork(), self._clock.wall())
        await super()._give_way()

    def _check(self, batch: Any, draft: State, time: int) -> Any:
        checked = super()._check(batch, draft, time)
        self._decided().clear()
        return checked


class _TakesTurnForGranted(group.GroupCommit):
    """After another's record a writer takes the next number for its own, whatever the slot says."""

    async def _append(self, sealed: SealedRecord, deadline: float) -> bool:
        is_our_turn = self._rivals._last != self._writer
        return await super()._append(sealed, deadline) or is_our_turn


# --- J4 -----------------------------------------------------------------------------------------
class _DeletesFirst(trim.Trimmer):
    async def _put_segment(self, segment: Any) -> None:
        for number in range(segment.first, segment.first + len(segment.records)):
            await self._slots.delete_many([number])
        await super()._put_segment(segment)


class _DropsSegments(trim.Trimmer):
    async def delete_checkpoints(self) -> None:
        await super().delete_checkpoints()
        for group_ in range(self._tail.next // self._slots.group - 1):
            await self._store.delete(f"{self._prefix}/journal/seg/{group_:020d}")


# --- beyond the numbered rules ------------------------------------------------------------------
class _AcknowledgesFirst(group.GroupCommit):
    def _check(self, batch: Any, draft: State, time: int) -> Any:
        checked = super()._check(batch, draft, time)
        for one in checked[0]:
            one.settle()
        return checked


class _FoldsTwice(group.GroupCommit):
    def _adopt(self, sealed: SealedRecord, draft: State) -> None:
        if self._tail.next == sealed.record.number:
            super()._adopt(sealed, draft)
        else:  # a reader was quicker
            state = self._tail.state
            for entry in sealed.record.entries:
                try:
                    state.apply(entry, sealed.record.number, sealed.record.time)
                except Exception as error:
                    state.schema.alarm(f"folded twice: {error}")


def _class(where: Any, name: str, what: type) -> Plant:
    return Plant(ShortDay(), ((where, name, what),))


PLANTS: dict[str, Plant] = {
    "J1: a retry draws a new put-id": _without("retried", _new_put_id),
    "J2: AlreadyExists is taken for a lost race": _without("reads_back", lambda self: False),
    "J2: an undecided append is reported as failed": _without("undecided_is_unknown", lambda self: False),
    "J3: a request does not see the earlier ones of its batch": _class(group, "GroupCommit", _ChecksAlone),
    "J3: a lost race is not checked again": _class(group, "GroupCommit", _ChecksOnce),
    "J3: a batch is checked before its pause": _class(group, "GroupCommit", _ChecksBeforePause),
    "J2: a turn is taken for the number": _class(group, "GroupCommit", _TakesTurnForGranted),
    "J4: a group is packed before it is full": _without("may_pack", lambda self, last, next_: next_ > last - 1),
    "J4: slots go before their segment is durable": _class(trim, "Trimmer", _DeletesFirst),
    "J4: segments are deleted": _class(trim, "Trimmer", _DropsSegments),
    "J5: segments are not consulted": _without("consults_segments", lambda self: False),
    "J6: a writer trusts its slot for ever": _without(
        "may_trust_slot",
        lambda self, number, *, aged, trust_s, anchor, sent, answered: (
            aged and anchor.number <= number and (trust_s < 3_000 or answered - anchor.sent <= trust_s)
        ),
    ),
    "J6: a reader trusts its slot for ever": _without(
        "may_trust_slot",
        lambda self, number, *, aged, trust_s, anchor, sent, answered: (
            aged and 0 < anchor.number <= number and (trust_s > 3_000 or answered - anchor.sent <= trust_s)
        ),
    ),
    "J6: trust is tested before the answer": _without(
        "may_trust_slot",
        lambda self, number, *, aged, trust_s, anchor, sent, answered: (
            aged and anchor.number <= number and sent - anchor.sent <= trust_s
        ),
    ),
    "J6: a probe is stamped at its answer": _without(
        "anchor_of_absent", lambda self, number, *, sent, answered: Anchor(number, answered)
    ),
    "J6: an unconfirmed absent answer renews": _without(
        "anchor_of_unconfirmed", lambda self, anchor, number, sent: Anchor(number, sent)
    ),
    "J6: a present answer renews": _without(
        "anchor_of_present", lambda self, anchor, number, sent: Anchor(number, sent)
    ),
    "J6: an absent slot vouches for earlier ones": _without("anchor_covers", lambda self, anchor, number: True),
    "J6: the wall clock measures freshness": _without("measures_by_boot_clock", lambda self: False),
    "J6: the slot's age is not asked": _without("slot_is_old", lambda self, now, modified: True),
    "J6: the segment's age is not asked": _without("segment_is_old", lambda self, now, modified: True),
    "J6: the checkpoint's age is not asked": _without("checkpoint_is_old", lambda self, now, modified: True),
    "J6: ages go by the trimmer's own clock": _without("trims_by_store_clock", lambda self: False),
    "J6: the fast path on a disk": _without(
        "may_trust_slot",
        lambda self, number, *, aged, trust_s, anchor, sent, answered: (
            anchor.number <= number and answered - anchor.sent <= trust_s
        ),
    ),
    "J7: a checkpoint counts as a probe": _without(
        "anchor_of_checkpoint", lambda self, number, now: Anchor(number, now)
    ),
    "J8: keys are not tested at the append": _without("checks_keys_at_append", lambda self: False),
    "J8: keys are not tested at all": Plant(
        type(
            "Planted",
            (ShortDay,),
            {"checks_keys_at_append": lambda self: False, "checks_keys_in_fold": lambda self: False},
        )()
    ),
    "J8: no floor": _without("key_is_too_old", lambda self, made, floor: False),
    "acknowledged before the append": _class(group, "GroupCommit", _AcknowledgesFirst),
    "folded twice": _class(group, "GroupCommit", _FoldsTwice),
}
