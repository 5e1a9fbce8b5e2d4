"""Writing bodies: the entry, the files, the cost, and that a failure leaves no entry."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from lochan import failpoints
from lochan.errors import BadDigest, DiskFull, Invalid, Transient
from lochan.formats.entry import Block, Entry
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, ready
from lochan.versioning.bodies.read import BodyReader
from tests.run import run
from tests.store_contract import MIB, paths
from tests.store_faults import FaultStore, StoreFault
from tests.unit.bodies.factories import NOW, REPOSITORY, bodies, sent
from tests.unit.store.clocks import StillClock

FOLDER = f"{REPOSITORY}/data/00000000000000000007-w"


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else LocalStore(str(tmp_path / "lake"), create=True)


def test_a_small_body_is_one_put(store: Store) -> None:
    async def play() -> None:
        counts = RequestCounts()
        entry = await bodies(CountingStore(store, counts)).write(
            "a//../b\n",
            sent(b"he", b"", b"llo"),
            mint=7,
            content_type="text/plain",
            headers={"cache-control": "no-store"},
            metadata={"owner": "ada"},
            checksums={"CRC32": "NhCmhg=="},
        )
        [address] = await paths(store)
        assert address.startswith(f"{FOLDER}/")
        assert entry == Entry(
            path="a//../b\n",
            blocks=(Block(address, 0, 5, hashlib.sha256(b"hello").digest()),),
            size=5,
            checksum="5d41402abc4b2a76b9719d911017c592",
            etag="5d41402abc4b2a76b9719d911017c592",
            mtime=NOW,
            content_type="text/plain",
            checksums={"CRC32": "NhCmhg=="},
            headers={"cache-control": "no-store"},
            metadata={"owner": "ada"},
        )
        assert await store.get(address) == b"hello"
        assert (counts.put.requests, counts.total.requests) == (1, 1)

    run(play())


def test_an_empty_body_is_an_empty_file(store: Store) -> None:
    async def play() -> None:
        entry = await bodies(store).write("e", sent(), mint=7)
        assert entry.checksum == "d41d8cd98f00b204e9800998ecf8427e"
        assert [(block.offset, block.size) for block in entry.blocks] == [(0, 0)]
        assert await store.get(entry.blocks[0].address) == b""
        assert await BodyReader(store).read_all(entry) == b""

    run(play())


@pytest.mark.parametrize(
    "size, block, blocks",
    [
        pytest.param(10, 10, [10], id="exactly a block"),
        pytest.param(11, 10, [10, 1], id="one more"),
        pytest.param(30, 10, [10, 10, 10], id="exactly three blocks"),
        pytest.param(8 * MIB, 64 * MIB, [8 * MIB], id="the largest single put"),
        pytest.param(8 * MIB + 1, 64 * MIB, [8 * MIB + 1], id="streamed"),
        pytest.param(21 * MIB, 10 * MIB, [10 * MIB, 10 * MIB, MIB], id="streamed and cut"),
    ],
)
def test_a_body_is_cut_into_blocks(store: Store, size: int, block: int, blocks: list[int]) -> None:
    data = (b"0123456789abcdefg" * (size // 17 + 1))[:size]
    shown: list[bytes] = []

    async def play() -> None:
        entry = await bodies(store, block_bytes=block).write(
            "a",
            sent(*_parts(data, 3_000_017)),
            mint=7,
            expected_md5=hashlib.md5(data).hexdigest(),
            whole=shown.append,
        )
        assert shown == [hashlib.sha256(data).digest()]
        assert [part.size for part in entry.blocks] == blocks
        assert (entry.size, entry.checksum, entry.etag) == (size, *[hashlib.md5(data).hexdigest()] * 2)
        assert sorted(part.address for part in entry.blocks) == await paths(store)
        at = 0
        for part in entry.blocks:
            assert await store.get(part.address) == data[at : at + part.size]
            assert part.sha256 == hashlib.sha256(data[at : at + part.size]).digest()
            at += part.size
        assert await BodyReader(store).read_all(entry) == data

    run(play())


def test_a_body_that_says_its_size_is_hashed_and_stored_from_its_first_byte(store: Store) -> None:
    passed: list[str] = []
    begun: list[bool] = []

    async def slowly() -> AsyncIterator[bytes]:
        yield bytes(MIB)
        yield bytes(MIB)
        begun.append("body.before_put" in passed)
        yield bytes(8 * MIB)

    failpoints.arm(passed.append)
    try:
        for size in (0, 10 * MIB):
            passed.clear()
            entry = run(bodies(store).write("a", slowly(), mint=7, size=size))
            assert [block.size for block in entry.blocks] == [10 * MIB]
    finally:
        failpoints.arm(None)
    assert begun == [False, True]


@pytest.mark.parametrize("size", [0, 3, 9 * MIB])
def test_a_size_that_is_not_true_changes_nothing_else(store: Store, size: int) -> None:
    for body in (b"", b"hello", bytes(9 * MIB)):
        entry = run(bodies(store).write("a", sent(*[body] if body else []), mint=7, size=size))
        assert (entry.size, entry.checksum) == (len(body), hashlib.md5(body).hexdigest())
        assert [block.size for block in entry.blocks] == [len(body)]


# How large, in blocks of how much, and how many files are left that no entry names: a body that takes a while to be
# hashed is stored meanwhile.
REFUSED = pytest.mark.parametrize(
    "size, block, left",
    [
        pytest.param(5, 10, 0, id="one put"),
        pytest.param(200 << 10, 1 << 20, 1, id="one put, hashed meanwhile"),
        pytest.param(30, 10, 3, id="in blocks"),
    ],
)


@REFUSED
@pytest.mark.parametrize("wrong", [{"expected_md5": "0" * 32}, {"checksums": {"SHA1": "no"}}], ids=["MD5", "SHA1"])
def test_a_body_that_is_not_as_declared_is_no_entry(
    store: Store, size: int, block: int, left: int, wrong: dict[str, str]
) -> None:
    async def play() -> None:
        with pytest.raises(BadDigest, match="was declared"):
            await bodies(store, block_bytes=block).write("a", sent(bytes(size)), mint=7, **wrong)  # type: ignore[arg-type]
        assert len(await paths(store)) == left

    run(play())


@REFUSED
def test_who_is_shown_the_whole_may_refuse_it(store: Store, size: int, block: int, left: int) -> None:
    def refuse(digest: bytes) -> None:
        raise BadDigest(f"{digest.hex()} is not what was signed")

    async def play() -> None:
        with pytest.raises(BadDigest, match=hashlib.sha256(bytes(size)).hexdigest()):
            await bodies(store, block_bytes=block).write("a", sent(bytes(size)), mint=7, whole=refuse)
        assert len(await paths(store)) == left

    run(play())


def test_checksums_that_a_trailer_will_tell(store: Store) -> None:
    entry = run(bodies(store).write("a", sent(b"hello"), mint=7, checksums={"CRC32": None}))
    assert entry.checksums == {"CRC32": "NhCmhg=="}


def test_a_path_that_cannot_be_is_refused_before_a_byte_is_read(store: Store) -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("read")
        yield b""

    with pytest.raises(Invalid, match="NUL"):
        run(bodies(store).write("a\0", never(), mint=7))


@pytest.mark.parametrize("size", [MIB, 9 * MIB], ids=["one put", "streamed"])
def test_a_sender_who_breaks_off_leaves_nothing(store: Store, size: int) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield bytes(size)
        raise ConnectionError("the client went away")

    async def play() -> None:
        with pytest.raises(ConnectionError, match="went away"):
            await bodies(store).write("a", broken(), mint=7)
        assert await paths(store) == []

    run(play())


@pytest.mark.parametrize("size", [5, 9 * MIB], ids=["put", "put_stream"])
@pytest.mark.parametrize(
    "fault, error, left",
    [
        pytest.param(StoreFault.UNAVAILABLE, Transient, 0, id="a 5xx"),
        pytest.param(StoreFault.LOST, Transient, 1, id="a lost answer leaves a file without an entry"),
        pytest.param(StoreFault.FULL, DiskFull, 0, id="no room"),
    ],
)
def test_a_store_that_fails(store: Store, size: int, fault: StoreFault, error: type[Exception], left: int) -> None:
    async def play() -> None:
        failing = FaultStore(store, StillClock(), lambda verb, path: fault)
        with pytest.raises(error):
            await bodies(failing).write("a", sent(bytes(size)), mint=7)
        assert len(await paths(store)) == left

    run(play())


def test_failpoints(store: Store) -> None:
    passed: list[str] = []
    failpoints.arm(passed.append)
    try:
        run(bodies(store, block_bytes=10).write("a", sent(bytes(20)), mint=7))
        run(bodies(store).write_pack([ready("a", b"1")], mint=7))
    finally:
        failpoints.arm(None)
    assert [name for name in passed if name.startswith("body.")] == ["body.before_put", "body.after_put"] * 3


def test_a_path_in_the_address(store: Store) -> None:
    async def play() -> None:
        made = bodies(store, style="path", block_bytes=4)
        entry = await made.write("../x//y", sent(b"12345678"), mint=7)
        addresses = [block.address for block in entry.blocks]
        assert await paths(store) == sorted(addresses)
        assert all(address.startswith(f"{FOLDER}/") for address in addresses)
        assert all(address.endswith("/%2E%2E/x/%/y") for address in addresses)
        assert await BodyReader(store).read_all(entry) == b"12345678"

    run(play())


def test_a_pack_to_the_byte() -> None:
    async def play() -> None:
        store, counts = MemoryStore(), RequestCounts()
        entries = await bodies(CountingStore(store, counts)).write_pack(
            [
                ready("b", b"first", content_type="text/plain"),
                ready("empty", b""),
                ready("a", b"second", metadata={"k": "v"}, checksums={"CRC32": None}),
            ],
            mint=7,
        )
        [address] = await paths(store)
        assert address == f"{FOLDER}/2YBXZL760qlxshhSYoXdhboPmND"
        assert await store.get(address) == b"firstsecond"
        assert [entry.blocks for entry in entries] == [
            (Block(address, 0, 5, hashlib.sha256(b"first").digest()),),
            (Block(address, 5, 0, hashlib.sha256(b"").digest()),),
            (Block(address, 5, 6, hashlib.sha256(b"second").digest()),),
        ]
        assert [entry.path for entry in entries] == ["b", "empty", "a"]
        assert [(entry.size, entry.mtime) for entry in entries] == [(5, NOW), (0, NOW), (6, NOW)]
        assert entries[0].content_type == "text/plain"
        assert (entries[2].metadata, entries[2].checksums) == ({"k": "v"}, {"CRC32": "th8RaQ=="})
        assert counts.total.requests == 1
        assert [await BodyReader(store).read_all(entry) for entry in entries] == [b"first", b"", b"second"]

    run(play())


def test_packed_or_not_the_entry_says_the_same(store: Store) -> None:
    async def play() -> None:
        alone = await bodies(store).write("a", sent(b"1234"), mint=7, checksums={"SHA1": None})
        [packed] = await bodies(store).write_pack([ready("a", b"1234", checksums={"SHA1": None})], mint=7)
        assert replace(alone, blocks=()) == replace(packed, blocks=())

    run(play())


def test_an_empty_pack_is_none(store: Store) -> None:
    assert run(bodies(store).write_pack([], mint=7)) == []
    assert run(paths(store)) == []


def test_with_paths_in_addresses_there_are_no_packs(store: Store) -> None:
    async def play() -> None:
        made = bodies(store, style="path")
        entries = await made.write_pack([ready(f"f/{number}", b"%d" % number) for number in range(40)], mint=7)
        assert len(await paths(store)) == 40
        for number, entry in enumerate(entries):
            assert entry.blocks[0].address.endswith(f"/f/{number}")
            assert await BodyReader(store).read_all(entry) == b"%d" % number

    run(play())


@pytest.mark.parametrize("style", ["id", "path"])
def test_a_pack_is_written_whole_or_not_at_all(style: str) -> None:
    async def play() -> None:
        faults = [None, None, StoreFault.UNAVAILABLE] if style == "path" else [StoreFault.UNAVAILABLE]
        failing = FaultStore(MemoryStore(), StillClock(), lambda verb, path: faults.pop(0) if faults else None)
        with pytest.raises(Transient):
            await bodies(failing, style=style).write_pack([ready(f"{n}", b"x") for n in range(5)], mint=7)  # type: ignore[arg-type]

    run(play())


@pytest.mark.parametrize(
    "path, size, options, error, why",
    [
        pytest.param("", 1, {}, Invalid, "empty", id="path"),
        pytest.param("a", PACKED_BYTES_MAX + 1, {}, Invalid, "too large for a pack", id="size"),
        pytest.param("a", 1, {"expected_md5": "0" * 32}, BadDigest, "was declared", id="MD5"),
        pytest.param("a", 1, {"checksums": {"CRC16": ""}}, Invalid, "not known", id="algorithm"),
    ],
)
def test_what_does_not_fit_fails_before_the_pack(
    path: str, size: int, options: dict[str, str], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        ready(path, bytes(size), **options)  # type: ignore[arg-type]


def _parts(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
