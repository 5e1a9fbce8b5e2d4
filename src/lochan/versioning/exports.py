"""Exports the objects of a commit, or the difference of two, as plain files in a folder or a bucket.

    commit ──▶ spans of its paths ──▶ each: files that are not there yet, a part of the manifest ──▶ _SUCCESS

A file appears whole or not at all, with bytes that were checked as every reader checks them. The files of an
interrupted export are found again by size and time, or by size and ETag, and are not written twice. `_SUCCESS` is
removed first and written last, so a reader that finds it finds the whole export.

Paths of a lake may be anything. All of them are checked before the first file is written. A path that would not be a
file below the destination is refused by name."""

import asyncio
import os
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.store.protocol import Store
from lochan.tree.diff import ADDED, REMOVED, diff, side_entries
from lochan.tree.rows import behind, encode_path
from lochan.tree.tree import Tree
from lochan.versioning.bodies.outside_files import OutsideFolder, plain_etag
from lochan.versioning.open_repository import OpenRepository

SUCCESS, MANIFEST = "_SUCCESS", "_manifest"
_PART = ".lochan-part"  # the beginning of the name of a file that is not complete yet
_AT_ONCE = 16
_HOSTILE = r"(^|/)\.{0,2}(/|$)|[\x00-\x1f\x7f]|(^|/)\.lochan-part"
_SHOWN = 3
_PAGE = 4_096

Advance = Callable[[int], None]  # gets the number of bytes that were written or found


class ExportSpan(NamedTuple):
    """The paths that are greater than `after` and not greater than `upto`."""

    number: int
    after: str
    upto: str | None


class ExportTrees(NamedTuple):
    """The tree that is exported, and an earlier one if only the differences are exported."""

    tree: Tree
    since: Tree | None
    prefix: str  # the prefix of the objects; their files have the rest of the path


class ExportCounts(msgspec.Struct, frozen=True, array_like=True):
    files: int = 0
    bytes: int = 0
    present: int = 0  # files that existed already
    removed: int = 0
    deleted: int = 0  # files that were deleted at the destination

    def __add__(self, other: "ExportCounts") -> "ExportCounts":
        return ExportCounts(*(a + b for a, b in zip(_numbers(self), _numbers(other), strict=True)))


def _numbers(counts: ExportCounts) -> tuple[int, ...]:
    return counts.files, counts.bytes, counts.present, counts.removed, counts.deleted


class ExportTarget(Protocol):
    """A destination of files. Names are paths below it."""

    async def has(self, name: str, entry: Entry) -> bool:
        """Returns whether the file was exported before."""

    async def write(self, name: str, entry: Entry, pieces: AsyncIterator[bytes]) -> None:
        """Writes the file whole or not at all."""

    async def put(self, name: str, data: bytes) -> None: ...

    async def delete(self, name: str) -> None:
        """Deletes the file. A missing file is no error."""


class ExportedChange(NamedTuple):
    kind: str  # added, changed, removed
    entry: Entry  # for a removed object, its last entry


