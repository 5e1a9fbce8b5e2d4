"""The short way of small loads: which requests take it, that its answers are those of the verb, and that whatever
changes is seen by the next request."""

import asyncio
import json
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.responses import Response
from starlette.types import Message

from lochan.access.policies import attach, detach, put_policy
from lochan.access.users import NewAccessKey, create_key, create_user, ensure_admin, revoke_key, set_disabled
from lochan.api import load_group
from lochan.api.lake import Lake as Verbs
from lochan.api.load import LoadOptions
from lochan.api.options import CommitOptions
from lochan.api.session import Session, server_session
from lochan.clock import SystemClock
from lochan.lake import Lake
from lochan.server.rest.fast_rows import FastRows
from lochan.server.rest.known_keys import KnownKeys
from lochan.store.local import LocalStore
from tests.run import run
from tests.unit.access.place import allow
from tests.unit.server.gateway_place import ACTOR

_SOURCE = "127.0.0.1:4711"
_NDJSON = (b"content-type", b"application/x-ndjson")


class Place(NamedTuple):
    session: Session
    fast: FastRows
    verbs: Verbs
    other: Lake  # the same lake in another process
    admin: NewAccessKey
    writer: NewAccessKey  # of the pool logs alone
    nobody: NewAccessKey

    async def post(self, who: NewAccessKey, body: bytes, *headers: tuple[bytes, bytes], **more: Any) -> Any:
        """The JSON of the answer; None: it takes the general path."""
        given = scope(who, (b"content-length", b"%d" % len(body)), *(headers or (_NDJSON,)), **more)
        claim = await self.fast.claim(given, _SOURCE, SystemClock().boot())
        if claim is None:
            return None
        found = (await self.fast.carry_out(claim, sent(body), _SOURCE)).response
        if isinstance(found, bytes):
            return json.loads(found)
        return found.status_code, json.loads(bytes(found.body))["message"]

    async def rows(self) -> list[Any]:
        with await self.verbs.query("from logs | sort k") as result:
            return list(result.rows())


def sent(*pieces: bytes) -> Callable[[], Awaitable[Message]]:
    left = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    left[-1]["more_body"] = False

    async def receive() -> Message:
        return left.pop(0) if left else {"type": "http.disconnect"}

    return receive


def scope(who: NewAccessKey, *headers: tuple[bytes, bytes], **more: Any) -> dict[str, Any]:
    basic = b"Basic " + b64encode(f"{who.access_key_id}:{who.secret_access_key}".encode())
    return {
        "method": "POST",
        "path": "/api/v1/pools/logs/rows",
        "query_string": b"",
        "headers": [(b"host", b"x"), (b"authorization", basic), *headers],
        "client": ("127.0.0.1", 4711),
        "scheme": "http",
        **more,
    }


def played(play: Callable[[Place], Coroutine[Any, Any, None]], folder: Path) -> None:
    async def all() -> None:
        lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
        access = lake.open_access()
        admin = await ensure_admin(access, actor=ACTOR)
        assert admin is not None
        for name in ("writer", "nobody"):
            await create_user(access, name, actor=ACTOR)
        writing = [
            allow("fs:WriteObject fs:CreateCommit", "repository/logs/branch/* repository/logs/branch/*/object/*")
        ]
        await put_policy(access, "writers", writing, actor=ACTOR)
        await attach(access, "writers", "user/writer", actor=ACTOR)
        keys = [await create_key(access, name, actor=ACTOR) for name in ("writer", "nobody")]
        session, known = server_session(lake), KnownKeys(access)
        verbs = Verbs(session)
        await verbs.create_pool("logs", key="k")
        await verbs.create_pool("others", key="k")
        await verbs.create_repository("files")
        other = await Lake.open(LocalStore(str(folder / "lake")))
        for who in (admin, *keys):
            await known.learn(scope(who))
        await play(Place(session, FastRows(session, access, known), verbs, other, admin, *keys))
        await other.close()
        await verbs.close()

    run(all())


