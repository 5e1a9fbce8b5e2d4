"""The wrappers in their order, in one place:

    cache      answers for what never changes
    retry      repeats what may be repeated
    counting   counts each attempt
    faults     fails on purpose, in tests
    latency    waits on purpose, in tests and benchmarks
    the store  as `open.py` gave it

Each is there only when it is asked for; the retry always is.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lochan.clock import Clock
from lochan.ids import Ids
from lochan.store.protocol import Store
from lochan.store.retry import DEADLINE_S, RetryStore, nothing_is_immutable

if TYPE_CHECKING:
    from lochan.store.counting import Counts
    from lochan.store.faultplan import Chooser


def stack(
    store: Store,
    *,
    clock: Clock,
    ids: Ids,
    immutable: Callable[[str], bool] = nothing_is_immutable,
    retry_s: float = DEADLINE_S,
    counts: "Counts | None" = None,
    choose: "Chooser | None" = None,
    delay: Callable[[str], float] | None = None,
    cache_folder: str = "",
    cache_bytes_max: int = 0,
) -> Store:
    """`immutable` says which paths are written once, for the cache and for resuming a broken stream."""
    # Imported where they are used: a short command should not pay for wrappers that it does without.
    if delay is not None:
        from lochan.store.latency import LatencyStore

        store = LatencyStore(store, clock, delay)
    if choose is not None:
        from lochan.store.faults import FaultStore

        store = FaultStore(store, clock, choose)
    if counts is not None:
        from lochan.store.counting import CountingStore

        store = CountingStore(store, counts)
    store = RetryStore(store, clock, ids, deadline_s=retry_s, immutable=immutable)
    if cache_folder and cache_bytes_max:
        from lochan.store.cache import CacheStore

        store = CacheStore(store, cache_folder, cache_bytes_max, clock, immutable)
    return store
