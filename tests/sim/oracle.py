"""The oracle of a journal: compares what really happened, by the store's own history, with what clients were answered.

Record n is what was first created in slot n, whatever became of that slot afterwards. Every answer is judged by it:

    durable    what was acknowledged is in the journal, once, from the moment of the answer on
    atomic     what was reported not to have happened is not in it; what is unknown is in it at most once
    ordered    every state that anybody saw is the fold of a beginning of the journal
    fresh      a read sees all that was acknowledged, or seen by anybody, before it began
    honest     a refusal was right at some moment between question and answer
"""

import re
from typing import Any

import msgspec

from lochan.errors import Corrupt
from lochan.formats import record as records
from lochan.formats.record import SealedRecord
from lochan.journal.state import Schema, State
from lochan.versioning.repositories import Repositories
from tests.sim.store import SimStore
from tests.sim.world import World

_SLOT = re.compile(r"_lake/journal/(\d{20})")


class JournalOracle:
    def __init__(self, world: World, store: SimStore, keys_kept: int) -> None:
        self.world = world
        self.store = store
        self.records: list[SealedRecord] = []  # record n at n-1
        self.floor = 0  # of what is known to somebody: reads that begin now must reach it
        self._where: dict[str, list[int]] = {}  # tag of a request -> numbers of the records that hold it
        self._acknowledged: dict[str, int] = {}
        self._never: set[str] = set()
        self._names: list[dict[str, str]] = [{}]  # after record n: name -> id
        self._digests: list[bytes] = [bytes(32)]
        self._state = Schema(Repositories, keys_kept=keys_kept, alarm=self.alarm).empty("_lake")
        self._read = 0  # of the store's history

    # --- what the code under test tells ----------------------------------------------------------
    def alarm(self, text: str) -> None:
        """A fold met an event that does not hold: its writer should have refused it."""
        if "no checkpoint" not in text and "was not trimmed" not in text:
            self.world.fail(f"ALARM: {text}")

    def acknowledged(self, tag: str, id: str) -> None:
        self._update()
        numbers = self._where.get(tag, [])
        if len(numbers) != 1:
            self.world.fail(f"{'DOUBLED' if numbers else 'LOST'}: {tag} is acknowledged and stands at {numbers}")
        if id not in _ids(self.records[numbers[0] - 1], tag):
            self.world.fail(f"WRONG RESULT: {tag} was told {id}, the journal says otherwise")
        self._acknowledged[tag] = numbers[0]
        self.floor = max(self.floor, numbers[0])

    def refused(self, tag: str, since: int, name: str, *, exists: bool) -> None:
        self._update()
        self._never.add(tag)
        seen = self._names[since:]
        if not any((name in names) == exists for names in seen):
            self.world.fail(f"UNFOUNDED: {tag} was refused because {name} {'exists' if exists else 'does not exist'}")

    def not_sent(self, tag: str) -> None:
        self._never.add(tag)

    def saw(self, state: State, since: int, who: str) -> None:
        self._update()
        number = state.number
        if number > len(self.records) or state.digest != self._digests[number]:
            self.world.fail(f"DIVERGED: {who} is at {number} with another history")
        if {r.name: r.id for r in state.of(Repositories).all()} != self._names[number]:
            self.world.fail(f"DIVERGED: {who} at {number} has another state")
        if number < since:
            self.world.fail(f"STALE: {who} read {number}, {since} was known before")
        self.floor = max(self.floor, number)

    # --- at the end ------------------------------------------------------------------------------
    def judge(self) -> None:
        self._update()
        for tag in self._acknowledged:
            if len(self._where.get(tag, [])) != 1:
                self.world.fail(f"DOUBLED or LOST: acknowledged {tag} stands at {self._where.get(tag)}")
        for tag in self._never:
            if self._where.get(tag):
                self.world.fail(f"FALSE FAILURE: {tag} was told it did not happen and stands at {self._where[tag]}")
        for tag, numbers in self._where.items():
            if len(numbers) > 1:
                self.world.fail(f"DOUBLED: {tag} stands at {numbers}")

    def _update(self) -> None:
        history = self.store.history
        while self._read < len(history):
            effect = history[self._read]
            self._read += 1
            if effect.outcome == "created" and (slot := _SLOT.fullmatch(effect.path)) and effect.data is not None:
                self._landed(int(slot[1]), effect.data)

    def _landed(self, number: int, data: bytes) -> None:
        if number <= len(self.records):
            return  # the slot was trimmed, and this is a ghost
        if number != len(self.records) + 1:
            self.world.fail(f"GAP: record {number} was created after {len(self.records)}")
        sealed = records.decode(data, f"record {number}")
        try:
            self._state.fold(sealed)
        except Corrupt as error:  # somebody appended to another history than the one there is
            self.world.fail(f"FORKED: {error}")
        self.records.append(sealed)
        self._names.append({r.name: r.id for r in self._state.of(Repositories).all()})
        self._digests.append(sealed.digest)
        for entry in sealed.record.entries:
            self._where.setdefault(entry.actor.source, []).append(number)


def _ids(sealed: SealedRecord, tag: str) -> list[Any]:
    return [
        msgspec.msgpack.decode(change.payload)["id"]
        for entry in sealed.record.entries
        if entry.actor.source == tag
        for change in entry.changes
    ]
