"""Opens a lake's journals: objects of its own store, or rows of PostgreSQL with a mirror."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.formats.lake_file import LakeFile
from lochan.ids import Ids
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import GROUP, ObjectSlots, Slots
from lochan.journal.state import Alarm, Schema, State, StatePart
from lochan.store.protocol import Store

if TYPE_CHECKING:  # imported only for a lake that has its journals in PostgreSQL
    from lochan.journal.postgres import PostgresConnection
    from lochan.journal.trim import TrimResult

JOURNALS = ("store", "postgres")


class KnownStates(Protocol):
    """States of journals that were folded before. Each is given to one caller only, because two must not fold into
    it."""

    def take(self, journal: str) -> State | None: ...

    def note_opened(self, journal: str, opened: Journal) -> None: ...


class Journals:
    """Opens the journals of a lake. `url` is the database's; it is not used for journals on the store. `known` states
    are used only for those."""

    def __init__(
        self,
        store: Store,
        file: LakeFile,
        url: str,
        clock: Clock,
        ids: Ids,
        settings: Settings,
        alarm: Alarm = lambda _: None,
        *,
        group: int = GROUP,
        known: KnownStates | None = None,
    ) -> None:
        if file.journal not in JOURNALS:
            raise Invalid(f"{file.journal!r} is not a kind of journal", hint=f"choose one of {', '.join(JOURNALS)}")
        self._store = store
        self._file = file
        self._url = url
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._alarm = alarm
        self._group = group
        self._known = known
        self._database: PostgresConnection | None = None
        self._opened: WeakSet[Journal] = WeakSet()

    async def prepare(self) -> None:
        """Prepares a new lake before it is created. Raises whatever would prevent its journals from being used."""
        if self._file.journal == "postgres":
            await self._connection().register(self._file.lake)

    async def open(self, journal: str, parts: tuple[type[StatePart], ...], store: Store | None = None) -> Journal:
        """Opens a journal. `store` is where the journal is, if not in the lake's own store."""
        schema = Schema(*parts, alarm=self._alarm)
        slots = await self._slots(journal, store)
        if self._file.journal == "postgres":
            opened = await self._open_postgres(journal, schema, slots)
        else:
            at = store or self._store
            state = None if self._known is None else self._known.take(journal)
            opened = await Journal.open(journal, schema, slots, at, self._clock, self._ids, self._settings, known=state)
            if self._known is not None:
                self._known.note_opened(journal, opened)
        self._opened.add(opened)
        return opened

    async def _slots(self, journal: str, store: Store | None = None) -> Slots:
        if self._file.journal != "postgres":
            at = store or self._store
            return ObjectSlots(at, journal, aged=not at.url.startswith("file:"), group=self._group)
        database = self._connection()
        await database.check_registered(self._file.lake)
        from lochan.journal.postgres import PostgresSlots

        bucket = ObjectSlots(self._store, journal, aged=False, group=self._group)
        return PostgresSlots(database, self._file.lake, journal, bucket)

    async def trim(self, journal: str, parts: tuple[type[StatePart], ...], store: Store | None = None) -> TrimResult:
        """Trims a journal that this process does not have open. It finds out without a fold whether there is anything
        to do."""
        from lochan.journal.trim import NOTHING, has_work

        if not await has_work(await self._slots(journal, store)):
            return NOTHING
        opened = await self.open(journal, parts, store)
        try:
            return await opened.trim()
        finally:
            await opened.close()

    async def close(self) -> None:
        for journal in list(self._opened):
            await journal.close()
        if self._database is not None:
            await self._database.close()

    async def _open_postgres(self, journal: str, schema: Schema, slots: Slots) -> Journal:
        from lochan.journal.mirror import Mirror, Mirroring, check_holds

        mirroring = Mirroring(
            Mirror(slots, self._store, journal, self._clock),
            self._alarm,
            every_records=self._settings.mirror_every,
            every_s=self._settings.mirror_s,
        )
        opened = await Journal.open(
            journal, schema, slots, self._store, self._clock, self._ids, self._settings, behind=mirroring
        )
        state = opened.tail.state
        await check_holds(slots, state.number, state.digest, "a checkpoint in the bucket")
        return opened

    def _connection(self) -> PostgresConnection:
        if self._database is None:
            try:
                from lochan.journal.postgres import URL_SETTING, PostgresConnection
            except ImportError as error:
                raise Invalid(
                    f"this lake has its journals in PostgreSQL, but psycopg is missing: {error}",
                    hint="pip install 'lochan[postgres]'",
                ) from error
            if not self._url:
                raise Invalid(
                    f"the journals of {self._store.url} are in PostgreSQL, but its URL is not set", hint=URL_SETTING
                )
            self._database = PostgresConnection(self._url)
        return self._database
