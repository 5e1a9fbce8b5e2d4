"""Reads the data objects of a head, and stores new ones, for loads, deletes and compactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from lochan.engines.duckdb.files import Files, gone_error
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.objects import WrittenObject
from lochan.engines.duckdb.session import DuckSession, run_on_thread
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.pools.commit_objects import ObjectWriter
from lochan.pools.objects import entries
from lochan.pools.settings import settings_of
from lochan.pools.snapshot import Owner, Snapshot
from lochan.tree.tree import Tree
from lochan.versioning.open_repository import OpenRepository

_PIECE_BYTES = 2 << 20

T = TypeVar("T")


class Sessions(NamedTuple):
    main: DuckSession
    spare: DuckSession  # a session for rows that are kept as text

    async def apart(self, work: Callable[[], T]) -> T:
        """Runs work on a thread. Cancelling the caller cancels both sessions."""
        return await run_on_thread(work, self.main, self.spare)


@contextmanager
def sessions(files: Files, limits: Limits, temp: str | None = None) -> Iterator[Sessions]:
    """Opens two sessions, which together stay within the limits."""
    half = limits._replace(memory_bytes=limits.memory_bytes // 2)
    with (
        DuckSession(half, folders=files.folders, temp=temp, ordered=False) as main,
        DuckSession(half, temp=temp, ordered=False) as spare,
    ):
        yield Sessions(main, spare)


async def snapshot_of(repository: OpenRepository, commit: str, tree: Tree) -> Snapshot:
    about = repository.repository
    found = await repository.places.place_table(await entries(tree))
    return Snapshot([Owner(about.name, commit)], settings_of(about), [found])


def entries_at(snapshot: Snapshot, indices: Sequence[int]) -> list[Entry]:
    return entries_of(snapshot.taken(indices))


async def place_objects(
    files: Files, snapshot: Snapshot, indices: Sequence[int], work: str, *, recheck: bool = True
) -> dict[int, str]:
    """Returns the path of each object. Raises Gone, Corrupt. Checks them again by default, because copying rows into
    new files must not copy damage."""
    objects = snapshot.objects(indices)
    paths = await files.place(objects, work, recheck=recheck)
    for object, path in zip(objects, paths, strict=True):
        if not path:
            raise gone_error(object)
    return dict(zip(indices, paths, strict=True))


Apart = Callable[[Callable[[], WrittenObject | None]], Awaitable[WrittenObject | None]]


async def store_objects(
    repository: OpenRepository, mint: int, files: Iterator[WrittenObject], on_a_thread: Apart = asyncio.to_thread
) -> list[Entry]:
    """Stores each file as an object that is on no branch yet. Runs the iterator `on_a_thread`."""
    writer = ObjectWriter.of(repository, mint)
    made = []
    while (written := await on_a_thread(lambda: next(files, None))) is not None:
        made.append(await writer.write(_pieces(written.file), written.facts))
        written.file.unlink()
    return made


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as stream:
        while piece := await asyncio.to_thread(stream.read, _PIECE_BYTES):
            yield piece
