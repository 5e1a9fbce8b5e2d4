"""Repeats calls that the store did not answer properly.

`RetryStore` repeats reads, lists, replacing puts and deletes. It never repeats `put_if_absent`, whose second attempt
would meet the first and look like a conflict, nor `put_stream`, whose chunks are gone. `settle` creates an object and
returns what is there in the end, ours or a rival's, whatever answers were lost on the way."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from lochan.clock import Clock
from lochan.errors import AlreadyExists, LochanError, Transient, Unknown
from lochan.ids import Ids
from lochan.store.capabilities import BulkDelete, ServerCopies, SignedUrls, Wrapper
from lochan.store.protocol import Stat, Store

if TYPE_CHECKING:
    import pyarrow as pa

DEADLINE_S = 20.0
_PART = 8 << 20
_FIRST_S = 0.05
_LAST_S = 2.0

T = TypeVar("T")


def nothing_is_immutable(path: str) -> bool:
    return False


class Backoff:
    """Waits before the next attempt: exponentially longer, with full jitter, so that many clients do not return at
    once. `deadline` is in boot time."""

    def __init__(self, clock: Clock, ids: Ids, deadline: float) -> None:
        self._clock = clock
        self._ids = ids
        self._deadline = deadline
        self._attempts = 0

    async def pause(self, error: LochanError) -> None:
        """Waits before the next attempt. Raises `error` if that would begin after the deadline."""
        longest = min(_LAST_S, _FIRST_S * 2 ** min(self._attempts, 16))
        delay = longest * self._ids.fraction()
        if self._clock.boot() + delay >= self._deadline:
            raise error
        self._attempts += 1
        await self._clock.sleep(delay)


class RetryStore(Wrapper):
    """Repeats calls for `deadline_s` after each call, or after the last progress of a stream or a list.

    A broken stream is resumed by ranges, but only if `immutable` returns that its path is written once: otherwise the
    rest could be of another version."""

    passes_on = (BulkDelete, SignedUrls, ServerCopies)  # `delete_all` repeats what fails, object by object

    def __init__(
        self,
        inner: Store,
        clock: Clock,
        ids: Ids,
        *,
        deadline_s: float = DEADLINE_S,
        immutable: Callable[[str], bool] = nothing_is_immutable,
    ) -> None:
        super().__init__(inner)
        self._clock = clock
        self._ids = ids
        self._deadline_s = deadline_s
        self._immutable = immutable

    async def get(self, path: str) -> bytes:
        return await self._again(lambda: self.inner.get(path))

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        return await self._again(lambda: self.inner.get_range(path, start, stop))

    async def head(self, path: str) -> Stat:
        return await self._again(lambda: self.inner.head(path))

    async def put(self, path: str, data: bytes) -> None:
        await self._again(lambda: self.inner.put(path, data))

    async def delete(self, path: str) -> None:
        await self._again(lambda: self.inner.delete(path))

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        done = 0
        backoff = self._backoff()
        while not done:
            try:
                async for chunk in self.inner.get_stream(path):
                    done += len(chunk)
                    yield chunk
                return
            except Transient as error:
                if not done:
                    await backoff.pause(error)
                elif not self._immutable(path):
                    raise
        size = (await self.head(path)).size
        while done < size:
            chunk = await self.get_range(path, done, min(done + _PART, size))
            done += len(chunk)
            yield chunk

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        async for stat in self._continued(lambda after: self.inner.list(prefix, after), after, _path):
            yield stat

    async def list_tables(self, prefix: str = "", after: str = "") -> "AsyncIterator[pa.Table]":
        from lochan.store.stat_tables import stat_tables

        async for table in self._continued(lambda after: stat_tables(self.inner, prefix, after), after, _last_path):
            yield table

    async def _continued(
        self, listing: Callable[[str], AsyncIterator[T]], after: str, last: Callable[[T], str]
    ) -> AsyncIterator[T]:
        """Continues a listing where it failed."""
        backoff = self._backoff()
        begun = after
        while True:
            try:
                async for item in listing(after):
                    after = last(item)
                    yield item
                return
            except Transient as error:
                if after > begun:
                    backoff, begun = self._backoff(), after
                await backoff.pause(error)

    async def _again(self, call: Callable[[], Awaitable[T]]) -> T:
        backoff = None
        while True:
            try:
                return await call()
            except Transient as error:
                backoff = backoff or self._backoff()
                await backoff.pause(error)

    def _backoff(self) -> Backoff:
        return Backoff(self._clock, self._ids, self._clock.boot() + self._deadline_s)


def _path(stat: Stat) -> str:
    return stat.path


def _last_path(table: "pa.Table") -> str:
    path: str = table["path"][-1].as_py()
    return path


async def settle(store: Store, path: str, data: bytes, clock: Clock, ids: Ids, deadline: float) -> bytes:
    """Creates the object, and returns the bytes that are durably at `path` now. If they equal `data`, we or an equal
    rival have created it.

    The same bytes are put until an answer is certain: a success, or AlreadyExists and a read. Reading alone is not
    enough, because a rival's object may be visible on a local disk before it is synced. An error that is raised before
    anything was in doubt means that nothing was created. After that the error is Unknown, at the latest at `deadline`
    (boot time).
    """
    backoff = Backoff(clock, ids, deadline)
    doubtful = False
    while True:
        try:
            await store.put_if_absent(path, data)
            return data
        except AlreadyExists:
            doubtful = True  # this may be our own write, from an attempt whose answer was lost
            found = await _read(store, path, data)
            if found is not None:
                return found
        except (Transient, Unknown):
            doubtful = True
        except LochanError as error:
            if not doubtful:
                raise
            raise _unknown(store, path) from error
        await backoff.pause(_unknown(store, path))


async def _read(store: Store, path: str, ours: bytes) -> bytes | None:
    """Returns the bytes at the path, or None if they cannot be read now. NotFound after AlreadyExists means a 409
    without a winner, or a delete since. Bytes that look like a rival's may be ours, damaged on the network: they must
    arrive twice to count."""
    try:
        found = await store.get(path)
        return found if found == ours or found == await store.get(path) else None
    except LochanError:
        return None


def _unknown(store: Store, path: str) -> Unknown:
    return Unknown(
        f"whether {path} was created in {store.url} could not be found out",
        hint="it may be there, or appear later; try again",
    )
