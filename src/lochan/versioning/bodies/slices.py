"""A span of a body as blocks of its own: the same bytes, by reference."""

from collections.abc import Sequence

from lochan.errors import Invalid
from lochan.formats.entry import Block


def sliced(blocks: Sequence[Block], start: int, stop: int) -> tuple[Block, ...]:
    """Bytes start to stop, exclusive. A block that is cut loses its SHA-256, which was of the whole."""
    size = sum(block.size for block in blocks)
    if not 0 <= start <= stop <= size:
        raise Invalid(f"bytes {start} to {stop} are not in a body of {size} bytes")
    found = []
    at = 0
    for block in blocks:
        low, high = max(start, at), min(stop, at + block.size)
        if low < high:
            whole = high - low == block.size
            sha256 = block.sha256 if whole else b""
            found.append(Block(block.address, block.offset + low - at, high - low, sha256))
        at += block.size
    return tuple(found)
