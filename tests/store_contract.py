"""The tests that every store and every wrapper must pass. An implementation adopts them in a few lines:

class TestMemory(StoreContract):
    def make_store(self) -> Store:
        return MemoryStore()
"""

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator
from typing import Literal

import pytest

from lochan.errors import AlreadyExists, Invalid, NotFound
from lochan.store.capabilities import with_tags
from lochan.store.protocol import Stat, Store
from lochan.store.stat_tables import STAT_SCHEMA, stat_tables
from tests.run import run

MIB = 1 << 20

EDGE_PATHS = [
    pytest.param("plain", id="plain"),
    pytest.param("folder/in/folder", id="folders"),
    pytest.param("with space/and  two", id="spaces"),
    pytest.param("100%/%41/%2F%00", id="percent"),
    pytest.param("a+b", id="plus"),
    pytest.param("q?versionId=1&x=<y>#frag", id="url characters"),
    pytest.param("quote'\"`$\\back", id="quotes and backslash"),
    pytest.param("ünïcödé/日本語/🦆", id="unicode"),
    pytest.param("e\u0301", id="decomposed"),
    pytest.param("\u00e9", id="composed"),
    pytest.param("...", id="three dots"),
    pytest.param(".hidden/..x/x..", id="dots inside"),
    pytest.param("~tilde/*star/[x]/{y}", id="globs"),
    pytest.param("/".join(["k" * 179] * 5), id="900 bytes"),
]

REFUSED_PATHS = [
    pytest.param("", id="empty"),
    pytest.param("/absolute", id="absolute"),
    pytest.param("trailing/", id="trailing slash"),
    pytest.param("two//slashes", id="empty segment"),
    pytest.param(".", id="dot"),
    pytest.param("a/./b", id="dot inside"),
    pytest.param("..", id="dot dot"),
    pytest.param("../outside", id="leaving"),
    pytest.param("a/../../outside", id="leaving later"),
    pytest.param("nul\0", id="nul"),
    pytest.param("line\nbreak", id="line break"),
    pytest.param("del\x7f", id="delete"),
    pytest.param("lone\ud800", id="lone surrogate"),
    pytest.param(".tmp/x", id="our own folder"),
    pytest.param(".tmpx", id="like our own folder"),
    pytest.param("/".join(["k" * 200] * 6), id="1,205 bytes"),
]

# In the order of their bytes, which is not the order of a walk through folders.
ORDERED = ["a!/x", "a-b", "a-b.c/d", "a.b", "a/b", "a/b-c", "a/c/d", "a0", "aa", "b", "z/é", "z/日", "z/🦆", "é"]
AFTER = ["", "a", "a-b", "a-b.c", "a.b", "a/", "a/b", "a/b-", "a/c/d", "a//", "../", "a0", "z/", "zz", "é"]
PREFIXES = ["a", "a-", "a/", "a/b", "a/b-", "a/c/", "a0", "z", "z/", "z/日", "é", "x", "a//", "../", "/", ".", "\n"]


