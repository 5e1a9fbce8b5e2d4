"""Rewrites files that are mostly dead: their live bytes move to new packs, behind aliases.

Every span is compared with its SHA-256 as it is copied. A file with a span that cannot be compared, or is damaged, is
left as it is. A rewritten file has no live span any more, and garbage collection removes it."""

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from lochan.errors import ConcurrentCommit, Corrupt, Gone, Refused
from lochan.formats.alias_table import AliasRow, table_of
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.collection.alias_maker import add_aliases
from lochan.versioning.collection.live_blocks import BLOCK_SCHEMA, LiveBlocks, live_blocks
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL

BELOW = 0.5
_PACK_BYTES = 64 << 20
_EVENT_BYTES = 1 << 30  # bytes that are copied between two events; a copy that a plan makes stale is made again
_ATTEMPTS = 5


class RepackPlan(NamedTuple):
    files: pa.Table  # address, size, live_bytes, spans: the files that are rewritten, the emptiest first
    blocks: pa.Table  # BLOCK_SCHEMA: the blocks that are copied, by file
    left: int  # files that are as empty but cannot be rewritten: a span in them has no SHA-256

    @property
    def bytes(self) -> int:
        """The total size of the files."""
        return sum(self.files["size"].to_pylist())

    @property
    def live_bytes(self) -> int:
        return sum(self.files["live_bytes"].to_pylist())


class RepackCounts(NamedTuple):
    files: int
    copied_bytes: int
    freed_bytes: int  # bytes that the next collection frees
    left: int = 0  # as in the plan
    damaged: tuple[str, ...] = ()  # addresses of files that were left because a block in them is damaged or gone


def repack_plan(live: LiveBlocks, repository: str, below: float = BELOW) -> RepackPlan:
    """Chooses the files that are alive by less than this share, but not completely dead. It reads no file."""
    prefix = f"{repository}/"
    sizes = _frame(live.files).filter(pl.col("kind") == "data")
    sizes = sizes.select((pl.lit(prefix) + pl.col("path")).alias("address"), pl.col("size").alias("file_size"))
    spans = _drop_inner_spans(_frame(live.placed()).join(sizes, on="address", how="inner"))
    files = spans.group_by("address").agg(
        pl.col("file_size").first().alias("size"),
        pl.col("size").sum().alias("live_bytes"),
        pl.len().alias("spans"),
        (pl.col("sha256") == b"").any().alias("unknown"),
    )
    fixed = [target for _, target in live.names.files]
    sparse = files.filter(pl.col("live_bytes") < pl.col("size") * below)
    unable = pl.col("unknown") | pl.col("address").is_in(fixed)
    chosen = sparse.filter(~unable).sort(pl.col("live_bytes") / pl.col("size"), "address").drop("unknown")
    blocks = spans.join(chosen.select("address"), on="address", how="semi", maintain_order="left")
    left = len(sparse) - len(chosen)
    return RepackPlan(chosen.to_arrow(), blocks.select(BLOCK_SCHEMA.names).to_arrow().cast(BLOCK_SCHEMA), left)


