"""A test's journal in PostgreSQL: its own lake in a database that many tests may share."""

from __future__ import annotations

from lochan.journal.postgres import PostgresConnection, PostgresSlots
from lochan.journal.slots import ObjectSlots
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from tests.journal_place import CLOCK, IDS, JOURNAL, Place


class PostgresPlace(Place):
    def __init__(self, url: str, store: Store | None = None, *, group: int = 4) -> None:
        super().__init__(store or MemoryStore())
        self.url = url
        self.lake = IDS.ksuid(CLOCK.wall())
        self.group = group
        self._connections: list[PostgresConnection] = []

    def connection(self, *, command_s: float = 15.0) -> PostgresConnection:
        self._connections.append(PostgresConnection(self.url, command_s=command_s))
        return self._connections[-1]

    def slots(self, connection: PostgresConnection | None = None) -> PostgresSlots:
        bucket = ObjectSlots(self.store, JOURNAL, aged=False, group=self.group)
        return PostgresSlots(connection or self.connection(), self.lake, JOURNAL, bucket)

    async def overwrite(self, number: int, data: bytes) -> None:
        await self._do("UPDATE lochan.records SET data = %b WHERE lake = %s AND number = %s", data, self.lake, number)

    async def erase(self, number: int) -> None:
        await self._do("DELETE FROM lochan.records WHERE lake = %s AND number = %s", self.lake, number)

    async def close(self) -> None:
        await super().close()
        for connection in self._connections:
            await connection.close()

    async def _do(self, statement: str, *values: object) -> None:
        await self.connection().write(statement, values)
