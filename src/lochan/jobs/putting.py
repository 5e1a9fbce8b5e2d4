"""What a task puts to the store, counted where it is put.

The counts travel in the task's messages, and so only those of tries whose messages Spark took: one of its accumulators
would count a task twice that was tried twice. What the other tries put is in no commit, and counted nowhere.
"""

from __future__ import annotations

from lochan.formats.entry import Entry
from lochan.jobs.messages import Message
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.protocol import Store


class Putting:
    def __init__(self, store: Store) -> None:
        self._counts = RequestCounts()
        self._told = 0
        self.store = CountingStore(store, self._counts)  # to put through

    def message(self, entry: Entry, rows: int) -> Message:
        """Of an object that was put."""
        put = self._counts.total.bytes_out
        new, self._told = put - self._told, put
        return Message((entry,), rows, entry.size, put_bytes=new)
