"""The tasks of upkeep that were begun, with their times: a part of the state of the lake's journal.

Several servers look after one lake. Each of them finds out by its own clock that a task is due, and records it in the
journal before it begins, where the others see it. This only saves work: a task that two of them do at once does no
harm, and a task whose server dies is due again after its time."""

from typing import ClassVar

import msgspec

from lochan.errors import NothingToDo
from lochan.formats.events import Event
from lochan.formats.lake_events import UpkeepStarted
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.journal.state import EventPosition, State, StatePart
from lochan.journal.table import FoldTable, FoldTables

SKEW_US = 300_000_000  # a turn from further in the future was recorded by a wrong clock, and does not count


class UpkeepTurn(msgspec.Struct, frozen=True, array_like=True):
    """A task that was begun. Stored in checkpoints: fields may only be added at the end."""

    task: str
    number: int  # the number of the record
    time: int  # microseconds since 1970, by the clock of the process that began it
    user: str


class UpkeepTurns(FoldTables, StatePart):
    name: ClassVar[str] = "upkeep"
    events: ClassVar[tuple[type[Event], ...]] = (UpkeepStarted,)

    def __init__(self) -> None:
        self._turns: FoldTable[str, UpkeepTurn] = FoldTable()

    def find(self, task: str) -> UpkeepTurn | None:
        """Returns the last turn of the task, or None."""
        return self._turns.get(task)

    def apply(self, event: UpkeepStarted, at: EventPosition) -> int:
        self._turns.put(event.task, UpkeepTurn(event.task, at.number, at.time, at.user))
        return at.number

    def dump(self) -> list[UpkeepTurn]:
        return sorted((turn for _, turn in self._turns.items()), key=lambda turn: turn.task)

    def load(self, dumped: msgspec.Raw) -> None:
        for turn in _decoder.decode(dumped):
            self._turns.put(turn.task, turn)


async def last_turn(journal: Journal, task: str, now: int) -> UpkeepTurn | None:
    return _drop_future((await journal.fresh()).of(UpkeepTurns).find(task), now)


async def take_turn(journal: Journal, task: str, before: int | None, now: int, *, actor: Actor) -> bool:
    """Records that the task begins. Returns False if it was begun after `before`. Without `before`, it begins in any
    case."""

    def decide(state: State) -> list[UpkeepStarted]:
        turn = _drop_future(state.of(UpkeepTurns).find(task), now)
        if before is not None and turn is not None and turn.time > before:
            raise NothingToDo(f"{task} was begun by somebody else")
        return [UpkeepStarted(task)]

    try:
        await journal.submit(AppendRequest(actor, decide))
    except NothingToDo:
        return False
    return True


def _drop_future(turn: UpkeepTurn | None, now: int) -> UpkeepTurn | None:
    return turn if turn is not None and turn.time <= now + SKEW_US else None


_decoder = msgspec.msgpack.Decoder(list[UpkeepTurn])
