"""Stores that fail or wait on purpose.

A chooser is asked once for each call, with the verb and the path, and answers with a fault or None. It goes by odds, or
replays an earlier run. Which bytes break depends on a number, so that a replay breaks the same ones.
"""

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from lochan.clock import Clock
from lochan.errors import AlreadyExists, DiskFull, NotFound, Transient
from lochan.store.capabilities import Wrapper
from lochan.store.protocol import Stat, Store


class StoreFault(StrEnum):
    UNAVAILABLE = "unavailable"  # a 5xx at once, nothing done
    TIMEOUT = "timeout"  # no answer for a while, nothing done
    SLOW = "slow"  # done, after a while
    LOST = "lost"  # done, but the answer is lost
    CONFLICT = "conflict"  # a 409, which looks like AlreadyExists: nothing was created
    FULL = "full"  # no room, nothing done
    SHORT = "short"  # the end of the object is missing, and nobody says so
    CORRUPT = "corrupt"  # one byte is another
    BROKEN = "broken"  # an error in the middle of a stream or a list
    HIDDEN = "hidden"  # the newest objects are not seen yet
    SHOWN = "shown"  # deleted objects are still listed


_ANY = {StoreFault.UNAVAILABLE, StoreFault.TIMEOUT, StoreFault.SLOW}
_WRITE = _ANY | {StoreFault.LOST, StoreFault.FULL}
FITTING: Mapping[str, set[StoreFault]] = {
    "get": _ANY | {StoreFault.SHORT, StoreFault.CORRUPT},
    "get_range": _ANY | {StoreFault.CORRUPT},
    "get_stream": _ANY | {StoreFault.SHORT, StoreFault.CORRUPT, StoreFault.BROKEN},
    "head": _ANY | {StoreFault.HIDDEN},
    "put": _WRITE,
    "put_if_absent": _WRITE | {StoreFault.CONFLICT},
    "put_stream": _WRITE,
    "delete": _ANY | {StoreFault.LOST},
    "list": _ANY | {StoreFault.BROKEN, StoreFault.HIDDEN, StoreFault.SHOWN},
}

Chooser = Callable[[str, str], StoreFault | None]


class Shot(NamedTuple):
    """One call and what was chosen for it; a list of them replays the run."""

    verb: str
    path: str
    fault: StoreFault | None


def by_odds(odds: Mapping[str, Mapping[StoreFault, float]], fraction: Callable[[], float]) -> Chooser:
    """`odds` has the probability of each fault for each verb. One number in [0, 1) is drawn for each call."""
    for verb, chances in odds.items():
        if not chances.keys() <= FITTING[verb] or sum(chances.values()) > 1:
            raise ValueError(f"these odds do not fit {verb}: {dict(chances)}")

    def choose(verb: str, path: str) -> StoreFault | None:
        drawn = fraction()
        for fault, chance in odds.get(verb, {}).items():
            if drawn < chance:
                return fault
            drawn -= chance
        return None

    return choose


def replaying(shots: Iterable[Shot]) -> Chooser:
    """The choices of an earlier run. Raises AssertionError if this run does something else."""
    left = deque(shots)

    def choose(verb: str, path: str) -> StoreFault | None:
        shot = left.popleft() if left else Shot("nothing", "", None)
        assert (shot.verb, shot.path) == (verb, path), f"replay: {verb} {path} instead of {shot.verb} {shot.path}"
        return shot.fault

    return choose


_REMEMBERED = 16  # puts and deletes that a stale answer may not know