def _drop_inner_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Removes spans that lie inside another span of the same file, because they move with it. Spans that overlap in
    another way have no common SHA-256, and get an empty one."""
    end = pl.col("offset") + pl.col("size")
    order = spans.sort("address", "offset", pl.col("size"), descending=[False, False, True])
    before = end.cum_max().shift(1).over("address")
    order = order.with_columns(end.alias("end"), before.alias("before"))
    outer = order.filter(pl.col("before").is_null() | (pl.col("end") > pl.col("before")))
    crossing = pl.col("before").is_not_null() & (pl.col("offset") < pl.col("before"))
    return outer.with_columns(pl.when(crossing).then(pl.lit(b"")).otherwise(pl.col("sha256")).alias("sha256"))


async def repack_report(repository: OpenRepository, below: float = BELOW) -> RepackPlan:
    """Returns what would be rewritten. It changes nothing, and reads no bodies."""
    _check_kind(repository)
    return repack_plan(await live_blocks(repository), repository.repository.id, below)


async def repack(repository: OpenRepository, below: float = BELOW, *, actor: Actor) -> RepackCounts:
    """Rewrites the files. Raises Refused for a pool, or if plans or other aliases interfere again and again."""
    _check_kind(repository)
    done = RepackCounts(0, 0, 0)
    for _ in range(_ATTEMPTS):
        live = await live_blocks(repository)
        work = _Repack(repository, live, repack_plan(live, repository.repository.id, below), done, actor)
        try:
            return await work.run()
        except ConcurrentCommit:
            done = work.done
    raise Refused("garbage was collected, or others made aliases, all the time", hint="try again later")


class _Repack:
    def __init__(
        self, repository: OpenRepository, live: LiveBlocks, plan: RepackPlan, done: RepackCounts, actor: Actor
    ) -> None:
        self.done = done
        self._repository = repository
        self._live = live
        self._plan = plan
        self._actor = actor
        self._names = live.names
        self._rows: list[AliasRow] = []
        self._pack = bytearray()
        self._waiting: list[Block] = []

    async def run(self) -> RepackCounts:
        """Rewrites the files of the plan. A file moves as a whole, or not at all."""
        self.done = self.done._replace(left=self._plan.left)
        files, copied, size = 0, 0, 0
        async for address, size_bytes, bodies in self._bodies():
            if bodies is None:
                if address not in self.done.damaged:
                    self.done = self.done._replace(damaged=(*self.done.damaged, address))
                continue
            files, size = files + 1, size + size_bytes
            for block, body in bodies:
                copied += len(body)
                await self._add(block, body)
            if copied >= _EVENT_BYTES:
                await self._land(files, copied, size)
                files = copied = size = 0
        if files:
            await self._land(files, copied, size)
        return self.done

    async def _bodies(self) -> AsyncIterator[tuple[str, int, list[tuple[Block, bytes]] | None]]:
        """Yields each file's live blocks with their bytes, or None if one of them is damaged or gone."""
        reader = BodyReader(self._repository.store)
        sizes = dict(zip(*(self._plan.files[name].to_pylist() for name in ("address", "size")), strict=True))
        for (address,), group in _frame(self._plan.blocks).group_by("address", maintain_order=True):
            blocks = [Block(*row) for row in group.select(BLOCK_SCHEMA.names).iter_rows()]
            try:
                bodies = [(each, await _read(reader, each)) for each in blocks]
            except (Corrupt, Gone):
                yield str(address), 0, None
            else:
                yield str(address), sizes[address], bodies

    async def _add(self, block: Block, body: bytes) -> None:
        if self._pack and len(self._pack) + len(body) > _PACK_BYTES:
            await self._write()
        self._waiting.append(block)
        self._pack += body

    async def _write(self) -> None:
        """Writes a pack. Its mint number is that of the state before the first byte (G1)."""
        repository = self._repository
        address = repository.bodies.address("", self._live.read_at, exact=True)
        await repository.store.put(address, bytes(self._pack))
        at = 0
        for block in self._waiting:
            self._rows.append(AliasRow(block.address, block.offset, block.size, address, at))
            at += block.size
        self._pack, self._waiting = bytearray(), []

    async def _land(self, files: int, copied: int, size: int) -> None:
        if self._pack:
            await self._write()
        added, self._rows = table_of(self._rows), []
        aliases = await self._repository.places.load(self._names)
        self._names = await add_aliases(
            self._repository, added, self._names, aliases, self._live.read_at, actor=self._actor
        )
        before = self.done
        freed = before.freed_bytes + size - copied
        self.done = before._replace(
            files=before.files + files, copied_bytes=before.copied_bytes + copied, freed_bytes=freed
        )


async def _read(reader: BodyReader, block: Block) -> bytes:
    """Returns the bytes of a block. Raises Corrupt or Gone."""
    body = await reader.read_all(Entry(block.address, (block,), block.size, "", "", 0))
    if sha256(body).digest() != block.sha256:
        raise Corrupt(f"{block.address} is damaged")
    return body


def _frame(table: pa.Table) -> pl.DataFrame:
    made = pl.from_arrow(table)
    assert isinstance(made, pl.DataFrame)
    return made


def _check_kind(repository: OpenRepository) -> None:
    if repository.repository.kind == POOL:
        raise Refused(
            "each data object of a pool is a file, and none is partly dead",
            hint="`lochan compact POOL` merges small objects",
        )
