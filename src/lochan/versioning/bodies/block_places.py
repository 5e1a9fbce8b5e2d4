"""The places where the blocks of a repository are read: at their own address, or where an alias leads (G7).

Every reader asks this module, and no other. A repository without aliases, as most are, costs one comparison. The tables
that a state names are read once, and kept until the state names others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from lochan.errors import ConcurrentCommit, NotFound
from lochan.formats.collection_events import AliasNames
from lochan.store.checked_reads import get_checked

if TYPE_CHECKING:  # Arrow is imported only if there are aliases
    import pyarrow as pa

    from lochan.formats.entry import Block, Entry
    from lochan.journal.journal import Journal
    from lochan.store.protocol import Store
    from lochan.versioning.bodies.aliases import Aliases


class Places(Protocol):
    """Finds the places of blocks, for a reader of bodies."""

    def ready(self) -> Callable[[Block], Block] | None:
        """Returns a function that places one block, or None if tables have to be read first."""

    async def place(self, entry: Entry) -> Entry:
        """Returns the entry with its blocks at the places where they are now."""

    async def place_again(self, entry: Entry) -> Entry:
        """Places the entry again after a probe of the journal, for a reader that has missed a file (G5)."""


class NoPlaces:
    """Places every block at its own address, for a reader whose entries were placed before."""

    def ready(self) -> Callable[[Block], Block] | None:
        return _as_it_is

    async def place(self, entry: Entry) -> Entry:
        return entry

    async def place_again(self, entry: Entry) -> Entry:
        return entry


class BlockPlaces:
    def __init__(self, store: Store, repository: str, journal: Journal, now: Callable[[], AliasNames]) -> None:
        self._store = store
        self._repository = repository
        self._journal = journal
        self._now = now
        self._names = AliasNames()
        self._aliases: Aliases | None = None  # the aliases of these names
        self._ready: Callable[[Block], Block] | None = None
        self._ready_at = _NEVER  # the number of the state that it belongs to

    @property
    def names(self) -> AliasNames:
        """The names of the tables of aliases, as this process last saw them."""
        return self._now()

    def ready(self) -> Callable[[Block], Block] | None:
        number = self._journal.tail.state.number
        if number != self._ready_at:  # the names are computed once for each state
            self._ready = self._find_ready()
            self._ready_at = number if self._ready is not None else _NEVER
        return self._ready

    def _find_ready(self) -> Callable[[Block], Block] | None:
        names = self.names
        if names == _NONE:
            return _as_it_is
        return self._aliases.place if self._aliases is not None and names == self._names else None

    async def place(self, entry: Entry) -> Entry:
        return entry if self.names == _NONE else (await self.aliases()).place_entry(entry)

    async def place_again(self, entry: Entry) -> Entry:
        await self._journal.fresh()
        return await self.place(entry)

    async def place_all(self, entries: Sequence[Entry]) -> list[Entry]:
        if self.names == _NONE:
            return list(entries)
        aliases = await self.aliases()
        return [aliases.place_entry(each) for each in entries]

    async def place_files(self, entries: Sequence[Entry]) -> list[Entry]:
        """Places the entries for engines that read whole files: an object that was coalesced into one file is one
        block."""
        if self.names == _NONE:
            return list(entries)
        aliases = await self.aliases()
        return [aliases.place_file(each) for each in entries]

    async def place_table(self, entries: pa.Table) -> pa.Table:
        """Places the blocks of a table of ENTRY_SCHEMA, or of any table with blocks."""
        return entries if self.names == _NONE else (await self.aliases()).place_table(entries)

    async def aliases(self) -> Aliases:
        """Returns all aliases, as this process last saw them. Raises Corrupt for a table that is damaged or gone."""
        while True:
            names = self.names
            with suppress(ConcurrentCommit):
                found = await self.load(names)
                if names == self.names:
                    return found

    async def load(self, names: AliasNames) -> Aliases:
        """Loads the aliases of any state. Raises ConcurrentCommit if its tables were replaced and have been
        collected."""
        from lochan.formats.alias_table import AliasTableGone

        if self._aliases is not None and names == self._names:
            return self._aliases
        try:
            loaded = await load_aliases(self._store, self._repository, names)
        except AliasTableGone as error:  # G5
            await self._journal.fresh()
            if self.names == names:
                raise
            raise ConcurrentCommit("others have set aliases meanwhile", hint="try again") from error
        self._names, self._aliases = names, loaded
        return loaded


async def load_aliases(store: Store, repository: str, names: AliasNames) -> Aliases:
    """Loads the tables of aliases. Raises Corrupt for a table that is damaged or gone: nobody may read a byte without
    it."""
    from lochan.versioning.bodies.aliases import NO_ALIASES, Aliases

    if names == _NONE:
        return NO_ALIASES
    return Aliases([await _table(store, repository, name) for name in names.tables], dict(names.files))


async def _table(store: Store, repository: str, name: str) -> pa.Table:
    from lochan.formats import alias_table

    async def decode(data: bytes) -> pa.Table:
        return alias_table.decode(name, data, repository)

    try:
        return await get_checked(store, f"{repository}/{name}", decode)
    except NotFound as error:
        raise alias_table.AliasTableGone(name) from error


def _as_it_is(block: Block) -> Block:
    return block


_NONE = AliasNames()
_NEVER = -1
NO_PLACES = NoPlaces()
