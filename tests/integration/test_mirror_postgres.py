"""The mirror of a journal in PostgreSQL, in a bucket of MinIO: what is left when the database is lost."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from lochan import failpoints
from lochan.errors import Corrupt, Transient
from lochan.formats.lake_file import LakeFile
from lochan.journal.journal import Settings
from lochan.journal.mirror import Mirror, MirrorResult, read_mirror
from lochan.journal.open import Journals
from lochan.journal.state import Schema, State
from lochan.journal.trim import TrimResult
from lochan.store.memory import MemoryStore
from lochan.store.open import open_store
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories
from tests.journal_place import CLOCK, IDS, JOURNAL, fill
from tests.postgres_place import PostgresPlace
from tests.run import run
from tests.servers.minio import MinioServer
from tests.servers.postgres import PostgresServer

_prefixes = count()


@pytest.fixture
def bucket(minio_server: MinioServer) -> Store:
    return open_store(f"s3://{minio_server.bucket('mirrors')}/{next(_prefixes)}", minio_server.options)


async def rebuilt(store: Store, group: int) -> State:
    state = Schema(Repositories).empty(JOURNAL)
    async for sealed in read_mirror(store, JOURNAL, group=group):
        state.fold(sealed)
    return state


def test_the_bucket_alone_gives_the_same_state(postgres_server: PostgresServer, bucket: Store) -> None:
    async def play() -> None:
        place = PostgresPlace(postgres_server.url, bucket)
        journal = await place.journal()
        mirror = Mirror(journal.slots, bucket, JOURNAL, CLOCK)
        await fill(journal, 9)
        assert await mirror.mirror() == MirrorResult(segments=2, records=9, upto=9)
        read = [sealed.data async for sealed in read_mirror(bucket, JOURNAL, group=4)]
        assert read == [await place.bytes_of(number) for number in range(1, 10)]
        assert (await rebuilt(bucket, 4)).checkpoint() == journal.tail.state.checkpoint()
        assert await journal.trim() == TrimResult(packed=2, deleted=7)
        await fill(journal, 5, "later")
        assert await mirror.mirror() == MirrorResult(1, 5, 14)
        assert (await rebuilt(bucket, 4)).checkpoint() == journal.tail.state.checkpoint()
        await place.close()

    run(play())


def test_no_slot_goes_before_its_segment_is_in_the_bucket(postgres_server: PostgresServer) -> None:
    """Trimmed without any mirror, and killed between the bucket's segment and the database's row."""

    class Killed(BaseException):
        pass

    def kill(name: str) -> None:
        if name == "postgres.segment_in_bucket":
            raise Killed

    async def play() -> None:
        place = PostgresPlace(postgres_server.url)
        journal, slots = await place.journal(), place.slots()
        await fill(journal, 5)
        failpoints.arm(kill)
        try:
            with pytest.raises(Killed):
                await journal.trim()
        finally:
            failpoints.arm(None)
        assert len([sealed async for sealed in read_mirror(place.store, JOURNAL, group=4)]) == 3
        assert not await slots.has_segment(0)
        assert [listed.number async for listed in slots.listed(100)] == [1, 2, 3, 4, 5]
        assert await (await place.journal()).trim() == TrimResult(packed=1, deleted=3)
        assert (await (await place.journal()).fresh()).checkpoint() == journal.tail.state.checkpoint()
        await place.close()

    run(play())


def test_a_bucket_that_does_not_take_the_segment_keeps_the_slots(postgres_server: PostgresServer) -> None:
    class Full(MemoryStore):
        async def put_if_absent(self, path: str, data: bytes) -> None:
            raise Transient("the bucket does not answer")

    async def play() -> None:
        place = PostgresPlace(postgres_server.url, Full())
        journal = await place.journal()
        await fill(journal, 5)
        with pytest.raises(Transient):
            await journal.trim()
        assert [listed.number async for listed in place.slots().listed(100)] == [1, 2, 3, 4, 5]
        await place.close()

    run(play())


def test_a_packed_segment_that_is_gone_from_the_bucket_is_corrupt(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        place = PostgresPlace(postgres_server.url)
        journal = await place.journal()
        await fill(journal, 5)
        await journal.trim()
        await place.store.delete(f"{JOURNAL}/journal/seg/{0:020d}")
        with pytest.raises(Corrupt, match=r"segment 0 .* is gone"):
            await (await place.journal()).fresh()
        await place.close()

    run(play())


def test_another_history_in_the_bucket_stops_the_trimmer(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        bucket = MemoryStore()
        for prefix in ("one", "another"):
            place = PostgresPlace(postgres_server.url, bucket)
            journal = await place.journal()
            await fill(journal, 5, prefix)
            if prefix == "one":
                await journal.trim()
            else:
                with pytest.raises(Corrupt, match="with other records"):
                    await journal.trim()
                assert [listed.number async for listed in place.slots().listed(100)] == [1, 2, 3, 4, 5]
            await place.close()

    run(play())


def test_a_mirror_behind_and_then_the_database_is_gone(postgres_server: PostgresServer, bucket: Store) -> None:
    """As in a real process: mirrored in the background after every twenty records, and the last ones never."""

    async def play() -> None:
        alarms: list[str] = []
        file = LakeFile(1, IDS.ksuid(CLOCK.wall()), "postgres")
        settings = Settings(mirror_every=20, mirror_s=60, patience_s=0.2)
        journals = Journals(bucket, file, url, CLOCK, IDS, settings, alarms.append, group=16)
        await journals.prepare()
        journal = await journals.open(JOURNAL, (Repositories,))
        await fill(journal, 40)
        for _ in range(20):  # until it has caught up and is idle
            await asyncio.sleep(0.1 if (await rebuilt(bucket, 16)).number < 40 else 0.02)
        mirrored = journal.tail.state.checkpoint()
        await fill(journal, 5, "later")
        postgres_server.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")
        await journals.close()
        assert alarms, "the mirror at the end could not be made"
        assert (await rebuilt(bucket, 16)).checkpoint() == mirrored

    url = postgres_server.new_database()
    run(play())
