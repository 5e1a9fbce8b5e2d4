"""A fingerprint of the rows of a load, for its idempotency key (J8): the same key with other rows is another request,
and is refused. Without a key it is not computed.

Rows that can be read only once, of a generator or an Arrow reader, are kept in a file while they are hashed, and read
from there."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec

_BATCH_ROWS = 8_192
_CHUNK_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class DigestedRows:
    """Rows whose bytes were hashed before, for example by a server that has received them."""

    rows: Any
    sha256: str


@asynccontextmanager
async def fingerprint_rows(rows: Any) -> AsyncIterator[DigestedRows]:
    """Yields the rows, which can be read from the beginning within the context. Errors of reading them are raised
    here."""
    if isinstance(rows, DigestedRows):
        yield rows
        return
    with TemporaryFile(prefix="lochan-rows-") as file:
        yield await asyncio.to_thread(_digest_rows, rows, file)


def _digest_rows(rows: Any, file: IO[bytes]) -> DigestedRows:
    import pyarrow as pa

    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return DigestedRows(rows, _hash_table(rows))
    if isinstance(rows, pa.RecordBatchReader):
        return _spool_batches(rows, file)
    if isinstance(rows, list | tuple):
        return DigestedRows(rows, _hash_dicts(rows))
    return _spool_dicts(rows, file)


def _hash_table(table: Any) -> str:
    """Hashes a table, however it is cut into chunks."""
    digest = sha256(table.schema.serialize())
    for start in range(0, len(table), _BATCH_ROWS):
        for batch in table.slice(start, _BATCH_ROWS).combine_chunks().to_batches():
            digest.update(batch.serialize())
    return digest.hexdigest()


def _spool_batches(reader: Any, file: IO[bytes]) -> DigestedRows:
    """Hashes batches as they arrive, because a client that repeats a request sends the same batches."""
    import pyarrow as pa

    digest = sha256(reader.schema.serialize())
    with pa.ipc.new_stream(file, reader.schema) as writer:
        for batch in reader:
            digest.update(batch.serialize())
            writer.write_batch(batch)
    file.seek(0)
    return DigestedRows(pa.ipc.open_stream(file), digest.hexdigest())


def _hash_dicts(rows: Iterable[Any]) -> str:
    digest = sha256()
    for row in rows:
        digest.update(_bytes_of(row))
    return digest.hexdigest()


def _spool_dicts(rows: Iterable[Any], file: IO[bytes]) -> DigestedRows:
    digest, held = sha256(), []
    for row in rows:
        digest.update(_bytes_of(row))
        held.append(row)
        if len(held) == _CHUNK_ROWS:
            pickle.dump(held, file)
            held = []
    pickle.dump(held, file)
    file.seek(0)
    return DigestedRows(_read_spool(file), digest.hexdigest())


def _read_spool(file: IO[bytes]) -> Iterator[Any]:
    """Reads rows back from a file that only this process had access to."""
    while True:
        try:
            rows = pickle.load(file)
        except EOFError:
            return
        yield from rows


def _bytes_of(row: Any) -> bytes:
    try:
        return _encoder.encode(row)
    except (OverflowError, UnicodeEncodeError, TypeError, RecursionError):  # a value that MessagePack cannot hold
        return repr(row).encode(errors="surrogatepass")


def _encode_other(value: Any) -> Any:
    """Replaces a value that JSON does not have by its type and its text."""
    return [type(value).__name__, repr(value)]


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_other)
