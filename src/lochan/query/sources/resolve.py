"""Resolves the names in a query to Sources. Every ref is resolved once, before anything is planned, so that one query
sees one snapshot of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, LochanError, NotFound
from lochan.pools.row_tests import ANY_ROW, Test, both
from lochan.pools.settings import settings_of
from lochan.pools.snapshot import Snapshot, Snapshots, merge_snapshots
from lochan.pools.tree_pruning import classes
from lochan.query import ast
from lochan.query.errors import QueryError, did_you_mean
from lochan.query.leaves import Source
from lochan.query.sources.bounds import Constant, constant, of_expression
from lochan.query.sources.catalog import EVERYTHING, Catalog, Permits
from lochan.query.sources.in_memory import of_rows, of_table
from lochan.query.sources.key_range import KeyRange, convert_range
from lochan.query.sources.meta.open import at, at_ref, lake_rows, rows_of
from lochan.query.sources.object_selection import reach_of
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans
from lochan.versioning import lineage
from lochan.versioning.names import regex
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL, Repository
from lochan.versioning.revisions.resolve import ResolvedRef

# Reads files of a repository, by a ref and a glob, into data objects of this query alone. It first passes their paths
# to the check.
CheckPaths = Callable[[Sequence[str]], Awaitable[None]]
NoteRead = Callable[[str, str, str], Awaitable[None]]  # gets a repository, a ref and a path
ReadFiles = Callable[[OpenRepository, str, str, CheckPaths], Awaitable[Snapshot]]


class Opening:
    """The sources of one query, with everything that was opened for it."""

    def __init__(
        self,
        catalog: Catalog,
        snapshots: Snapshots,
        text: str,
        now: int,
        read_files: ReadFiles | None = None,
        permits: Permits = EVERYTHING,
        ref: str = "",
        note: NoteRead | None = None,
    ) -> None:
        """Opens nothing yet. `ref` is where sources without a ref are read, in the form that follows an @; if it is
        empty, they are read at their default branches. `note` is called with each source before it is read."""
        self._note = note
        self._read_files = read_files
        self._permits = permits
        self._ref = ref
        self.scans = Scans()
        self.pools: list[PoolSource] = []
        self._now = now
        self._catalog = catalog
        self._snapshots = snapshots
        self._text = text
        self._opened: dict[str, OpenRepository] = {}
        self._sources: dict[int, Source] = {}
        self._reached: dict[PoolSource, tuple[OpenRepository, ResolvedRef]] = {}  # pools that are only partly open

    async def open(self, pipe: ast.Pipe) -> Callable[[ast.Source], Source]:
        """Opens the sources of the pipe, and returns a function that finds only these. Raises QueryError for a source
        that does not exist."""
        for each in source_needs(pipe, self._now):
            placed = each._replace(source=at_ref(each.source, self._ref))
            self._sources[id(each.source)] = await self._open_at_place(placed)
        return lambda source: self._sources[id(source)]

    async def widen(self) -> bool:
        """Adds fields that occur only in rows which need not be read: a query may name them, and must not fail with an
        unknown field. Returns False if there is nothing to add."""
        return sum([pool.widen(await self.whole(pool)) for pool in self.pools]) > 0

    async def whole(self, pool: PoolSource) -> Snapshot:
        """Returns all objects of the pool, including those that are not read."""
        at = self._reached.get(pool)
        return pool.snapshot if at is None else await self._snapshots.at(*at)

    async def close(self) -> None:
        for repository in self._opened.values():
            await repository.close()

    async def _open_at_place(self, needs: SourceNeeds) -> Source:
        """Opens a source. Errors point at the source in the text."""
        try:
            return await self._source(needs)
        except QueryError:
            raise
        except LochanError as error:
            if not isinstance(error, Invalid | NotFound):
                raise
            name = needs.source.name
            hint = error.hint_about(name) if isinstance(name, str) else error.hint
            raise QueryError(error.message, self._text, needs.source.span, hint=hint) from error

    async def _source(self, needs: SourceNeeds) -> Source:
        source = needs.source
        if source.meta:
            return await self._metadata(needs)
        if source.path:
            return await self._files(needs)
        found = [await self._open_permitted(name, source) for name in await self._names(source)]
        for each in found:
            _check_pool(each.repository)
        pool = await (self._one(found[0], needs) if len(found) == 1 else self._open_several(found, needs))
        self.pools.append(pool)
        return pool

    async def _open_permitted(self, name: str, source: ast.Source) -> OpenRepository:
        """Opens the repository of a source. Raises NotFound, also if the user may not read what the source names."""
        all = await self._catalog.repositories()
        if not any(each.name == name for each in all):
            await self._permits.check_absent(name)
            near = did_you_mean(name, [each.name for each in await self._permits.known(all)])
            raise NotFound(f"there is no pool or repository `{name}`{near}", hint="`lochan ls` shows those there are")
        repository = await self.repository(name)
        ref = at(repository, source.ref)
        await self._permits.check(repository, source, ref)
        if self._note is not None and not source.meta:
            await self._note(name, ref, source.path)
        return repository

    async def _one(self, repository: OpenRepository, needs: SourceNeeds) -> PoolSource:
        """Opens only the part of the pool that the query needs."""
        resolved = await self._resolve_ref(repository, at(repository, needs.source.ref))
        settings = settings_of(repository.repository)
        range = _range(needs.source)
        if range.low or range.high:
            kinds = classes(await repository.tree(resolved.commit), settings)
            if kinds is None:
                kinds = PoolSource(await self._snapshots.at(repository, resolved), Scans()).kinds_of_key()
            range = convert_range(range, kinds, settings)
        reach = reach_of(range, needs.test, needs.first, settings)
        snapshot = await self._snapshots.at(repository, resolved, reach)
        pool = PoolSource(snapshot, self.scans, range=range, test=needs.test, first=needs.first)
        if snapshot.left_out.objects:
            self._reached[pool] = repository, resolved
        return pool

    async def _open_several(self, pools: list[OpenRepository], needs: SourceNeeds) -> PoolSource:
        snapshot = merge_snapshots([await self._snapshot(each, needs.source.ref) for each in pools])
        range = _range(needs.source)
        if range.low or range.high:
            range = convert_range(range, PoolSource(snapshot, Scans()).kinds_of_key(), snapshot.settings)
        return PoolSource(snapshot, self.scans, range=range, test=needs.test, first=needs.first)

    async def _files(self, needs: SourceNeeds) -> Source:
        source = needs.source
        if self._read_files is None or not isinstance(source.name, str):
            raise Invalid("files of a repository cannot be read here")
        repository = await self._open_permitted(source.name, source)
        if repository.repository.kind == POOL:
            raise Invalid(f"`{source.name}` is a pool", hint=f"read its rows with `from {source.name}`")
        ref = at(repository, source.ref)
        check = partial(self._permits.check_paths, repository, ref)
        trace = lineage.current()
        if trace is not None:
            ref, read = await lineage.pin_input(repository, ref, source.path)
            trace.add(read)
        snapshot = await self._read_files(repository, ref, source.path, check)
        pool = PoolSource(snapshot, self.scans, test=needs.test)
        self.pools.append(pool)
        return pool

    async def _metadata(self, needs: SourceNeeds) -> Source:
        source = needs.source
        if isinstance(source.name, str):
            repository = await self._open_permitted(source.name, source)
            test = needs.test if source.tap else ANY_ROW
            found = await rows_of(repository, source, self._snapshots, test, self._now, self._permits)
        else:
            found = await lake_rows(self._catalog, source, self._now, self._permits)
        if found.table is not None:
            return of_table(found.table, self.scans)
        return of_rows(found.rows, self.scans, found.fields)

    async def _snapshot(self, repository: OpenRepository, ref: str) -> Snapshot:
        return await self._snapshots.at(repository, await self._resolve_ref(repository, at(repository, ref)))

    async def _resolve_ref(self, repository: OpenRepository, ref: str) -> ResolvedRef:
        """Resolves a ref. Raises NotFound, with a similar name if the user may see all names."""
        try:
            found = await repository.resolve(ref)
        except NotFound as error:
            names = repository.folded().names()
            near = did_you_mean(error.name or ref, names) if self._permits is EVERYTHING else ""
            raise NotFound(f"{error.message}{near}", hint=error.hint_about(repository.repository.name)) from None
        trace = lineage.current()
        if trace is not None:
            trace.add(lineage.LineageInput(repository.repository.name, found.commit_id))
        return found

    async def repository(self, name: str) -> OpenRepository:
        if name not in self._opened:
            self._opened[name] = await self._catalog.open_repository(name)
        return self._opened[name]

    async def _names(self, source: ast.Source) -> list[str]:
        if isinstance(source.name, str):
            return [source.name]
        all = await self._permits.known(await self._catalog.repositories())
        pools = [each.name for each in all if each.kind == POOL]
        match source.name:
            case ast.Glob(pattern):
                found = _match_names(pools, regex([pattern]))
            case ast.Regexp(pattern):
                found = _match_names(pools, pattern)
            case _:
                raise Invalid("the source has no name")
        if not found:
            raise NotFound(f"no pool matches {source.name.pattern}", hint="`lochan ls` shows those there are")
        return found


def _match_names(names: list[str], pattern: str) -> list[str]:
    """Returns the names that match. It uses RE2, whose time does not depend on the pattern."""
    column = pa.array(names, pa.string())
    try:
        found: list[str] = column.filter(pc.match_substring_regex(column, pattern)).to_pylist()
    except pa.ArrowInvalid as error:
        raise Invalid(f"/{pattern}/ is no regular expression: {error}") from error
    return found


def _check_pool(found: Repository) -> None:
    if found.kind != POOL:
        name = found.name
        raise Invalid(
            f"`{name}` is a repository of files",
            hint=f"read files of it, such as {name}@{found.default_branch}/data/*.parquet, or {name}:entries",
        )


def _range(source: ast.Source) -> KeyRange:
    return KeyRange(_end(source.low), _end(source.high), source.no_key)


def _end(value: ast.Expr | None) -> Constant | None:
    if isinstance(value, ast.ListOf) and len(value.items) == 1:
        value = value.items[0]
    if value is None or (isinstance(value, ast.Literal) and value.value is None):
        return None
    found = constant(value)
    if found is None:
        raise Invalid("the ends of a range must be constants of the key's first field", hint="such as range 10 to 20")
    return found


# ── what a query needs of each source ────────────────────────────────────────────────────────────────────────────────


class SourceNeeds(NamedTuple):
    source: ast.Source
    test: Test = ANY_ROW
    first: int | None = None


def source_needs(pipe: ast.Pipe, now: int | None = None) -> Iterator[SourceNeeds]:
    """Yields each source of the query, at every level, with what its first operators need of it. So a source can leave
    out what cannot matter:

        from logs | status >= 500 | cut host     only objects that may hold such a status
        from logs | head 5                       only objects that may hold one of the first five rows

    `now` is when the query began, in microseconds since 1970."""
    for node in _pipes(pipe):
        operators = node.operators
        if operators and isinstance(operators[0], ast.From):
            test, first = _find_bounds(operators[1:], now)
            for source in operators[0].sources:
                yield SourceNeeds(source, test, first)


def _find_bounds(operators: tuple[ast.Operator, ...], now: int | None) -> tuple[Test, int | None]:
    tests: list[Test] = []
    as_read = True  # whether the rows have the fields that the source gives them
    for operator in operators:
        match operator:
            case ast.Where(test) if as_read:
                tests.append(of_expression(test, now))
            case ast.Where():
                return both(tests), None
            case ast.Cut() | ast.Put() | ast.Drop() | ast.Rename():
                as_read = False
            case ast.Head(count):
                filtered = any(isinstance(each, ast.Where) for each in operators)
                return both(tests), None if filtered else count
            case _:
                break
    return both(tests), None


def _pipes(node: ast.Node) -> Iterator[ast.Pipe]:
    if isinstance(node, ast.Pipe):
        yield node
    for name in node.__struct_fields__:
        yield from _pipes_below(getattr(node, name))


def _pipes_below(value: object) -> Iterator[ast.Pipe]:
    if isinstance(value, ast.Node):
        yield from _pipes(value)
    elif isinstance(value, tuple):
        for each in value:
            yield from _pipes_below(each)
