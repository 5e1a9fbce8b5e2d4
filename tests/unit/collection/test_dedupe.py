"""Equal blocks are kept once, packs are rewritten, and every object reads as before."""

import hashlib
from collections.abc import AsyncIterator

import pyarrow as pa
import pytest

from lochan.errors import Corrupt, Refused
from lochan.formats.alias_table import AliasRow, table_of
from lochan.formats.collection_events import Expired
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.repository_events import Staged
from lochan.lake import Lake
from lochan.versioning import branches, copy, objects, uploads
from lochan.versioning.bodies.body import ready
from lochan.versioning.collection.alias_maker import add_aliases, drop_aliases
from lochan.versioning.collection.coalesce import coalesce
from lochan.versioning.collection.dangling import dangling_blocks
from lochan.versioning.collection.dedupe import dedupe, dedupe_report
from lochan.versioning.collection.live_blocks import live_blocks
from lochan.versioning.collection.repack import repack, repack_report
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.heads.commit import commit as commit_branch
from lochan.versioning.state.collection import Stale
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import ANN, Lakeside, lakeside

pytestmark = pytest.mark.thorough


async def body(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def put(at: Lakeside, path: str, data: bytes, branch: str = "main") -> Entry:
    return await objects.put(at.repository, branch, path, body(data), actor=ANN)


async def put_pack(at: Lakeside, bodies: dict[str, bytes], branch: str = "main") -> str:
    """Small bodies in one file; its address."""
    _, mint = await at.repository.refs()
    hashed = [ready(path, data) for path, data in bodies.items()]
    entries = await at.repository.bodies.write_pack(hashed, mint=mint)
    await at.repository.submit(ANN, Staged(branch, tuple(entries)))
    return entries[0].blocks[0].address


async def commit(at: Lakeside, message: str, branch: str = "main") -> None:
    await commit_branch(at.repository, branch, CommitRequest(message), actor=ANN)


async def everything(at: Lakeside) -> dict[tuple[str, str], bytes]:
    """Every object of every commit, and of what is staged, as a process reads it that knows nothing yet."""
    fresh = await Lake.open(at.lake.store, clock=at.clock)
    repository = await fresh.open_repository("demo-repo")
    refs, _ = await repository.refs()
    live = [id for id in refs.commit_table if not refs.collection.has_expired(id)]
    found = {}
    for ref in [*live, *(branch.name for branch in refs.branches())]:
        page = await objects.list_objects(repository, ref, limit=1_000)
        for entry in page.entries:
            found[ref, entry.path] = await repository.reader.read_all(entry)
    return found


async def data_bytes(at: Lakeside) -> int:
    prefix = f"{at.repository.repository.id}/data/"
    return sum([stat.size async for stat in at.repository.store.list(prefix)])


async def three_times_the_same(at: Lakeside) -> None:
    same = bytes(range(256)) * 400
    await put(at, "a", same)
    await commit(at, "one")
    await put(at, "b", same)
    await put(at, "other", b"something else" * 1_000)
    await commit(at, "two")
    await branches.create_branch(at.repository, "dev", "main", actor=ANN)
    await put(at, "c", same, "dev")
    await put_pack(at, {"x": b"x" * 500, "y": b"y" * 700, "z": b"x" * 500}, "dev")


def test_equal_blocks_are_kept_once_and_every_object_reads_as_before() -> None:
    async def story() -> None:
        at = await lakeside()
        await three_times_the_same(at)
        before, bytes_before = await everything(at), await data_bytes(at)
        found = await dedupe_report(at.repository)
        assert (found.blocks, len(found.aliases), found.duplicate_bytes) == (7, 3, 2 * 102_400 + 500)
        assert (found.freed_bytes, found.packed_bytes) == (2 * 102_400, 500)
        assert await everything(at) == before
        assert len((await dedupe(at.repository, actor=ANN)).aliases) == 3
        assert await everything(at) == before
        assert await at.rounds() > 0
        assert bytes_before - await data_bytes(at) == 2 * 102_400
        assert await everything(at) == before
        assert len((await dedupe(at.repository, actor=ANN)).aliases) == 0, "nothing is left to do"

    run(story())


def test_a_pack_that_is_mostly_dead_is_rewritten() -> None:
    async def story() -> None:
        at = await lakeside()
        pack = await put_pack(at, {f"p{n}": bytes([n]) * 1_000 for n in range(10)})
        full = await put_pack(at, {f"q{n}": bytes([100 + n]) * 1_000 for n in range(10)})
        await objects.delete(at.repository, "main", [f"p{n}" for n in range(7)], actor=ANN)
        await commit(at, "three of ten")
        before = await everything(at)
        plan = await repack_report(at.repository, 0.5)
        assert plan.files["address"].to_pylist() == [pack]
        assert (plan.bytes, plan.live_bytes) == (10_000, 3_000)
        assert (await repack_report(at.repository, 0.2)).bytes == 0
        made = await repack(at.repository, 0.5, actor=ANN)
        assert (made.files, made.copied_bytes, made.freed_bytes) == (1, 3_000, 7_000)
        assert await everything(at) == before
        await at.rounds()
        there = {stat.path async for stat in at.repository.store.list(f"{at.repository.repository.id}/data/")}
        assert pack not in there and full in there
        assert await everything(at) == before
        assert (await repack(at.repository, 0.5, actor=ANN)).files == 0

    run(story())


def test_what_an_alias_leads_to_can_move_again() -> None:
    async def story() -> None:
        at = await lakeside()
        await put_pack(at, {"a": b"a" * 100, "b": b"b" * 900})
        await put_pack(at, {"c": b"a" * 100, "d": b"d" * 900})
        await commit(at, "one")
        await dedupe(at.repository, actor=ANN)  # c leads to a
        await objects.delete(at.repository, "main", ["b", "d"], actor=ANN)
        await commit(at, "two")
        refs, _ = await at.repository.refs()
        old = [id for id in refs.commit_table if id != refs.branch("main").head]
        await at.repository.submit(ANN, Expired(tuple(old)))
        assert (await repack(at.repository, 0.5, actor=ANN)).files == 1
        aliases = (await at.repository.places.aliases()).table
        assert len(set(aliases["target"].to_pylist())) == 1
        await at.rounds()
        head = refs.branch("main").head
        assert await everything(at) == {(ref, path): b"a" * 100 for ref in (head, "main") for path in "ac"}

    run(story())


def test_damage_is_not_handed_on() -> None:
    async def story() -> None:
        at = await lakeside()
        one, other = await put(at, "a", b"1234" * 100), await put(at, "b", b"1234" * 100)
        await commit(at, "both")
        kept = min(one.blocks[0].address, other.blocks[0].address)
        await at.repository.store.put(kept, b"1235" * 100)
        found = await dedupe(at.repository, actor=ANN)
        assert [block.address for block in found.damaged] == [kept]
        assert found.aliases["address"].to_pylist() == [kept], "readers of the damaged one find the right one"
        assert set((await everything(at)).values()) == {b"1234" * 100}

    run(story())


def test_a_damaged_pack_is_left_as_it_is() -> None:
    async def story() -> None:
        at = await lakeside()
        pack = await put_pack(at, {"a": b"a" * 100, "b": b"b" * 900})
        await objects.delete(at.repository, "main", ["b"], actor=ANN)
        await at.repository.store.put(pack, b"A" * 1_000)
        made = await repack(at.repository, 0.5, actor=ANN)
        assert (made.files, made.damaged) == (0, (pack,))
        assert not at.repository.folded().collection.alias_tables

    run(story())


def test_a_part_of_a_block_moves_with_the_block() -> None:
    """A copied part of a multipart upload names a part of a block, without a SHA-256."""

    async def story() -> None:
        at = await lakeside()
        data = bytes(range(256)) * 100
        await put(at, "a", data)
        await put(at, "b", data)
        await commit(at, "both")
        entry = await objects.stat(at.repository, "main", "b")
        _, read_at = await at.repository.refs()
        upload = await uploads.open_upload(at.repository, "main", "part", actor=ANN)
        etag = hashlib.md5(data[10:5_000]).hexdigest()
        part = await uploads.copy_part(
            at.repository,
            upload,
            1,
            entry,
            10,
            5_000,
            etag,
            read_at=read_at,
            actor=ANN,
        )
        await uploads.complete(at.repository, upload, [uploads.PartRequest(1, part.etag)], actor=ANN)
        await commit(at, "part")
        before = await everything(at)
        await dedupe(at.repository, actor=ANN)
        await at.rounds()
        assert len([each async for each in at.repository.store.list(f"{at.repository.repository.id}/data/")]) == 1
        assert await everything(at) == before
        assert before["main", "part"] == data[10:5_000]

    run(story())


def test_aliases_go_when_nothing_names_what_they_lead_from() -> None:
    async def story() -> None:
        at = await lakeside()
        await put(at, "a", b"same" * 50)
        await put(at, "b", b"same" * 50)
        await dedupe(at.repository, actor=ANN)
        assert await drop_aliases(at.repository, at.lake.id, actor=ANN) == 0
        await objects.delete(at.repository, "main", ["a", "b"], actor=ANN)
        assert await drop_aliases(at.repository, at.lake.id, actor=ANN) == 1
        assert at.repository.folded().collection.alias_tables == ()
        await at.rounds()
        assert await at.files() == set()

    run(story())


def test_a_copy_that_was_read_before_its_alias_was_dropped_is_made_again() -> None:
    async def story() -> None:
        at = await lakeside()
        await put(at, "a", b"same" * 50)
        await put(at, "b", b"same" * 50)
        await dedupe(at.repository, actor=ANN)
        entry, (_, read_at) = await objects.stat(at.repository, "main", "b"), await at.repository.refs()
        await objects.delete(at.repository, "main", ["a", "b"], actor=ANN)
        await drop_aliases(at.repository, at.lake.id, actor=ANN)
        with pytest.raises(Stale):
            await at.repository.submit(ANN, Staged("main", (entry,), read_at=read_at))

    run(story())


def test_chains_are_refused_and_two_who_dedupe_at_once_do_no_harm() -> None:
    async def story() -> None:
        at = await lakeside()
        for path in "abc":
            await put(at, path, b"same" * 50)
        live = await live_blocks(at.repository)
        one, two, three = live.named["address"].to_pylist()

        def to(*pairs: tuple[str, str]) -> pa.Table:
            return table_of(AliasRow(source, 0, 200, target, 0) for source, target in pairs)

        async def add(*pairs: tuple[str, str]) -> None:
            now = await live_blocks(at.repository)
            await add_aliases(at.repository, to(*pairs), now.names, now.aliases, now.read_at, actor=ANN)

        with pytest.raises(Refused, match="would lead to an alias"):
            await add((one, two), (two, three))
        with pytest.raises(Refused, match="would lead to an alias"):
            await add((one, two), (two, one))
        await add((one, two))
        with pytest.raises(Refused, match="would lead to an alias"):
            await add((three, one))
        with pytest.raises(Corrupt, match="two aliases claim"):
            await add((one, three))
        late = to((three, two))
        with pytest.raises(Stale):  # it has not read the table that was added since
            await add_aliases(at.repository, late, live.names, live.aliases, live.read_at, actor=ANN)
        before = await everything(at)
        await dedupe(at.repository, actor=ANN)
        assert await everything(at) == before

    run(story())


@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_a_damaged_or_missing_table_is_refused_by_name_and_nothing_is_deleted(damage: str) -> None:
    async def story() -> None:
        at = await lakeside()
        await put(at, "a", b"same" * 50)
        await put(at, "b", b"same" * 50)
        await dedupe(at.repository, actor=ANN)
        [name] = at.repository.folded().collection.alias_tables
        path = f"{at.repository.repository.id}/{name}"
        data = bytearray(await at.repository.store.get(path))
        data[len(data) // 2] ^= 1
        await (at.repository.store.delete(path) if damage == "missing" else at.repository.store.put(path, bytes(data)))
        fresh = await at.lake.open_repository("demo-repo")
        entry = await objects.stat(fresh, "main", "b")
        with pytest.raises(Corrupt, match=name):
            await fresh.reader.read_all(entry)
        assert fresh.reader.read_now(entry) is None
        with pytest.raises(Corrupt, match=name):
            await at._replace(history=type(at.history)(fresh)).plan()

    run(story())


def test_a_reader_that_resolved_a_block_before_its_alias_finds_it_again() -> None:
    async def story() -> None:
        at = await lakeside()
        data = bytes(range(256)) * 100_000
        for path in "ab":
            await put(at, path, data)
        reader = await at.lake.open_repository("demo-repo")
        entries = [await objects.stat(reader, "main", path) for path in "ab"]
        streams = [reader.reader.read(entry, piece_bytes=lambda: 1 << 20) for entry in entries]
        read = [await anext(pieces) for pieces in streams]
        await dedupe(at.repository, actor=ANN)
        await at.rounds()
        assert len([each async for each in reader.store.list(f"{reader.repository.id}/data/")]) == 1
        for first, pieces in zip(read, streams, strict=True):
            assert b"".join([first, *[piece async for piece in pieces]]) == data

    run(story())


def test_an_object_of_many_blocks_becomes_one_file() -> None:
    async def story() -> None:
        at = await lakeside()
        parts = [bytes([n]) * (5 << 20) for n in range(3)]
        upload = await uploads.open_upload(at.repository, "main", "t/big", actor=ANN)
        put_parts = [
            await uploads.put_part(at.repository, upload, n + 1, body(part), actor=ANN) for n, part in enumerate(parts)
        ]
        chosen = [uploads.PartRequest(n + 1, part.etag) for n, part in enumerate(put_parts)]
        await uploads.complete(at.repository, upload, chosen, actor=ANN)
        await commit(at, "big")
        await copy.copy(at.repository, "main", "t/big", "main", "t/copy", actor=ANN)
        before = await everything(at)
        made = await coalesce(at.repository, "main", "t/big", actor=ANN)
        assert (made.objects, made.bytes, made.left) == (1, 15 << 20, ())
        assert (await coalesce(at.repository, "main", "t/", actor=ANN)).objects == 0, "the copy is the same file"
        [placed] = await at.repository.places.place_files([await objects.stat(at.repository, "main", "t/copy")])
        [block] = placed.blocks
        assert (block.offset, block.size, block.sha256) == (0, 15 << 20, hashlib.sha256(b"".join(parts)).digest())
        await at.rounds()
        files = [each async for each in at.repository.store.list(f"{at.repository.repository.id}/data/")]
        assert [each.size for each in files] == [15 << 20]
        assert await everything(at) == before

    run(story())


def test_blocks_that_the_store_does_not_have_are_found_with_their_paths() -> None:
    async def story() -> None:
        at = await lakeside()
        one, two = await put(at, "a", b"one" * 50), await put(at, "b", b"two" * 50)
        await put(at, "c", b"three" * 50)
        await commit(at, "all")
        assert (await dangling_blocks(at.repository)).found == []
        await at.repository.store.delete(one.blocks[0].address)
        await at.repository.store.put(two.blocks[0].address, b"two")
        found = await dangling_blocks(at.repository)
        assert {(each.reason, each.paths) for each in found.found} == {("gone", ("a",)), ("short", ("b",))}
        assert found.checked == 3

    run(story())


def test_no_object_of_a_pool_shares_a_file_with_dead_bytes() -> None:
    async def story() -> None:
        at = await lakeside()
        await at.lake.create_pool("rows", PoolSettings(), actor=ANN)
        pool = await at.lake.open_repository("rows")
        with pytest.raises(Refused, match="pool"):
            await repack_report(pool)

    run(story())
