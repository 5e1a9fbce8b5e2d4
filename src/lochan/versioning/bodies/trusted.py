"""Blocks on a disk that were read a short while ago and were right. While the file's stamp stays as it was, the next
reads need not hash them again, which takes longer than to send them; every now and then one does, for a disk can lose
what it keeps without a trace.

A store that sends bytes over a network has no stamps: there every read is checked.
"""

from collections.abc import Callable

from lochan.formats.entry import Block

Stamp = tuple[int, ...]

_TIMES = 15  # that a block is believed after it was checked
_HELD_MAX = 4_096


class Trusted:
    def __init__(self, stamp: Callable[[str], Stamp | None] | None) -> None:
        self._stamp = stamp
        self._left: dict[tuple[str, int, Stamp], int] = {}

    def stamp(self, block: Block) -> Stamp | None:
        """To be asked before it is read, and after."""
        return None if self._stamp is None else self._stamp(block.address)

    def believes(self, block: Block, stamp: Stamp | None) -> bool:
        """Whether this read need not be checked. It is counted."""
        left = 0 if stamp is None else self._left.get((block.address, block.offset, stamp), 0)
        if stamp is None or left == 0:
            return False
        self._left[block.address, block.offset, stamp] = left - 1
        return True

    def was_right(self, block: Block, stamp: Stamp | None) -> None:
        if stamp is None:
            return
        key = block.address, block.offset, stamp
        self._left.pop(key, None)
        self._left[key] = _TIMES
        if len(self._left) > _HELD_MAX:
            del self._left[next(iter(self._left))]


NOBODY = Trusted(None)
