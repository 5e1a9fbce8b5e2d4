"""The fast path gives the answers of the general path: every request of a corpus goes through both."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from lochan.access.policies import attach, detach
from lochan.access.state import AccessKey
from lochan.access.users import NewAccessKey, create_key, revoke_key
from lochan.lake import Lake
from lochan.server.gateway.fastpath.places import ReadPlace
from lochan.server.gateway.fastpath.read_batch import SENT_TOGETHER
from lochan.server.gateway.fastpath.reads import FastReads
from lochan.store.local import LocalStore
from lochan.versioning import objects
from lochan.versioning.branches import delete_branch
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.workspaces import write
from lochan.versioning.workspaces.write import open_workspace
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, Answer, Asked, signed
from tests.unit.server.two_paths import People, World, chunks, opened

STRANGER = NewAccessKey("nobody", "LKIANOBODYKNOWSTHIS0", "not-the-secret-of-anybody-at-all")
KEYS = (
    "main/small",
    "main/d/small",
    "main/empty",
    "main/large",
    "main/told",
    "main/sum",
    "main/staged",
    "main/odd & <näme> 100%/+~",
    "main/missing",
    "main/secret/a",
    "main/",
    "main",
    "main//small",
    "main/" + "k" * 300,
    "main/" + "ü" * 600,
    "main/nul\0",
    "other/small",
    "nowhere/small",
    "v1/small",
    "v1/staged",
    "main~1/small",
    "main@/staged",
    "main$/small",
    "main+17-9f3a6c21/small",
)
QUERIES = ("", "response-content-type=text%2Fplain", "partNumber=1", "versionId=null", "uploads=", "acl=")
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"x-amz-checksum-mode": "ENABLED"},
    {"x-amz-checksum-mode": "enabled"},
    {"x-amz-checksum-mode": "no"},
    {"range": "bytes=1-2"},
    {"range": "bytes=900000-"},
    {"if-match": "*"},
    {"if-none-match": "*"},
    {"if-modified-since": "Sun, 15 Nov 2020 10:00:00 GMT"},
    {"content-length": "0"},
    {"user-agent": "two  spaces"},
    {"x-amz-security-token": "a-token"},
    {"x-amz-expected-bucket-owner": "somebody"},
)


def test_plain_reads(tmp_path: Path) -> None:
    run(_plain_reads(tmp_path))


async def _plain_reads(folder: Path) -> None:
    world = await opened(folder)
    await world.both(signed(world.people.admin, "GET", "/bucket/main/small"))
    before = world.short.short
    for method, key in product(("HEAD", "GET"), ("small", "d/small", "empty", "told", "sum", "odd & <näme> 100%/+~")):
        answer = await world.both(signed(world.people.admin, method, f"/bucket/main/{key}"))
        assert answer.status == 200
        assert answer.body == (b"" if method == "HEAD" or key == "empty" else f"body of {key}".encode())
    assert world.short.short - before == 12, "these are what the short way is for"
    assert world.general.short == 0


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.thorough
def test_requests_of_every_kind(tmp_path: Path, flat: bool) -> None:
    run(_requests_of_every_kind(tmp_path, flat))


async def _requests_of_every_kind(folder: Path, flat: bool) -> None:
    world = await opened(folder, flat=flat)
    count, statuses = 0, set()
    for who in world.people:  # from here on the cache knows each of them
        await world.both(signed(who, "GET", "/bucket/main/small"))
    for asked in _corpus(world.people):
        statuses.add((await world.both(asked)).status)
        count += 1
    assert count > 1_000
    assert {200, 206, 304, 400, 403, 404, 416, 501} <= statuses
    assert world.short.short > 30


def test_what_others_change_is_seen_by_the_next_request(tmp_path: Path) -> None:
    run(_what_others_change(tmp_path))


async def _what_others_change(folder: Path) -> None:
    world = await opened(folder)
    another = await Lake.open(LocalStore(str(folder / "lake")))
    repository, access = await another.open_repository("bucket"), another.open_access()
    admin, reader = world.people.admin, world.people.reader

    async def get(who: NewAccessKey, key: str) -> Answer:
        return await world.both(signed(who, "GET", f"/bucket/{key}"))

    for _ in range(2):
        assert (await get(reader, "main/small")).body == b"body of small"
    await objects.put(repository, "main", "small", chunks(b"another"), actor=ACTOR)
    assert (await get(reader, "main/small")).body == b"another"
    await commit(repository, "main", CommitRequest("all"), actor=ACTOR)
    assert (await get(reader, "main/small")).body == b"another"
    await objects.delete(repository, "main", ["small"], actor=ACTOR)
    assert (await get(reader, "main/small")).status == 404
    assert (await get(reader, "other/d/small")).status == 200
    await delete_branch(repository, "other", "main", actor=ACTOR)
    assert (await get(reader, "other/d/small")).status == 404
    await detach(access, "readers", "user/reader", actor=ACTOR)
    assert (await get(reader, "main/d/small")).status == 403
    await attach(access, "readers", "user/reader", actor=ACTOR)
    assert (await get(reader, "main/d/small")).status == 200
    await revoke_key(access, reader.access_key_id, actor=ACTOR)
    assert (await get(reader, "main/d/small")).status == 403
    await create_key(access, "nothing", id=reader.access_key_id, secret=reader.secret_access_key, actor=ACTOR)
    assert (await get(reader, "main/d/small")).status == 403, "the same key and secret, another user"
    assert (await get(admin, "main/d/small")).status == 200
    await another.delete_repository("bucket", actor=ACTOR)
    assert (await get(admin, "main/d/small")).status == 404


def test_lists(tmp_path: Path) -> None:
    run(_lists(tmp_path))


async def _lists(folder: Path) -> None:
    world = await opened(folder)
    repository = await world.lake.open_repository("bucket")
    workspace = await open_workspace(repository, "main", actor=ACTOR)
    queries = (
        *("list-type=2&prefix=main%2F", "prefix=main%2F", "prefix=main%2F&versions=", "delimiter=%2F&prefix=main%2F"),
        *(
            "encoding-type=url&list-type=2&prefix=main%2F",
            "delimiter=s&encoding-type=url&prefix=main%2F",
            "list-type=2",
        ),
        *("fetch-owner=true&list-type=2&prefix=main%2F", "list-type=2&max-keys=2&prefix=main%2F", "list-type=3"),
        *("list-type=2&max-keys=0&prefix=main%2F", "list-type=2&prefix=main%2F&start-after=zzz", "prefix=v1%2F"),
        *("list-type=2&prefix=nowhere%2F", "encoding-type=no&prefix=main%2F", "prefix=other%2Fsecret%2F", "prefix=mai"),
        f"prefix=main%2B{workspace.id}%2F",
    )

    async def both_say() -> list[int]:
        return [
            (await world.both(signed(who, "GET", "/bucket", each))).status for who in world.people for each in queries
        ]

    before = await both_say()
    assert {200, 400, 403} == set(before)
    assert await both_say() == before
    await objects.put(repository, "main", "one more", chunks(b"x"), actor=ACTOR)
    await write.put(repository, workspace.id, "in the workspace", chunks(b"x"), actor=ACTOR)
    listed = await world.both(signed(world.people.admin, "GET", "/bucket", queries[0]))
    assert b"<Key>main/one more</Key>" in listed.body
    assert await both_say() == before
    await commit(repository, "main", CommitRequest("one more"), actor=ACTOR)
    assert await both_say() == before


def test_a_body_that_is_gone_or_damaged(tmp_path: Path) -> None:
    run(_gone_or_damaged(tmp_path))


async def _gone_or_damaged(folder: Path) -> None:
    world = await opened(folder)
    asked = signed(world.people.admin, "GET", "/bucket/main/small")
    for _ in range(2):
        assert (await world.both(asked)).status == 200
    [file] = [each for each in (folder / "lake").glob("*/data/*/*") if each.read_bytes() == b"body of small"]
    file.write_bytes(b"body of smell")
    assert (await world.both(asked)).status == 500
    file.unlink()
    assert (await world.both(asked)).status == 404


def test_requests_at_once_share_a_look_and_survive_one_that_is_cancelled(tmp_path: Path) -> None:
    run(_at_once(tmp_path))


async def _at_once(folder: Path) -> None:
    world = await opened(folder)
    await world.both(signed(world.people.admin, "GET", "/bucket/main/small"))
    looks = _counted_looks(world)
    asked = [signed(world.people.admin, "GET", "/bucket/main/small") for _ in range(50)]
    tasks = [asyncio.create_task(world.short.ask(each)) for each in asked]
    assert [answer.status for answer in await asyncio.gather(*tasks)] == [200] * 50
    assert len(looks) == 2, "one at the lake's journal, one at the repository's"
    tasks = [asyncio.create_task(world.short.ask(each)) for each in asked]
    await asyncio.sleep(0)  # all of them wait for the look
    tasks[7].cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(answers[7], asyncio.CancelledError)
    assert [answer.status for answer in answers if isinstance(answer, Answer)] == [200] * 49


def test_answers_that_leave_together_are_each_their_own(tmp_path: Path) -> None:
    run(_together(tmp_path))


async def _together(folder: Path) -> None:
    """Also more than are sent at once, and beside those that are refused, damaged, not there, or have to be opened."""
    world = await opened(folder)
    admin, reader = world.people.admin, world.people.reader
    for who in (admin, reader):
        await world.both(signed(who, "GET", "/bucket/main/small"))
    [file] = [each for each in (folder / "lake").glob("*/data/*/*") if each.read_bytes() == b"body of d/small"]
    file.write_bytes(b"body of d/smell")
    looks = _counted_looks(world)
    before = world.short.short
    paths = {
        "main/small": (admin, 200, b"body of small"),
        "main/told": (admin, 200, b"body of told"),
        "main/empty": (admin, 200, b""),
        "main/d/small": (admin, 500, None),
        "main/missing": (admin, 404, None),
        "other/small": (admin, 200, b"body of small"),  # nobody has opened that branch yet
        "main/secret/a": (reader, 403, None),
    }
    expected = [each for each in paths.items() for _ in range(SENT_TOGETHER)]
    asked = [signed(who, "GET", f"/bucket/{key}") for key, (who, _, _) in expected]
    answers = await asyncio.gather(*(world.short.ask(each) for each in asked))
    assert [answer.status for answer in answers] == [status for _, (_, status, _) in expected]
    for answer, (_, (_, _, body)) in zip(answers, expected, strict=True):
        assert body is None or answer.body == body
    assert world.short.short - before == 4 * SENT_TOGETHER
    assert len({answer.headers["x-amz-request-id"] for answer in answers}) == len(answers)
    assert len(looks) < len(answers)


def test_a_read_that_fails_in_the_midst_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(_alone(tmp_path, monkeypatch))


async def _alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a bug keeps the answers of others back."""
    world = await opened(folder)
    admin = world.people.admin
    await world.both(signed(admin, "GET", "/bucket/main/small"))
    learn = FastReads._learn_rights

    def broken(reads: FastReads, key: AccessKey, place: ReadPlace) -> bool:
        if place.ref == "other":
            raise ZeroDivisionError
        return learn(reads, key, place)

    monkeypatch.setattr(FastReads, "_learn_rights", broken)
    asked = [signed(admin, "GET", f"/bucket/{ref}/small") for ref in ("main", "other", "main")]
    one, failed, other = await asyncio.gather(*map(world.short.ask, asked), return_exceptions=True)
    assert isinstance(failed, ZeroDivisionError)
    assert isinstance(one, Answer) and isinstance(other, Answer)
    assert one.body == other.body == b"body of small"