# --- the plan --------------------------------------------------------------------------------------------------------
def spans_of(trees: ExportTrees, wanted: int) -> list[ExportSpan]:
    """Returns spans that cover all paths, with about as many ranges each."""
    low, high = encode_path(trees.prefix), behind(encode_path(trees.prefix))
    ends = [ref.max_path for ref in trees.tree.ranges if low <= encode_path(ref.max_path) < high]
    step = max(1, -(-len(ends) // wanted))
    bounds = [*ends[step - 1 : -1 : step]]
    starts = ["", *bounds]
    return [
        ExportSpan(number, after, upto)
        for number, (after, upto) in enumerate(zip(starts, [*bounds, None], strict=True))
    ]


async def check_names(repository: OpenRepository, trees: ExportTrees, *, folds: Callable[[str], str] | None) -> int:
    """Checks all paths before anything is written, and returns how many files there are. `folds` returns the form of a
    name that the destination uses, if it treats different names as the same. Raises Refused."""
    found, hostile, seen = 0, list[str](), set[int]()
    async for paths in _paths(repository, trees):
        names = pc.utf8_slice_codeunits(paths, len(trees.prefix))
        found += len(names)
        wrong = names.filter(pc.match_substring_regex(names, _HOSTILE))
        own = names.filter(pc.match_substring_regex(names, f"^({SUCCESS}$|{MANIFEST}(/|$))"))
        hostile += [*wrong.to_pylist(), *own.to_pylist()][:_SHOWN]
        if folds is not None:
            for name in names.to_pylist():
                key = hash(folds(name))
                if key in seen:
                    raise Refused(
                        f"{name!r} and another path differ only in ways that the destination does not tell apart",
                        hint="export to a bucket, or to a disk that tells upper from lower case",
                    )
                seen.add(key)
    if hostile:
        raise Refused(
            f"these paths cannot be files of an export: {', '.join(map(repr, hostile[:_SHOWN]))}",
            hint=f"a file must be below the destination, and {SUCCESS} and {MANIFEST} are the export's own; "
            "export a folder below, or rename them",
        )
    return found


async def _paths(repository: OpenRepository, trees: ExportTrees) -> AsyncIterator[pa.StringArray]:
    if trees.since is None:
        async with aclosing(trees.tree.scan(trees.prefix)) as batches:
            async for batch in batches:
                yield batch.column("path")
        return
    async with aclosing(diff(repository.trees, trees.since, trees.tree, trees.prefix)) as tables:
        async for table in tables:
            yield table["path"].combine_chunks()


# --- the work --------------------------------------------------------------------------------------------------------
async def export_span(
    repository: OpenRepository,
    trees: ExportTrees,
    span: ExportSpan,
    target: ExportTarget,
    *,
    delete: bool,
    advance: Advance = lambda _: None,
) -> ExportCounts:
    """Exports one span. Called again, it continues where it ended. Raises what reading an object raises."""
    lines, total = list[bytes](), ExportCounts()
    async with aclosing(_changes(repository, trees, span)) as pages:
        async for page in pages:
            total += await _export_all(repository, page, len(trees.prefix), target, delete, advance)
            lines += [_line(change, len(trees.prefix)) for change in page]
    await target.put(f"{MANIFEST}/part-{span.number:05d}.ndjson", b"".join(lines))
    return total


async def _changes(
    repository: OpenRepository, trees: ExportTrees, span: ExportSpan
) -> AsyncGenerator[list[ExportedChange], None]:
    upto = None if span.upto is None else encode_path(span.upto)

    def inside(path: str) -> bool:
        return upto is None or encode_path(path) <= upto

    if trees.since is None:
        async with aclosing(trees.tree.scan(trees.prefix, span.after)) as batches:
            async for batch in batches:
                for start in range(0, batch.num_rows, _PAGE):
                    entries = entries_of(pa.Table.from_batches([batch.slice(start, _PAGE)]))
                    yield [ExportedChange(ADDED, entry) for entry in entries if inside(entry.path)]
                    if not inside(entries[-1].path):
                        return
        return
    async with aclosing(diff(repository.trees, trees.since, trees.tree, trees.prefix, span.after)) as tables:
        async for table in tables:
            kinds = table["kind"].to_pylist()
            sides = zip(kinds, side_entries(table, "left"), side_entries(table, "right"), strict=True)
            found = [ExportedChange(kind, right or left) for kind, left, right in sides if right or left]  # type: ignore[arg-type]
            yield [change for change in found if inside(change.entry.path)]
            if not inside(found[-1].entry.path):
                return


async def _export_all(
    repository: OpenRepository,
    changes: Iterable[ExportedChange],
    skip: int,
    target: ExportTarget,
    delete: bool,
    advance: Advance,
) -> ExportCounts:
    waiting, total = iter(changes), ExportCounts()

    async def worker() -> None:
        nonlocal total
        for change in waiting:  # the iterator is shared, and each worker takes the next change
            done = await _export_one(repository, change, skip, target, delete, advance)
            total += done

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(worker())
    return total


async def _export_one(
    repository: OpenRepository, change: ExportedChange, skip: int, target: ExportTarget, delete: bool, advance: Advance
) -> ExportCounts:
    entry, name = change.entry, change.entry.path[skip:]
    if change.kind == REMOVED:
        if delete:
            await target.delete(name)
        return ExportCounts(removed=1, deleted=int(delete))
    if await target.has(name, entry):
        advance(entry.size)
        return ExportCounts(1, entry.size, 1)
    async with aclosing(repository.reader.read(entry)) as pieces:
        await target.write(name, entry, _count(pieces, advance))
    return ExportCounts(1, entry.size)


async def _count(pieces: AsyncIterator[bytes], advance: Advance) -> AsyncIterator[bytes]:
    async for piece in pieces:
        advance(len(piece))
        yield piece


def _line(change: ExportedChange, skip: int) -> bytes:
    entry = change.entry
    record: dict[str, str | int] = {"kind": change.kind, "path": entry.path[skip:]}
    if change.kind != REMOVED:
        record |= {"size": entry.size, "md5": entry.checksum, "etag": entry.etag, "mtime": entry.mtime}
    return msgspec.json.encode(record) + b"\n"


# --- destinations ----------------------------------------------------------------------------------------------------
class FolderTarget:
    """A folder of this machine, or one that all machines share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)

    async def has(self, name: str, entry: Entry) -> bool:
        return await asyncio.to_thread(self._has, name, entry)

    def _has(self, name: str, entry: Entry) -> bool:
        with suppress(OSError):
            found = self.file(name).stat(follow_symlinks=False)
            return (found.st_size, found.st_mtime_ns // 1_000) == (entry.size, entry.mtime)
        return False

    async def write(self, name: str, entry: Entry, pieces: AsyncIterator[bytes]) -> None:
        file = self.file(name)
        part = file.with_name(f"{_PART}-{os.uname().nodename}-{os.getpid()}-{next(self._numbers)}")
        try:
            await asyncio.to_thread(_make_parents, file, self._folder)
            with part.open("xb") as out:
                async for piece in pieces:
                    await asyncio.to_thread(out.write, piece)
            os.utime(part, ns=(entry.mtime * 1_000, entry.mtime * 1_000))
            part.replace(file)
        except OSError as error:
            raise Refused(f"{entry.path!r} could not be written to {file}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                part.unlink()

    async def put(self, name: str, data: bytes) -> None:
        file = self.file(name)
        _make_parents(file, self._folder)
        part = file.with_name(f"{_PART}-{os.getpid()}-{next(self._numbers)}")
        part.write_bytes(data)
        part.replace(file)

    async def delete(self, name: str) -> None:
        """Deletes the file, and then the folders that are empty."""
        file = self.file(name)
        with suppress(FileNotFoundError, NotADirectoryError):
            file.unlink()
        with suppress(OSError):
            for folder in file.parents:
                if folder == self._folder:
                    break
                folder.rmdir()

    def file(self, name: str) -> Path:
        """Returns the file, which is certainly in the folder, even if there are links. Raises Refused."""
        file = self._folder.joinpath(*name.split("/"))
        if not file.parent.resolve().is_relative_to(self._folder.resolve()):
            raise Refused(f"{name!r} was not exported: a link leads out of {self._folder}", hint="remove the link")
        return file

    def folding(self) -> Callable[[str], str] | None:
        """Returns the form that the disk gives to names, or None if it keeps them. Some disks treat upper and lower
        case, or two spellings of a letter, as the same."""
        self._folder.mkdir(parents=True, exist_ok=True)
        probe = self._folder / f"{_PART}-é"
        probe.write_bytes(b"")
        try:
            cases = self._folder.joinpath(f"{_PART}-É".upper()).exists() or self._folder.joinpath(f"{_PART}-É").exists()
            forms = self._folder.joinpath(unicodedata.normalize("NFD", f"{_PART}-é")).exists()
        finally:
            probe.unlink()
        if not cases and not forms:
            return None
        return lambda name: unicodedata.normalize("NFC", name.casefold() if cases else name)


def _make_parents(file: Path, folder: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.parent.resolve().is_relative_to(folder.resolve()):
        raise Refused(f"{file} is not in {folder}: a link leads out of it", hint="remove the link")


class BucketTarget:
    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    async def has(self, name: str, entry: Entry) -> bool:
        """Returns whether the object has been exported already. The store keeps no MD5 of a file that was written in
        parts, so such a file is written again."""
        try:
            found = await self._store.head(f"{self._prefix}{name}")
        except NotFound:
            return False
        return found.size == entry.size and bool(entry.checksum) and plain_etag(found.etag) == entry.checksum

    async def write(self, name: str, entry: Entry, pieces: AsyncIterator[bytes]) -> None:
        size = await self._store.put_stream(f"{self._prefix}{name}", pieces)
        if size != entry.size:
            raise Invalid(f"{entry.path!r} was written with {size} bytes instead of {entry.size}", hint="export again")

    async def put(self, name: str, data: bytes) -> None:
        await self._store.put(f"{self._prefix}{name}", data)

    async def delete(self, name: str) -> None:
        await self._store.delete(f"{self._prefix}{name}")


def target_at(place: OutsideFolder) -> FolderTarget | BucketTarget:
    if place.is_local:
        return FolderTarget(Path("/", place.prefix))
    return BucketTarget(place.store, place.prefix)
