"""A lake whose journals are in PostgreSQL is backed up, and restored to one whose journals are files."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

from lochan.clock import SystemClock
from lochan.lake import Lake
from lochan.recovery.backup import Backup
from lochan.recovery.fsck import Fsck, FsckRequest
from lochan.recovery.restore import RestoredLake
from lochan.store.memory import MemoryStore
from tests.servers.postgres import PostgresServer
from tests.unit.recovery.history import ANN, play, written
from tests.unit.recovery.plants import shown


def test_a_lake_in_postgres(postgres_server: PostgresServer) -> None:
    async def go() -> None:
        store, target, again = MemoryStore(), MemoryStore("postgres-backup"), MemoryStore()
        lake = await Lake.create(store, journal="postgres", journal_url=postgres_server.url)
        await lake.create_repository("files", actor=ANN)
        files = await lake.open_repository("files")
        await play(files)
        for number in range(260):  # more than a segment
            await written(files, "main", f"more/{number}", str(number))
        await Backup(lake, target, ANN).run()
        await written(files, "main", "later", "not in the first backup")
        await Backup(lake, target, ANN).run()
        view = await files.view(await files.resolve("main"))
        entries = (await view.list("", "", limit=10_000)).entries
        expected = {entry.path: await files.reader.read_all(entry) for entry in entries}
        await files.close()
        await lake.close()
        await RestoredLake(target, again).run()
        assert (await shown(again))["main"] == expected
        for checked in (again, store):  # of the lake itself, its mirror in the bucket
            work = Fsck(checked, FsckRequest((), True, False), lambda: nullcontext(MemoryStore()), SystemClock())
            assert [each async for each in work.run() if each.is_damage] == []

    asyncio.run(go())
