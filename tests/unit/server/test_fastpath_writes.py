"""Small PUTs on the fast path get the answers of the general path, leave the same entries, and are logged alike."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import md5, sha1
from itertools import product
from pathlib import Path
from zlib import crc32

import pytest
from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]
from msgspec.structs import replace

from lochan.access.policies import attach, detach, put_policy
from lochan.access.users import NewAccessKey, create_key, revoke_key
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning.bodies.body import PACKED_BYTES_MAX
from lochan.versioning.branches import create_branch, delete_branch, protect, set_read_only, unprotect
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import resolve
from tests.run import run
from tests.unit.access.place import allow
from tests.unit.server.gateway_place import ACTOR, Answer, Asked, Place, Protocol, signed
from tests.unit.server.two_paths import World, comparable, opened

BODY = b"a small body"
LARGE = bytes(70_000)  # more than is read of a request that is refused
Told = tuple[int, dict[str, str], bytes]
Content = tuple[Entry, list[tuple[int, bytes]]]
STRANGER = NewAccessKey("nobody", "LKIANOBODYKNOWSTHIS0", "not-the-secret-of-anybody-at-all")


def _sum(digest: bytes) -> str:
    return b64encode(digest).decode()


CRC = _sum(crc32(BODY).to_bytes(4, "big"))
PLAIN: tuple[dict[str, str], ...] = (
    {},
    {"content-type": "text/x"},
    {"cache-control": "no-store", "content-disposition": "inline", "content-language": "de", "expires": "never"},
    {"x-amz-meta-colour": "blue", "x-amz-meta-size": "2"},
    {"content-type": "text/x", "x-amz-meta-a": ""},
    {"content-md5": _sum(md5(BODY).digest())},
    {"x-amz-checksum-crc32": CRC},
    {"x-amz-checksum-crc32": CRC, "x-amz-sdk-checksum-algorithm": "CRC32"},
    {"x-amz-checksum-sha1": _sum(sha1(BODY).digest()), "content-md5": _sum(md5(BODY).digest())},
    {"x-amz-sdk-checksum-algorithm": "CRC64NVME"},
    {"expect": "100-continue", "user-agent": "a client", "amz-sdk-request": "attempt=1"},
)
OTHERS: tuple[dict[str, str], ...] = (
    {"content-encoding": "gzip"},
    {"content-encoding": "aws-chunked"},
    {"if-none-match": "*"},
    {"if-match": "*"},
    {"if-match": '"0123"'},
    {"x-amz-copy-source": "/bucket/main/missing"},
    {"x-amz-storage-class": "STANDARD"},
    {"x-amz-server-side-encryption": "AES256"},
    {"x-amz-security-token": "a-token"},
    {"x-amz-meta-much": "m" * 2_100},
    {"content-type": "tëxt"},
    {"content-type": "two  spaces"},
    {"content-type": "a\x01b"},
    {"content-md5": "nonsense"},
    {"content-md5": _sum(md5(b"another").digest())},
    {"x-amz-checksum-crc32": "nonsense"},
    {"x-amz-checksum-crc32": "AAAAAA=="},
    {"x-amz-checksum-crc32": CRC, "x-amz-checksum-sha1": _sum(sha1(BODY).digest())},
    {"x-amz-checksum-crc32": CRC, "x-amz-sdk-checksum-algorithm": "SHA1"},
    {"x-amz-checksum-crc99": "AAAA"},
    {"x-amz-sdk-checksum-algorithm": "CRC99"},
    {"x-amz-checksum-sha256": _sum(b"\0" * 32)},
    {"x-amz-trailer": "x-amz-checksum-crc32"},
    {"range": "bytes=0-1"},
)
KEYS = (
    *("main/new", "main/d/new", "main/small", "main/odd & <näme> 100%/+~", "main/ends/", "main//new", "main/../new"),
    *("main/", "main", "main/" + "k" * 300, "main/" + "ü" * 600, "main/" + "ü" * 500, "main/nul\0", "other/new"),
    *("nowhere/new", "v1/new", "main~1/new", "main@/new", "main$/new", "main+17-9f3a6c21/new", "main/ti\tab", "/new"),
)


def test_plain_writes(tmp_path: Path) -> None:
    run(_plain_writes(tmp_path))


async def _plain_writes(folder: Path) -> None:
    world = await opened(folder)
    admin, repository = world.people.admin, await world.lake.open_repository("bucket")
    paths = ("new", "d/new", "odd & <näme> 100%/+~", "ends/", "../new", "/")
    asks = [signed(admin, "PUT", f"/bucket/main/{path}", body=BODY) for path in paths]
    for headers, payload in product(PLAIN, ("", "UNSIGNED-PAYLOAD")):
        asks.append(signed(admin, "PUT", "/bucket/main/new", headers=headers, body=BODY, payload=payload))
    for asked in asks:  # the first of each kind is learnt from
        assert (await world.short.ask(asked)).status == 200
    before = world.short.short
    for asked in asks:
        inside = asked.path.removeprefix("/bucket/main/")
        one = await world.short.ask(asked), await _entry(repository, inside)
        other = await world.general.ask(asked), await _entry(repository, inside)
        assert one[0].status == 200
        assert comparable(one[0]) == comparable(other[0]), asked
        assert _content(one[1]) == _content(other[1]), asked
        assert world.short.noted[-1] == world.general.noted[-1], asked
    assert world.short.short - before == len(asks), "these are what the short way is for"
    assert world.general.short == 0


@pytest.mark.thorough
@pytest.mark.parametrize("flat", [False, True])
def test_writes_of_every_kind(tmp_path: Path, flat: bool) -> None:
    run(_writes_of_every_kind(tmp_path, flat))


async def _writes_of_every_kind(folder: Path, flat: bool) -> None:
    world = await opened(folder, flat=flat)
    statuses = set()
    for who in world.people:  # from here on the cache knows each of them
        await world.both(signed(who, "PUT", "/bucket/main/small", body=BODY))
    asks = list(_corpus(world))
    repository = await world.lake.open_repository("bucket")
    for asked in asks:
        one = await _entry_after(world.short, asked, repository)
        other = await _entry_after(world.general, asked, repository)
        assert one == other, asked
        assert world.short.noted[-1] == world.general.noted[-1], asked
        statuses.add(one[0][0])
    assert len(asks) > 200
    assert {200, 400, 403, 404, 412, 501} <= statuses
    assert world.short.short > 30


def test_what_others_change_is_seen_by_the_next_write(tmp_path: Path) -> None:
    run(_what_others_change(tmp_path))


async def _what_others_change(folder: Path) -> None:
    world = await opened(folder)
    another = await Lake.open(LocalStore(str(folder / "lake")))
    repository, access = await another.open_repository("bucket"), another.open_access()
    admin, writer = world.people.admin, world.people.reader

    async def put(who: NewAccessKey, key: str) -> int:
        return (await world.both(signed(who, "PUT", f"/bucket/{key}", body=BODY))).status

    assert await put(writer, "main/new") == 403
    await put_policy(access, "writers", [allow("fs:WriteObject", "repository/*/object/d/*")], actor=ACTOR)
    await attach(access, "writers", "user/reader", actor=ACTOR)
    assert [await put(writer, key) for key in ("main/d/new", "main/new", "main/d/new")] == [200, 403, 200]
    short = world.short.short
    assert [await put(writer, "main/d/new"), world.short.short - short] == [200, 1]
    await detach(access, "writers", "user/reader", actor=ACTOR)
    assert await put(writer, "main/d/new") == 403
    await attach(access, "writers", "user/reader", actor=ACTOR)
    assert await put(writer, "main/d/new") == 200
    await revoke_key(access, writer.access_key_id, actor=ACTOR)
    assert await put(writer, "main/d/new") == 403
    await create_key(access, "nothing", id=writer.access_key_id, secret=writer.secret_access_key, actor=ACTOR)
    assert await put(writer, "main/d/new") == 403, "the same key and secret, another user"
    assert await put(admin, "main/d/new") == 200
    await protect(repository, "ma*", actor=ACTOR)
    assert [await put(admin, "main/new"), await put(admin, "other/new")] == [403, 200]
    assert (await world.both(signed(admin, "PUT", "/bucket/main/new", body=LARGE))).status == 403
    await unprotect(repository, "ma*", actor=ACTOR)
    await set_read_only(repository, True, actor=ACTOR)
    assert await put(admin, "main/new") == 403
    await set_read_only(repository, False, actor=ACTOR)
    assert await put(admin, "main/new") == 200
    await create_branch(repository, "third", "main", actor=ACTOR)
    assert [await put(admin, "third/new") for _ in range(2)] == [200, 200]
    await delete_branch(repository, "other", "main", actor=ACTOR)
    await delete_branch(repository, "third", "main", actor=ACTOR)
    assert [await put(admin, key) for key in ("other/new", "third/new", "main/new")] == [404, 404, 200]
    await another.delete_repository("bucket", actor=ACTOR)
    assert await put(admin, "main/new") == 404


def test_bodies_that_are_not_as_long_as_they_say(tmp_path: Path) -> None:
    run(_not_as_long(tmp_path))


async def _not_as_long(folder: Path) -> None:
    world = await opened(folder)
    asked = signed(world.people.admin, "PUT", "/bucket/main/new", body=BODY, payload="UNSIGNED-PAYLOAD")
    assert (await world.both(asked)).status == 200
    for length in (str(len(BODY) - 1), str(len(BODY) + 1), "1", "99999"):
        answer = await world.both(asked.with_header("content-length", length))
        assert answer.status == 400
        assert b"<Code>IncompleteBody<" in answer.body
    gone = [await each.ask(asked, Gone(b"")) for each in (world.short, world.general)]
    assert comparable(gone[0]) == comparable(gone[1])
    assert b"<Code>IncompleteBody<" in gone[0].body
    assert world.short.noted[-1] == world.general.noted[-1]


@pytest.mark.thorough
def test_a_body_that_does_not_come(tmp_path: Path) -> None:
    run(_does_not_come(tmp_path))


async def _does_not_come(folder: Path) -> None:
    world = await opened(folder, idle_s=0.3)
    asked = signed(world.people.admin, "PUT", "/bucket/main/new", body=BODY)
    assert (await world.both(asked)).status == 200
    loop = asyncio.get_running_loop()
    begun = loop.time()
    first = asyncio.create_task(world.short.ask(asked, Stalled(b"")))
    await asyncio.sleep(0.15)
    later = [asyncio.create_task(world.short.ask(asked, Stalled(b""))) for _ in range(3)]
    cancelled = asyncio.create_task(world.short.ask(asked, Stalled(b"")))
    await asyncio.sleep(0.05)
    cancelled.cancel()
    assert (await world.short.ask(asked)).status == 200, "others go on"
    answer = await first
    assert loop.time() - begun >= 0.3
    assert [comparable(await each) for each in later] == [comparable(answer)] * 3
    assert loop.time() - begun >= 0.45, "each has its own time"
    assert comparable(answer) == comparable(await world.general.ask(asked, Stalled(b"")))
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert b"<Code>RequestTimeout<" in answer.body
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert (await world.short.ask(asked)).status == 200


def test_who_is_refused_need_not_send_a_body(tmp_path: Path) -> None:
    run(_need_not_send(tmp_path))


async def _need_not_send(folder: Path) -> None:
    world = await opened(folder)
    admin, reader = world.people.admin, world.people.reader
    await world.lake.create_repository("rows", kind="pool", pool=PoolSettings(), actor=ACTOR)
    for who, path in product((admin, reader), ("/bucket/main/new", "/rows/main/new")):
        await world.both(signed(who, "PUT", path, body=BODY))
    wrong: tuple[dict[str, str], ...] = ({"content-md5": "none"}, {"x-amz-checksum-crc32": "none"})
    for asked in (
        signed(reader, "PUT", "/bucket/main/new", body=LARGE),
        signed(admin, "PUT", "/rows/main/new", body=LARGE),
        signed(admin, "PUT", "/bucket/nowhere/new", body=LARGE),
        signed(admin, "PUT", "/bucket/main/nul\0", body=LARGE),
        signed(admin, "PUT", "/bucket/main/new", body=LARGE, payload="E" * 64),
        *(signed(admin, "PUT", "/bucket/main/new", body=LARGE, headers=headers) for headers in wrong),
    ):
        one, other = [await place.ask(asked, Kept(b"")) for place in (world.short, world.general)]
        assert comparable(one) == comparable(other), asked
        assert one.status in (400, 403, 404)


def test_many_at_once_share_a_file_and_a_record(tmp_path: Path) -> None:
    run(_many_at_once(tmp_path))


async def _many_at_once(folder: Path) -> None:
    world = await opened(folder)
    repository = await world.lake.open_repository("bucket")
    await world.short.ask(signed(world.people.admin, "PUT", "/bucket/main/new", body=BODY))
    _, before = await repository.refs()
    bodies = [b"body %d" % number for number in range(50)]
    asks = [signed(world.people.admin, "PUT", f"/bucket/main/many/{i}", body=body) for i, body in enumerate(bodies)]
    spoiled = signed(world.people.admin, "PUT", "/bucket/main/many/bad", body=BODY, payload="0" * 64)
    tasks = [asyncio.create_task(world.short.ask(asked)) for asked in [*asks, spoiled]]
    await asyncio.sleep(0)  # all of them wait for the look at the lake
    tasks[7].cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [each.status for each in answers if isinstance(each, Answer)] == [200] * 49 + [400]
    _, after = await repository.refs()
    entries = {i: await _find(repository, f"many/{i}") for i in range(50)}
    assert [i for i, entry in entries.items() if entry is None] == [7]
    found = [entry for entry in entries.values() if entry is not None]
    assert [await repository.reader.read_all(entry) for entry in found] == [*bodies[:7], *bodies[8:]]
    assert after - before <= 2
    assert len({entry.blocks[0].address for entry in found}) <= 2


def test_a_store_that_fails(tmp_path: Path) -> None:
    run(_store_fails(tmp_path))


async def _store_fails(folder: Path) -> None:
    world = await opened(folder)
    asked = signed(world.people.admin, "PUT", "/bucket/main/new", body=BODY)
    assert [(await world.both(asked)).status for _ in range(2)] == [200, 200]
    repository = await world.lake.open_repository("bucket")
    data = folder / "lake" / repository.repository.id / "data"
    data.rename(data.with_name("elsewhere"))
    data.write_bytes(b"no folder")
    one, other = [await place.ask(asked) for place in (world.short, world.general)]
    assert one.status == other.status >= 400
    assert [len(each.body.split(b"Not a directory")) for each in (one, other)] == [2, 2], "where, is each one's own"
    assert world.short.noted[-1] == world.general.noted[-1]
    data.unlink()
    data.with_name("elsewhere").rename(data)
    short = world.short.short
    assert (await world.both(asked)).status == 200
    assert world.short.short - short == 1


class Kept(Protocol):
    """Its client sends the body only on request."""

    async def __call__(self) -> bytes:
        raise AssertionError("nobody should ask")


class Gone(Protocol):
    """Its client has hung up."""

    async def __call__(self) -> bytes:
        raise ProtocolClosed


class Stalled(Protocol):
    """Its body never comes."""

    async def __call__(self) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""


def _corpus(world: World) -> Iterator[Asked]:
    people = world.people
    for who, key in product(people, KEYS):
        yield signed(who, "PUT", f"/bucket/{key}", body=BODY)
    for key, headers in product(("main/new", "main/small", "v1/new", "other/new"), (*PLAIN, *OTHERS)):
        yield signed(people.admin, "PUT", f"/bucket/{key}", headers=headers, body=BODY)
    for who, query in product(people, ("partNumber=1", "versionId=null", "acl=", "tagging=", "x-id=PutObject")):
        yield signed(who, "PUT", "/bucket/main/new", query, body=BODY)
    for size in (0, 1, PACKED_BYTES_MAX - 1, PACKED_BYTES_MAX, PACKED_BYTES_MAX + 1):
        yield signed(people.admin, "PUT", "/bucket/main/sized", body=bytes(size))
        yield signed(people.nothing, "PUT", "/bucket/main/sized", body=bytes(size))
    paths = ("/", "/nothere/main/small", "/Bad_Name/main/small", "//main/small", "bucket/x/y")
    for path in paths:
        yield signed(people.admin, "PUT", path, body=BODY)
    yield from _spoiled(people.admin)


def _spoiled(admin: NewAccessKey) -> Iterator[Asked]:
    at = "/bucket/main/new"
    good = signed(admin, "PUT", at, body=BODY)
    authorization = dict(good.pairs)["authorization"]
    yield good.with_header("authorization", authorization[:-1] + ("0" if authorization[-1] != "0" else "1"))
    yield good.with_header("authorization", None)
    yield good.with_header("x-amz-date", None)
    yield good.with_header("x-amz-content-sha256", None)
    yield good.with_header("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
    yield good.with_header("content-length", None)
    for length in ("", "-1", "x", "٣", "1e3", "0x10", "9" * 30):
        yield good.with_header("content-length", length)
    yield good.adding("transfer-encoding", "chunked").with_header("content-length", None)
    yield good.with_header("host", None)
    yield good.adding("x-amz-meta-a", "not signed")
    yield good.adding("content-type", "not/signed")
    yield good.adding("content-type", "a").adding("content-type", "b")
    yield good.adding("if-none-match", "*")
    yield signed(STRANGER, "PUT", at, body=BODY)
    yield signed(NewAccessKey("admin", admin.access_key_id, "wrong"), "PUT", at, body=BODY)
    for payload in ("nonsense", "0" * 64, "E" * 64, "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-NONE"):
        yield signed(admin, "PUT", at, body=BODY, payload=payload)
    for minutes in (16, -16, 14):
        yield signed(admin, "PUT", at, body=BODY, late=timedelta(minutes=minutes))
    yield signed(admin, "PUT", at, body=BODY, day="20200101")
    yield signed(admin, "PUT", "/main/new", body=BODY, host="bucket.s3.local:8000")
    yield signed(admin, "PUT", at, body=BODY, host="bucket.s3.local:8000")


async def _entry_after(place: Place, asked: Asked, repository: OpenRepository) -> tuple[Told, Content | None]:
    answer = await place.ask(asked)
    key = asked.path[1:].partition("/")[2]
    ref, _, inside = ("main", "", key) if place.is_flat else key.partition("/")
    found = await _find(repository, inside) if answer.status == 200 and ref == "main" else None
    return comparable(answer), None if found is None else _content(found)


async def _find(repository: OpenRepository, path: str) -> Entry | None:
    refs, _ = await repository.refs()
    return await (await repository.view(resolve(refs, "main"))).get(path)


async def _entry(repository: OpenRepository, path: str) -> Entry:
    found = await _find(repository, path)
    assert found is not None, path
    return found


def _content(entry: Entry) -> Content:
    """Without the location of the bytes and their time."""
    return replace(entry, blocks=(), mtime=0), [(block.size, block.sha256) for block in entry.blocks]
