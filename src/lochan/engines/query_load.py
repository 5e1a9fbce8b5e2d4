"""`load` at the end of a query: its rows become one commit of a pool, and the commit is the result."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa

from lochan.engines.query_context import QueryContext
from lochan.engines.result import Result
from lochan.errors import Refused
from lochan.formats.record import Actor
from lochan.pools.shape import INT, OBJECT, STRING
from lochan.query import ast
from lochan.query.output.columns import Column
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.repositories import POOL

_FIELDS = {"commit": STRING, "pool": STRING, "branch": STRING, "rows": INT}


async def load_result(at: QueryContext, into: ast.Load, result: Result, actor: Actor | None) -> Result:
    """Raises Refused, and NothingToDo where the query has no rows."""
    from lochan.engines.duckdb.load.load import LoaderOptions, load
    from lochan.ingest.streams import Input

    if actor is None:
        raise Refused("this query would change a pool, and nobody says who asks", hint="leave out `load`")
    repository = await at.catalog.open_repository(into.pool)
    try:
        about = repository.repository
        if about.kind != POOL:
            raise Refused(f"{into.pool!r} holds files, and is no pool", hint="`lochan create POOL` makes a pool")
        branch = into.branch or about.default_branch

        def opened() -> IO[bytes]:
            return io.BufferedReader(_Pieces(result.ndjson()))

        said = CommitMessage(into.message)
        loaded = await load(
            repository, branch, [Input("the query", opened)], said, actor=actor, how=LoaderOptions("ndjson")
        )
    finally:
        result.close()
        await repository.close()
    return _told(result, [loaded.commit, about.name, branch, loaded.rows])


def _told(done: Result, values: list[str | int]) -> Result:
    members = tuple((name, Column({kind: name})) for name, kind in _FIELDS.items())
    batch = pa.RecordBatch.from_pylist([dict(zip(_FIELDS, values, strict=True))])
    return done.replaced(Column({OBJECT: ""}, members=members), batch)


class _Pieces(io.RawIOBase):
    """Bytes that are made while they are read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any, /) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        room = memoryview(into)
        count = min(len(room), len(self._left))
        room[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
