"""Blocks on a disk that were read a short while ago and were right. While the file's stamp stays as it was, the next
reads need not hash them again, which takes longer than to send them; every now and then one does, for a disk can lose
what it keeps without a trace.

A store that sends bytes over a network has no stamps: there every read of a whole block is checked, and one of a part
of it is not.
"""

from lochan.formats.entry import Block
from lochan.store.capabilities import FileStamp, Stamps
from lochan.store.verified_files import VerifiedFiles

_TIMES = 15  # so many times its own size is believed of a block after it was checked
_HELD_MAX = 4_096
_LARGE_BYTES = 1 << 20  # blocks that other processes are told of: to hash a smaller one takes no longer than to ask


class Trusted:
    """`verified` is what other processes have found out; without it each process hashes blocks itself."""

    def __init__(
        self,
        stamps: Stamps | None,
        verified: VerifiedFiles | None = None,
    ) -> None:
        self._stamps = stamps
        self._verified = verified
        self._left: dict[tuple[str, int, FileStamp], int] = {}  # bytes that are believed

    @property
    def has_stamps(self) -> bool:
        return self._stamps is not None

    def stamp(self, block: Block) -> FileStamp | None:
        """To be asked before it is read, and after."""
        return None if self._stamps is None else self._stamps.stamp(block.address)

    def identity(self, block: Block) -> FileStamp | None:
        """As the stamp, also of a file that is new: for who reads it piece by piece and has just hashed it all."""
        return None if self._stamps is None else self._stamps.identity(block.address)

    def believes(self, block: Block, stamp: FileStamp | None, size: int | None = None) -> bool:
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

    def was_right(self, block: Block, stamp: FileStamp | None) -> None:
        if stamp is None:
            return
        self._keep((block.address, block.offset, stamp), block)
        if self._verified is not None and block.size >= _LARGE_BYTES:
            self._verified.add(_name(block), stamp, block.sha256)
            self._verified.save()

    def _keep(self, key: tuple[str, int, FileStamp], block: Block) -> int:
        self._left.pop(key, None)
        self._left[key] = _TIMES * block.size
        if len(self._left) > _HELD_MAX:
            del self._left[next(iter(self._left))]
        return self._left[key]

    def _is_verified(self, block: Block, stamp: FileStamp) -> bool:
        large = self._verified is not None and block.size >= _LARGE_BYTES
        return large and self._verified is not None and self._verified.has(_name(block), stamp, block.sha256)


def _name(block: Block) -> str:
    return f"{block.address}\0{block.offset}\0{block.size}"


NOBODY = Trusted(None)
