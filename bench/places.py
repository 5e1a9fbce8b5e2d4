"""Where a benchmark's journal is: in a folder on this machine's disk, or in a MinIO on it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from lochan.clock import SystemClock
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema
from lochan.store.counts import RequestCounts
from lochan.store.open import open_store, stack
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories

CLOCK = SystemClock()
IDS = Ids()
ACTOR = Actor("ada", "bench/1", "127.0.0.1")
_numbers = count()


@dataclass(frozen=True)
class Place:
    name: str
    url: str  # of a folder or prefix; each use takes one below it
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        return self.url.startswith("/")

    def below(self) -> str:
        return f"{self.url}/{next(_numbers)}"


@contextmanager
def places() -> Iterator[list[Place]]:
    from tests.servers.minio import minio

    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder, minio() as server:
        yield [
            Place("local disk", folder),
            Place("MinIO", f"s3://{server.bucket('bench')}/bench", server.options),
        ]


def open_counted(url: str, options: Mapping[str, str]) -> tuple[Store, RequestCounts]:
    counts = RequestCounts()
    return stack(open_store(url, options, create=True), clock=CLOCK, ids=IDS, counts=counts), counts


async def open_journal(store: Store) -> Journal:
    slots = ObjectSlots(store, "_lake", aged=not store.url.startswith("file:"))
    return await Journal.open("_lake", Schema(Repositories), slots, store, CLOCK, IDS)


def create(name: str) -> AppendRequest:
    created = RepositoryCreated(IDS.ksuid(CLOCK.wall()), name, "files", "main")
    return AppendRequest(ACTOR, lambda state: [created])