def _counted_looks(world: World) -> list[int]:
    gateway = world.short.app._gateway
    assert gateway is not None
    repository = gateway.session.known("bucket")
    assert repository is not None
    looks: list[int] = []
    for journal in (gateway.access.journal, repository.journal):
        ends_at = journal.slots.ends_at

        def counted(number: int, ends_at=ends_at) -> bool:  # type: ignore[no-untyped-def]
            looks.append(number)
            return bool(ends_at(number))

        journal.slots.ends_at = counted  # type: ignore[method-assign]
    return looks


def _corpus(people: People) -> Iterator[Asked]:
    admin = people.admin
    for who, method, key in product(people, ("HEAD", "GET"), KEYS):
        yield signed(who, method, f"/bucket/{key}")
    for method, key, query, headers in product(("HEAD", "GET"), KEYS[:7], QUERIES, HEADERS):
        yield signed(admin, method, f"/bucket/{key}", query, headers=headers)
    for method in ("PUT", "DELETE", "POST", "OPTIONS", "PATCH"):
        yield signed(people.nothing, method, "/bucket/main/small")
    paths = ("/", "/bucket", "/bucket/", "/nothere/main/small", "/Bad_Name/main/small", "//main/small", "bucket/x/y")
    for method, path in product(("HEAD", "GET"), paths):
        yield signed(admin, method, path)
    yield from _spoiled(people)