def test_its_answers_are_those_of_the_verb(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        body = b'{"k":1}\n{"k":2,"more":[1,"x"]}'
        found = await place.post(place.writer, body, _NDJSON, (b"idempotency-key", b"first"))
        acting = Verbs(place.session.acting_as(place.writer.user, "rest"))
        options, reading = CommitOptions(key="first"), LoadOptions(format="ndjson")
        again = await acting.pool("logs").load(body, options=options, load_options=reading, shared=True)
        assert again.as_json() == found, "the same request by the general path is not carried out again"
        assert await place.post(place.writer, body, _NDJSON, (b"idempotency-key", b"first")) == found
        assert await place.rows() == [{"k": 1}, {"k": 2, "more": [1, "x"]}]
        authors = [each.author async for each in place.verbs.pool("logs").branch("main").log()]
        assert authors[0] == "writer"

    played(play, tmp_path)


def test_posts_of_one_moment_share_a_commit_and_a_bad_one_fails_alone(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        bodies = [b'{"k":1}', b'{"k":', b"", b'{"k":2,"k":3}', b'{"k":4}', b'[{"k":5}]']
        done = await asyncio.gather(
            *(place.post(place.writer, each, (b"content-type", b"application/octet-stream")) for each in bodies)
        )
        assert done[0]["commit"] == done[4]["commit"] and done[5]["rows"] == 1
        assert [each[0] for each in done if isinstance(each, tuple)] == [400, 400, 400]
        assert done[1][1].startswith("the body:1: ") and "occurs twice" in done[3][1] and "no rows" in done[2][1]
        assert await place.rows() == [{"k": 1}, {"k": 4}, {"k": 5}]

    played(play, tmp_path)


def test_clients_that_come_again_share_each_commit(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        commits = []

        async def posts(client: int) -> None:
            for number in range(5):
                done = await place.post(place.writer, b'{"k":%d}' % (100 * client + number))
                commits.append(done["commit"])
                await asyncio.sleep(0.001 * client / 8)  # each takes another time to come again

        await asyncio.gather(*map(posts, range(8)))
        assert len(set(commits)) <= 20, "each waits for most of the others"
        assert len(await place.rows()) == 40

    played(play, tmp_path)


def test_small_objects_share_a_folder(tmp_path: Path) -> None:
    """A new one takes a disk three more syncs than one that is there."""

    async def play(place: Place) -> None:
        for number in range(4):
            await place.post(place.writer, b'{"k":%d}' % number)
        pool = await place.session.repository("logs")
        files = [each.path async for each in place.session.lake.store.list(f"{pool.id}/data/")]
        assert (len(files), len({each.rpartition("/")[0] for each in files})) == (4, 1)

    played(play, tmp_path)


def test_a_client_that_is_alone_does_not_wait_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_group, "_WINDOW_S", 0.5)

    async def play(place: Place) -> None:
        await place.post(place.writer, b'{"k":0}')  # the first one does: nobody knows yet
        begun = time.monotonic()
        for number in range(1, 6):
            await place.post(place.writer, b'{"k":%d}' % number)
        assert time.monotonic() - begun < 5 * 0.5

    played(play, tmp_path)


def test_a_key_of_another_request(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        key = b"idempotency-key", b"one"
        await place.post(place.writer, b'{"k":1}', _NDJSON, key)
        status, words = await place.post(place.writer, b'{"k":2}', _NDJSON, key)
        assert status == 422 and "used for another request" in words
        status, words = await place.post(place.writer, b'{"k":2}', _NDJSON, (b"idempotency-key", b"a b"))
        assert status == 400 and "is not an idempotency key" in words
        assert await place.rows() == [{"k": 1}]

    played(play, tmp_path)


def test_a_body_that_breaks_off_loads_nothing(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        claim = await place.fast.claim(
            scope(place.writer, _NDJSON, (b"content-length", b"20")), _SOURCE, SystemClock().boot()
        )
        assert claim is not None

        async def broken() -> Message:
            return {"type": "http.disconnect"}

        done = await place.fast.carry_out(claim, broken, _SOURCE)
        assert isinstance(done.response, Response) and done.response.status_code == 400
        done = await place.fast.carry_out(claim, sent(b'{"k":', b"1}"), _SOURCE)
        assert isinstance(done.response, bytes)
        assert await place.rows() == [{"k": 1}]

    played(play, tmp_path)


def test_whatever_is_not_plain_takes_the_general_path(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        row, admin = b'{"k":1}', place.admin
        assert await place.post(admin, row) is not None
        stranger = NewAccessKey("stranger", "LKIANOBODYKNOWSTHIS0", "not-the-secret-of-anybody-at-all")
        assert await place.post(stranger, row) is None
        assert await place.post(NewAccessKey(admin.user, admin.access_key_id, "wrong"), row) is None
        assert await place.post(place.nobody, row) is None
        assert await place.post(place.writer, row, path="/api/v1/pools/others/rows") is None
        for more in (
            {"method": "PUT"},
            {"query_string": b"branch=dev"},
            {"client": ("192.0.2.1", 1)},
            {"path": "/api/v1/pools/logs/rows/"},
            {"path": "/api/v1/pools/missing/rows"},
            {"path": "/api/v1/pools/files/rows"},
        ):
            assert await place.post(admin, row, **more) is None, more
        for header in (
            (b"content-encoding", b"gzip"),
            (b"transfer-encoding", b"chunked"),
            (b"x-commit-message", b"words"),
            (b"content-type", b"text/csv"),
            (b"content-length", b"7"),
            (b"authorization", b"Basic x"),
        ):
            assert await place.post(admin, row, _NDJSON, header) is None, header
        assert await place.post(admin, row, (b"content-type", b"image/png")) is None
        assert await place.post(admin, row, (b"accept", b"*/*")) is None
        assert await place.post(admin, b" " * 65_537) is None
        assert await place.rows() == [{"k": 1}]

    played(play, tmp_path)


def test_what_another_process_changes_is_seen(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        access, writer, row = place.other.open_access(), place.writer, b'{"k":1}'
        assert await place.post(writer, row) is not None
        await detach(access, "writers", "user/writer", actor=ACTOR)
        assert await place.post(writer, row) is None
        await attach(access, "writers", "user/writer", actor=ACTOR)
        assert await place.post(writer, row) is not None
        await set_disabled(access, "writer", True, actor=ACTOR)
        assert await place.post(writer, row) is None
        await set_disabled(access, "writer", False, actor=ACTOR)
        await place.other.rename_repository("logs", "moved", actor=ACTOR)
        assert await place.post(writer, row) is None
        moved = {"path": "/api/v1/pools/moved/rows"}
        assert await place.post(place.admin, row, **moved) is not None
        assert await place.post(writer, row, **moved) is None, "their policy names the pool as it was called"
        await place.other.rename_repository("moved", "logs", actor=ACTOR)
        await revoke_key(access, writer.access_key_id, actor=ACTOR)
        assert await place.post(writer, row) is None
        assert len(await place.rows()) == 3

    played(play, tmp_path)


@pytest.mark.parametrize("secret", ["", "wrong", "ünicode"])
def test_credentials_are_learnt_only_if_they_are_right(tmp_path: Path, secret: str) -> None:
    async def play(place: Place) -> None:
        known = KnownKeys(place.session.lake.open_access())
        forged = NewAccessKey("admin", place.admin.access_key_id, secret)
        await known.learn(scope(forged))
        fast = FastRows(place.session, place.session.lake.open_access(), known)
        given = scope(forged, _NDJSON, (b"content-length", b"7"))
        assert await fast.claim(given, _SOURCE, SystemClock().boot()) is None
        await known.learn(scope(place.admin))
        given = scope(place.admin, _NDJSON, (b"content-length", b"7"))
        assert await fast.claim(given, _SOURCE, SystemClock().boot()) is not None

    played(play, tmp_path)
