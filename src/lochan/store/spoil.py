"""Bytes as a broken store would return them. Where they break depends on a number, so that a replay does it alike."""

from collections.abc import AsyncIterator


def corrupted(data: bytes, number: int) -> bytes:
    """One byte changed, somewhere."""
    if not data:
        return data
    at = _scattered(number) % len(data)
    return data[:at] + bytes([data[at] ^ (1 << number % 8)]) + data[at + 1 :]


def shortened(data: bytes, number: int) -> bytes:
    return data[: _scattered(number) % len(data)] if data else data


async def without_end(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The last chunk loses its last byte."""
    held = b""
    async for chunk in chunks:
        if held:
            yield held
        held = chunk
    if len(held) > 1:
        yield held[:-1]


def _scattered(number: int) -> int:
    return number * 2_654_435_761 % (1 << 32)  # Knuth's multiplicative hash: near numbers end up far apart
