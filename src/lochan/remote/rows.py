"""Rows of a remote lake. A query's rows are read from the answer on demand, by any thread, and can be converted to
every form that a local query's can."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, cast

import msgspec

from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.results import LoadResult
from lochan.api.row_bytes import is_row_bytes
from lochan.api.rows_of_body import PLANNED, ROW_DIFF, bytes_of_rows
from lochan.api.wire.call import wire_calls
from lochan.clock import SystemClock
from lochan.errors import LochanError, Refused
from lochan.remote.http import HttpAnswer
from lochan.remote.request import RemoteCall
from lochan.runtime import running_loop

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.engines.result import Result, Stats
    from lochan.engines.row_diff.result import RowDiff
    from lochan.remote.nouns import RemoteNoun

_READ_BYTES = 1 << 20


async def query(noun_name: str, noun: RemoteNoun, *args: Any, **kwargs: Any) -> Result:
    from lochan.engines.result import Result
    from lochan.query.output.stream import read_stream

    answer = await RemoteCall(wire_calls()[noun_name, "query"]).ask(noun, *args, **kwargs)
    file = AnswerFile(answer, asyncio.get_running_loop())
    # The schema is at the beginning. It is read on a thread, as the rest will be.
    row, batches = await asyncio.to_thread(lambda: read_stream(io.BufferedReader(file, _READ_BYTES)))
    return Result(
        row,
        file.checked(batches),
        _stats(answer),
        warnings=await _warnings(noun, answer),
        cancel=file.cancel,
        close=file.close,
        boot=SystemClock().boot,
    )


def _stats(answer: HttpAnswer) -> Stats:
    """Returns what the server has planned to read."""
    from lochan.engines.result import Stats
    from lochan.pools.pruning import Skipped

    stats = Stats(answer.headers.get("x-query-engine", ""))
    planned = msgspec.json.decode(answer.headers.get(PLANNED, "{}"))
    stats.skipped = [Skipped(*each) for each in planned.pop("skipped", ())]
    for name, value in planned.items():
        setattr(stats, name, value)
    return stats


async def _warnings(noun: RemoteNoun, answer: HttpAnswer) -> list[str]:
    if answer.headers.get("x-query-warnings", "0") == "0":
        return []
    found = await noun._server.answer("GET", f"/api/v1/query/{answer.headers['x-query-id']}")
    warnings: list[str] = msgspec.json.decode(await found.read()).get("warnings", [])
    return warnings


class AnswerFile(io.RawIOBase):
    """The body of an answer as a file, for threads without an event loop. Each piece is requested when it is read."""

    def __init__(self, answer: HttpAnswer, loop: asyncio.AbstractEventLoop) -> None:
        self._answer = answer
        self._loop = loop
        self._pieces = answer.pieces()
        self._held = b""
        self._cancelled = False
        self._error: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any, /) -> int:
        if not self._held:
            self._held = self._next()
        size = min(len(into), len(self._held))
        into[:size] = self._held[:size]
        self._held = self._held[size:]
        return size

    def checked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the batches. It replaces Arrow's errors by the one that occurred in the file."""
        try:
            yield from batches
        except Exception:
            if self._cancelled:
                from lochan.api.queries import cancelled_error

                raise cancelled_error() from None
            if self._error is not None:
                raise self._error from None
            raise

    def cancel(self) -> None:
        """Cancels the query, from any thread. The server sees that the connection is closed, and ends the query."""
        self._cancelled = True
        self._wait(self._answer.close())

    def close(self) -> None:
        if not self.closed:
            super().close()
            if not self._loop.is_closed():
                self._wait(self._answer.close())

    def _next(self) -> bytes:
        try:
            found: bytes = self._wait(_next_piece(self._pieces))
            return found
        except LochanError as error:
            self._error = error
            raise OSError(error.message) from error

    def _wait(self, work: Any) -> Any:
        if running_loop() is self._loop:
            if hasattr(work, "cr_frame") and work.__name__ == "close":
                self._closing = self._loop.create_task(work)
                return None
            work.close()
            raise Refused(
                "rows that come from a server cannot be read on the event loop that brings them",
                hint="read them on a thread, such as `await asyncio.to_thread(result.to_arrow)`",
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _next_piece(pieces: AsyncIterator[bytes]) -> bytes:
    return await anext(pieces, b"")


async def load(
    noun: RemoteNoun, rows: Any, message: str = "", options: CommitOptions = DEFAULT_COMMIT, branch: str = ""
) -> LoadResult:
    if is_row_bytes(rows):  # a file of some format
        commit_options = msgspec.structs.replace(options, message=message) if message else options
        loaded: LoadResult = await cast("Any", noun).load_body(rows, options=commit_options, branch=branch)
        return loaded
    media, pieces = bytes_of_rows(rows)

    async def body() -> AsyncIterator[bytes]:
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    given: dict[str, Any] = {"message": message} if message else {}
    if options is not DEFAULT_COMMIT:
        given["options"] = options
    if branch:
        given["branch"] = branch
    call = RemoteCall(wire_calls()["Pool", "load"])
    answer = await call.ask(noun, body(), media=media, **given)
    return msgspec.json.decode(await answer.read(), type=LoadResult)


async def diff_rows(noun: RemoteNoun, *args: Any, **kwargs: Any) -> RowDiff:
    """Compares the rows. They are kept in a file of this machine until the result is closed, because they may be read
    several times."""
    import pyarrow as pa

    from lochan.engines.row_diff.result import ObjectsRead, RowChange, RowDiff
    from lochan.engines.row_diff.sides import Sides

    answer = await RemoteCall(wire_calls()["Lake", "diff_rows"]).ask(noun, *args, **kwargs)
    file = TemporaryFile(prefix="lochan-diff-")  # noqa: SIM115 - the result closes it
    async for piece in answer.pieces():
        await asyncio.to_thread(file.write, piece)

    def batches() -> Iterator[pa.RecordBatch]:
        file.seek(0)
        yield from pa.ipc.open_stream(file)

    file.seek(0)
    summary = msgspec.json.decode(pa.ipc.open_stream(file).schema.metadata[ROW_DIFF])
    sides = summary["sides"]
    keys = tuple(map(tuple, sides["keys"]))
    return RowDiff(
        Sides(sides["repository"], (sides["refs"][0], sides["refs"][1]), sides["is_pool"], ((), ()), keys),
        summary["engine"],
        summary["counts"],
        [RowChange(**each) for each in summary["sample"]],
        batches,
        file.close,
        read=ObjectsRead(*summary["read"]),
    )