class FaultStore(Wrapper):
    def __init__(self, inner: Store, clock: Clock, choose: Chooser, *, wait_s: float = 2.0) -> None:
        super().__init__(inner)
        self._clock = clock
        self._choose = choose
        self._wait_s = wait_s
        self._put: deque[str] = deque(maxlen=_REMEMBERED)
        self._deleted: deque[Stat] = deque(maxlen=_REMEMBERED)
        self.shots: list[Shot] = []

    async def get(self, path: str) -> bytes:
        fault = await self._begin("get", path)
        data = await self.inner.get(path)
        if fault is StoreFault.SHORT:
            return shortened(data, len(self.shots))
        return corrupted(data, len(self.shots)) if fault is StoreFault.CORRUPT else data

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        fault = await self._begin("get_range", path)
        data = await self.inner.get_range(path, start, stop)
        return corrupted(data, len(self.shots)) if fault is StoreFault.CORRUPT else data

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        fault = await self._begin("get_stream", path)
        number = len(self.shots)
        stream = self.inner.get_stream(path)
        async for chunk in without_end(stream) if fault is StoreFault.SHORT else stream:
            yield corrupted(chunk, number) if fault is StoreFault.CORRUPT else chunk
            if fault is StoreFault.BROKEN:
                raise Transient(f"{path}: the connection broke (injected)")

    async def head(self, path: str) -> Stat:
        fault = await self._begin("head", path)
        if fault is StoreFault.HIDDEN and path in self._put:
            raise NotFound(f"{path} is not to be seen yet (injected)")
        return await self.inner.head(path)

    async def put(self, path: str, data: bytes) -> None:
        fault = await self._begin("put", path)
        await self.inner.put(path, data)
        self._end(fault, path)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        fault = await self._begin("put_if_absent", path)
        if fault is StoreFault.CONFLICT:
            raise AlreadyExists(f"{path}: 409, two writers met (injected)")
        try:
            await self.inner.put_if_absent(path, data)
        except AlreadyExists:
            if fault is not StoreFault.LOST:
                raise
        self._end(fault, path)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        fault = await self._begin("put_stream", path)
        size = await self.inner.put_stream(path, chunks)
        self._end(fault, path)
        return size

    async def delete(self, path: str) -> None:
        fault = await self._begin("delete", path)
        with suppress(NotFound):
            self._deleted.append(await self.inner.head(path))
        await self.inner.delete(path)
        if fault is StoreFault.LOST:
            raise Transient(f"{path}: the answer was lost (injected)")

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        fault = await self._begin("list", prefix)
        hidden = set(self._put) if fault is StoreFault.HIDDEN else set()
        shown = await _ghosts(self.inner, self._deleted, prefix, after) if fault is StoreFault.SHOWN else []
        async for stat in self.inner.list(prefix, after):
            while shown and shown[0].path < stat.path:
                yield shown.pop(0)
            if stat.path not in hidden:
                yield stat
            if fault is StoreFault.BROKEN:
                raise Transient(f"{prefix}: the connection broke (injected)")
        for stat in shown:
            yield stat

    async def _begin(self, verb: str, path: str) -> StoreFault | None:
        fault = self._choose(verb, path)
        if fault is not None and fault not in FITTING[verb]:
            raise ValueError(f"{fault} does not fit {verb}")
        self.shots.append(Shot(verb, path, fault))
        if fault in (StoreFault.SLOW, StoreFault.TIMEOUT):
            await self._clock.sleep(self._wait_s)
        if fault in (StoreFault.UNAVAILABLE, StoreFault.TIMEOUT):
            raise Transient(f"{path}: {fault} (injected)")
        if fault is StoreFault.FULL:
            raise DiskFull(f"{path}: no room (injected)")
        return fault

    def _end(self, fault: StoreFault | None, path: str) -> None:
        self._put.append(path)
        if fault is StoreFault.LOST:
            raise Transient(f"{path}: the answer was lost (injected)")


async def _ghosts(store: Store, deleted: Iterable[Stat], prefix: str, after: str) -> list[Stat]:
    """The deleted objects that a stale listing would still show, in order."""
    by_path = {stat.path: stat for stat in deleted if stat.path.startswith(prefix) and stat.path > after}
    for path in list(by_path):
        with suppress(NotFound):
            await store.head(path)
            del by_path[path]  # it was put again since
    return sorted(by_path.values())


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


class LatencyStore(Wrapper):
    """`delay(verb)` is in seconds, the verb one of the protocol's names."""

    def __init__(self, inner: Store, clock: Clock, delay: Callable[[str], float]) -> None:
        super().__init__(inner)
        self._clock = clock
        self._delay = delay

    async def get(self, path: str) -> bytes:
        await self._wait("get")
        return await self.inner.get(path)

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        await self._wait("get_range")
        return await self.inner.get_range(path, start, stop)

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        await self._wait("get_stream")
        async for chunk in self.inner.get_stream(path):
            yield chunk

    async def head(self, path: str) -> Stat:
        await self._wait("head")
        return await self.inner.head(path)

    async def put(self, path: str, data: bytes) -> None:
        await self._wait("put")
        await self.inner.put(path, data)

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self._wait("put_if_absent")
        await self.inner.put_if_absent(path, data)

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        await self._wait("put_stream")
        return await self.inner.put_stream(path, chunks)

    async def delete(self, path: str) -> None:
        await self._wait("delete")
        await self.inner.delete(path)

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        await self._wait("list")
        async for stat in self.inner.list(prefix, after):
            yield stat

    async def _wait(self, verb: str) -> None:
        delay = self._delay(verb)
        if delay > 0:
            await self._clock.sleep(delay)