class StoreContract:
    above: Literal["kept", "refused", "unlisted"] = "kept"  # what becomes of `a/b` where there is `a`
    unfit: tuple[str, ...] = ()  # which of the edge paths this store cannot keep apart from others, and refuses
    stream_bytes_max = 18 * MIB  # of memory, while 20 MiB stream in and out

    def make_store(self) -> Store:
        """A store with nothing in it."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Store:
        return self.make_store()

    def test_url_names_it(self, store: Store) -> None:
        assert "://" in store.url

    @pytest.mark.parametrize("path", EDGE_PATHS)
    def test_every_verb_takes_the_path(self, store: Store, path: str) -> None:
        async def play() -> None:
            if path in self.unfit:
                for write in (
                    store.put(path, b""),
                    store.put_if_absent(path, b""),
                    store.put_stream(path, chunks(1, 1)),
                ):
                    with pytest.raises(Invalid, match="cannot be stored"):
                        await write
                return
            await store.put_if_absent(path, b"one")
            assert await store.get(path) == b"one"
            await store.put(path, b"three")
            assert await store.get_range(path, 1, 3) == b"hr"
            assert await joined(store.get_stream(path)) == b"three"
            assert (await store.head(path)).path == path
            assert await paths(store) == [path]
            assert await paths(store, prefix=path[:-1]) == [path]
            await store.delete(path)
            assert await paths(store) == []

        run(play())

    @pytest.mark.parametrize("path", REFUSED_PATHS)
    def test_every_verb_refuses_the_path(self, store: Store, path: str) -> None:
        async def play() -> None:
            for call in (
                store.get(path),
                store.get_range(path, 0, 1),
                store.head(path),
                store.put(path, b""),
                store.put_if_absent(path, b""),
                store.put_stream(path, chunks(1, 1)),
                store.delete(path),
            ):
                with pytest.raises(Invalid):
                    await call
            with pytest.raises(Invalid):
                await joined(store.get_stream(path))

        run(play())

    def test_absent_is_not_found(self, store: Store) -> None:
        async def play() -> None:
            await store.put("there/deep", b"x")
            for path in ("nothing", "there", "there/nothing", "there/deep/below"):
                for call in (store.get(path), store.get_range(path, 0, 1), store.head(path)):
                    with pytest.raises(NotFound):
                        await call
                with pytest.raises(NotFound):
                    await joined(store.get_stream(path))
                await store.delete(path)
            assert await store.get("there/deep") == b"x"

        run(play())

    def test_the_empty_object(self, store: Store) -> None:
        async def play() -> None:
            await store.put_if_absent("empty", b"")
            assert await store.get("empty") == b""
            assert await store.get_range("empty", 0, 0) == b""
            assert await joined(store.get_stream("empty")) == b""
            assert (await store.head("empty")).size == 0
            assert await store.put_stream("streamed", chunks(0, 0)) == 0
            assert await store.get("streamed") == b""

        run(play())

    def test_put_replaces(self, store: Store) -> None:
        async def play() -> None:
            await store.put("k", b"the longer first one")
            first = await store.head("k")
            await store.put("k", b"second")
            assert await store.get("k") == b"second"
            assert (await store.head("k")).etag != first.etag
            assert await store.put_stream("k", chunks(2, 3)) == 6
            assert await store.get("k") == b"\0\0\0\1\1\1"

        run(play())

    def test_tags_change_nothing_else(self, store: Store) -> None:
        async def play() -> None:
            other = with_tags(store, {"path.0": "a", "path.1": ""})
            await other.put("k", b"1")
            assert await other.put_stream("s", chunks(9, MIB)) == 9 * MIB
            assert other.url == store.url
            assert [await store.get("k"), await other.get("k")] == [b"1", b"1"]
            assert (await store.head("s")).size == 9 * MIB
            await store.put("k", b"2")
            assert await other.get("k") == b"2"

        run(play())

    def test_put_if_absent_never_replaces(self, store: Store) -> None:
        async def play() -> None:
            await store.put_if_absent("k", b"first")
            for _ in range(2):
                with pytest.raises(AlreadyExists):
                    await store.put_if_absent("k", b"second")
            assert await store.get("k") == b"first"
            await store.delete("k")
            await store.put_if_absent("k", b"third")
            assert await store.get("k") == b"third"

        run(play())

    def test_of_16_racing_creators_one_wins(self, store: Store) -> None:
        async def create(number: int, path: str) -> int | None:
            try:
                await store.put_if_absent(path, b"%d" % number * 100)
            except AlreadyExists:
                return None
            return number

        async def play() -> None:
            for turn in range(3):
                path = f"race/{turn}"
                answers = await asyncio.gather(*(create(number, path) for number in range(16)))
                winners = [number for number in answers if number is not None]
                assert len(winners) == 1
                assert await store.get(path) == b"%d" % winners[0] * 100

        run(play())

    def test_ranges(self, store: Store) -> None:
        async def play() -> None:
            await store.put("k", b"0123456789")
            assert await store.get_range("k", 0, 10) == b"0123456789"
            assert await store.get_range("k", 9, 10) == b"9"
            assert await store.get_range("k", 4, 4) == b""
            for start, stop in ((0, 11), (10, 11), (20, 30), (11, 11), (5, 4), (-1, 3)):
                with pytest.raises(Invalid):
                    await store.get_range("k", start, stop)
            with pytest.raises(NotFound):
                await store.get_range("nothing", 4, 4)

        run(play())

    def test_head_tells_size_and_time(self, store: Store) -> None:
        async def play() -> None:
            await store.put("k", b"12345")
            stat = await store.head("k")
            assert (stat.path, stat.size) == ("k", 5)
            assert stat.modified > 1.6e9
            assert stat.etag
            [listed] = await stats(store)
            assert listed.path == "k"
            assert listed.size == 5
            assert listed.etag == stat.etag  # what was checked by one is known by the other
            assert abs(listed.modified - stat.modified) < 1  # S3 tells milliseconds here and seconds there

        run(play())

    def test_list_is_ordered_by_bytes(self, store: Store) -> None:
        async def play() -> None:
            for path in reversed(ORDERED):
                await store.put(path, b"")
            assert sorted(ORDERED, key=str.encode) == ORDERED
            assert await paths(store) == ORDERED
            for after in AFTER:
                assert await paths(store, after=after) == [path for path in ORDERED if path > after], after
            for prefix in PREFIXES:
                expected = [path for path in ORDERED if path.startswith(prefix)]
                assert await paths(store, prefix=prefix) == expected, prefix
            assert await paths(store, "a", "a/b") == ["a/b-c", "a/c/d", "a0", "aa"]
            assert await paths(store, "a/", "a/b-c") == ["a/c/d"]
            assert await paths(store, "a/", "b") == []
            assert await paths(store, "z", "a") == ["z/é", "z/日", "z/🦆"]
            for prefix in ("", *PREFIXES):
                for after in ("", *AFTER):
                    listed = [_in_microseconds(stat) for stat in await stats(store, prefix, after)]
                    assert await tabled(store, prefix, after) == listed, (prefix, after)

        run(play())

    def test_an_object_above_another(self, store: Store) -> None:
        async def play() -> None:
            await store.put("a", b"1")
            if self.above != "refused":
                await store.put("a/b", b"2")
                await store.put_if_absent("a-b", b"3")
                assert await paths(store) == (["a", "a-b", "a/b"] if self.above == "kept" else ["a", "a-b"])
                assert [await store.get(path) for path in ("a", "a/b")] == [b"1", b"2"]
            else:
                await store.put("c/d", b"")
                for path in ("a/b", "c"):
                    for write in (store.put(path, b""), store.put_if_absent(path, b"")):
                        with pytest.raises(Invalid, match="both an object and a folder"):
                            await write
                    with pytest.raises(Invalid, match="both an object and a folder"):
                        await store.put_stream(path, chunks(1, 1))
                await store.delete("c/d")
                await store.put("c", b"free again")

        run(play())

    def test_list_of_many(self, store: Store) -> None:
        async def play() -> None:
            names = [f"many/{number:04d}" for number in range(1100)]
            for start in range(0, len(names), 50):
                await asyncio.gather(*(store.put(name, b"") for name in names[start : start + 50]))
            assert await paths(store, "many/") == names
            assert await paths(store, "many/", "many/0999") == names[1000:]
            assert [stat.path for stat in await tabled(store, "many/", "many/0050")] == names[51:]
            async for stat in store.list("many/"):
                assert stat.path == names[0]
                break

        run(play())

    def test_20_mib_stream_in_bounded_memory(self, store: Store) -> None:
        async def play() -> None:
            assert await store.put_stream("big", chunks(20, MIB)) == 20 * MIB
            digest = await digested(store.get_stream("big"))
            assert tracemalloc.get_traced_memory()[1] < self.stream_bytes_max
            assert digest == await digested(chunks(20, MIB))
            assert (await store.head("big")).size == 20 * MIB
            assert await store.get_range("big", 20 * MIB - 2, 20 * MIB) == b"\x13\x13"
            assert await store.get("big") == await joined(chunks(20, MIB))

        tracemalloc.start()
        try:
            run(play())
        finally:
            tracemalloc.stop()

    def test_a_broken_stream_leaves_nothing(self, store: Store) -> None:
        async def broken() -> AsyncIterator[bytes]:
            for _ in range(10):
                yield bytes(MIB)
            raise ValueError("the client went away")

        async def play() -> None:
            await store.put("old", b"as it was")
            for path in ("new", "old"):
                with pytest.raises(ValueError, match="went away"):
                    await store.put_stream(path, broken())
            assert await store.get("old") == b"as it was"
            assert await paths(store) == ["old"]

        run(play())


async def chunks(count: int, size: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield bytes([number % 256]) * size


async def joined(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def digested(stream: AsyncIterator[bytes]) -> str:
    digest = hashlib.sha256()
    async for chunk in stream:
        digest.update(chunk)
    return digest.hexdigest()


def _in_microseconds(stat: Stat) -> Stat:
    return stat._replace(modified=int(stat.modified * 1e6) / 1e6)


async def tabled(store: Store, prefix: str = "", after: str = "") -> list[Stat]:
    """What the listing says as tables."""
    tables = [table async for table in stat_tables(store, prefix, after)]
    assert all(table.schema.equals(STAT_SCHEMA) and len(table) for table in tables)
    rows = [row for table in tables for row in table.to_pylist()]
    return [Stat(row["path"], row["size"], row["mtime"] / 1e6, row["etag"]) for row in rows]


async def stats(store: Store, prefix: str = "", after: str = "") -> list[Stat]:
    return [stat async for stat in store.list(prefix, after)]


async def paths(store: Store, prefix: str = "", after: str = "") -> list[str]:
    return [stat.path for stat in await stats(store, prefix, after)]
