"""Put-if-absent with a verdict: what is there in the end, ours or a rival's, whatever answers were lost on the way."""

from lochan.clock import Clock
from lochan.errors import AlreadyExists, LochanError, Transient, Unknown
from lochan.ids import Ids
from lochan.store.protocol import Store
from lochan.store.retry import Backoff


async def settle(store: Store, path: str, data: bytes, clock: Clock, ids: Ids, deadline: float) -> bytes:
    """The bytes that are durably at `path` now. Equal to `data`: they are there, by us or by an equal rival.

    The same bytes are put until an answer is certain: a success, or AlreadyExists and what is then read. Reading alone
    would not do, for a rival's object may be visible on a local disk before it is synced. An error raised before
    anything was doubtful means that nothing was created; after that it is Unknown, at `deadline` (boot time) at last.
    """
    backoff = Backoff(clock, ids, deadline)
    doubtful = False
    while True:
        try:
            await store.put_if_absent(path, data)
            return data
        except AlreadyExists:
            doubtful = True  # this may be our own write, by an attempt whose answer was lost
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
    """None: it cannot be told now. NotFound after AlreadyExists is a 409 that came to nothing, or a delete since. What
    looks like a rival's may be ours, changed on the way: it is believed when it comes twice."""
    try:
        found = await store.get(path)
        return found if found == ours or found == await store.get(path) else None
    except LochanError:
        return None


def _unknown(store: Store, path: str) -> Unknown:
    return Unknown(
        f"whether {path} was created in {store.url} could not be found out",
        hint="it may be there, or still come; ask again",
    )