def _spoiled(people: People) -> Iterator[Asked]:
    admin = people.admin
    for method in ("HEAD", "GET"):
        good = signed(admin, method, "/bucket/main/small")
        authorization = dict(good.pairs)["authorization"]
        yield good.with_header("authorization", authorization[:-1] + ("0" if authorization[-1] != "0" else "1"))
        yield good.with_header("authorization", authorization[:-64] + "é" * 64)
        yield good.with_header("authorization", authorization[:-64])
        yield good.with_header("authorization", authorization.replace(", Signature", ",Signature"))
        yield good.with_header("authorization", authorization + " ")
        yield good.with_header("authorization", None)
        yield good.with_header("x-amz-date", None)
        yield good.with_header("x-amz-date", "20200101T000000Z")
        yield good.with_header("x-amz-content-sha256", None)
        yield good.with_header("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
        yield good.with_header("host", "elsewhere:8000")
        yield good.with_header("host", None)
        yield good.adding("x-amz-meta-a", "not signed")
        yield good.adding("x-amz-date", "20200101T000000Z")
        yield good.adding("accept", "a").adding("accept", "b")
        yield good.adding("content-length", "7")
        yield good.adding("expect", "100-continue").adding("content-length", "0")
        yield signed(STRANGER, method, "/bucket/main/small")
        yield signed(NewAccessKey("admin", admin.access_key_id, "wrong"), method, "/bucket/main/small")
        yield signed(admin, method, "/bucket/main/small", payload="UNSIGNED-PAYLOAD")
        yield signed(admin, method, "/bucket/main/small", payload="nonsense")
        yield signed(admin, method, "/bucket/main/small", payload="0" * 64)
        yield signed(admin, method, "/bucket/main/small", payload="STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        yield signed(admin, method, "/bucket/main/small", late=timedelta(minutes=16))
        yield signed(admin, method, "/bucket/main/small", late=timedelta(minutes=-16))
        yield signed(admin, method, "/bucket/main/small", late=timedelta(minutes=14))
        yield signed(admin, method, "/bucket/main/small", day="20200101")
        yield signed(admin, method, "/bucket/main/small", also=("x-amz-meta-none",))
        yield signed(admin, method, "/main/small", host="bucket.s3.local:8000")
        yield signed(admin, method, "/bucket/main/small", "X-Amz-Signature=abc")
        yield signed(admin, method, "/bucket/main/small", "X-Amz-Algorithm=AWS4-HMAC-SHA256")
