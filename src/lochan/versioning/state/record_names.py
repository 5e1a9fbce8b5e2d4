"""What one record has made so far, by name: all events of a record have its number, so the number alone names nothing
that a record can make twice, such as a branch that is made, deleted and made again."""

from typing import Final

from lochan.journal.table import Table

AGAIN: Final = 1 << 48
"""In a number that has to be unique: the record's number, plus this for each earlier one of the same record. The first
one of a record is its plain number. On somebody's disk."""

_NUMBER = ""  # under this name: of the record that the counts are of


class RecordNames:
    def __init__(self) -> None:
        self._made: Table[str, int] = Table()  # of one record only: the next one starts anew

    def count(self, name: str, number: int) -> int:
        """How many of that name record `number` has made before this one, which counts from now on."""
        if self._made.get(_NUMBER) != number:
            for old in [old for old, _ in self._made.items()]:
                self._made.drop(old)
            self._made.put(_NUMBER, number)
        before = self._made.get(name) or 0
        self._made.put(name, before + 1)
        return before

    def fork(self) -> "RecordNames":
        fork = RecordNames()
        fork._made = self._made.fork()
        return fork

    def join(self) -> None:
        self._made.join()


def record_of(unique: int) -> int:
    """The number of the record."""
    return unique % AGAIN
