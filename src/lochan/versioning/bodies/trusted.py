"""Blocks on a disk that were read a short while ago and were right. While the file's stamp stays as it was, the next
reads need not hash them again, which takes longer than to send them; every now and then one does, for a disk can lose
what it keeps without a trace.

A store that sends bytes over a network has no stamps: there every read of a whole block is checked, and one of a part
of it is not.
"""

from collections.abc import Callable

from lochan.formats.entry import Block
from lochan.store.verified import Verified

Stamp = tuple[int, ...]

_TIMES = 15  # so many times its own size is believed of a block after it was checked
_HELD_MAX = 4_096
_LARGE_BYTES = 1 << 20  # blocks that other processes are told of: to hash a smaller one takes no longer than to ask


class Trusted:
    """`verified` is what other processes have found out; without it each process hashes blocks itself."""

    def __init__(
        self,
        stamp: Callable[[str], Stamp | None] | None,
        verified: Verified | None = None,
        identity: Callable[[str], Stamp | None] | None = None,
    ) -> None:
        self._stamp = stamp
        self._identity = identity or stamp
        self._verified = verified
        self._left: dict[tuple[str, int, Stamp], int] = {}  # bytes that are believed

    @property
    def has_stamps(self) -> bool:
        return self._stamp is not None

    def stamp(self, block: Block) -> Stamp | None:
        """To be asked before it is read, and after."""
        return None if self._stamp is None else self._stamp(block.address)

    def identity(self, block: Block) -> Stamp | None:
        """As the stamp, also of a file that is new: for who reads it piece by piece and has just hashed it all."""
        return None if self._identity is None else self._identity(block.address)

    def believes(self, block: Block, stamp: Stamp | None, size: int | None = None) -> bool:
        """Whether a read of so many bytes of it (all of them, where nothing is said) need not be checked. They are
        counted."""
        if stamp is None:
            return False
        key = block.address, block.offset, stamp
        left = self._left.get(key)
        if left is None and self._is_verified(block, stamp):
            left = self._keep(key, block)
        if not left:
            return False
        self._left[key] = max(0, left - (block.size if size is None else size))
        return True

    def was_right(self, block: Block, stamp: Stamp | None) -> None:
        if stamp is None:
            return
        self._keep((block.address, block.offset, stamp), block)
        if self._verified is not None and block.size >= _LARGE_BYTES:
            self._verified.add(_name(block), stamp, block.sha256)
            self._verified.save()

    def _keep(self, key: tuple[str, int, Stamp], block: Block) -> int:
        self._left.pop(key, None)
        self._left[key] = _TIMES * block.size
        if len(self._left) > _HELD_MAX:
            del self._left[next(iter(self._left))]
        return self._left[key]

    def _is_verified(self, block: Block, stamp: Stamp) -> bool:
        large = self._verified is not None and block.size >= _LARGE_BYTES
        return large and self._verified is not None and self._verified.has(_name(block), stamp, block.sha256)


def _name(block: Block) -> str:
    return f"{block.address}\0{block.offset}\0{block.size}"


NOBODY = Trusted(None)
