"""Authentication when another process has just created the key, or created it again."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from lochan.access.open_access import OpenAccess
from lochan.access.users import create_key, create_user, revoke_key
from lochan.clock import SystemClock
from lochan.lake import Lake
from lochan.server.connections import ConnectionGuard
from lochan.server.gateway.authentication import identify, read_claim
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.settings import ClientLimits
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.access.hand_clock import Machine, Time
from tests.unit.access.place import ACTOR
from tests.unit.server.wire.signers import KEY_ID, NOW, REALM, SECRET, sign

FORMS = ("v4 header", "v4 query", "v2 header", "v2 query")


class Servers:
    """An administrator's process and a server's, on a store where a probe is trusted for a second."""

    async def begin(self) -> "Servers":
        store, self.counts, self.time = MemoryStore(), RequestCounts(), Time()
        self.clock = Machine(self.time)
        self.admin = (await Lake.create(store, clock=self.clock)).open_access()
        self.server = (await Lake.open(CountingStore(store, self.counts), clock=self.clock)).open_access()
        await create_user(self.admin, "bob", actor=ACTOR)
        await self.server.state()  # a probe, now
        await self.time.advance(0.1)
        return self

    async def ask(self, form: str, token: str | None = None) -> str:
        """The user, or the reason for the refusal."""
        claim = read_claim(sign(form, token=token).request(), REALM, NOW)
        assert claim is not None
        request = cast(
            S3Request, SimpleNamespace(arrived=self.clock.boot(), identity=None, user="", source="", connection="")
        )
        try:
            await identify(cast(Gateway, _Gate(self.server)), request, claim)
        except S3Error as error:
            return error.code
        return request.user


class _Gate:
    def __init__(self, access: OpenAccess) -> None:
        self.access = access
        self.guard = ConnectionGuard(ClientLimits(), SystemClock())


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_another_process_made_this_very_second_is_known(form: str) -> None:
    async def work() -> None:
        servers = await Servers().begin()
        assert await servers.ask(form) == "InvalidAccessKeyId"
        await servers.time.advance(0.1)
        await create_key(servers.admin, "bob", id=KEY_ID, secret=SECRET, actor=ACTOR)
        assert await servers.ask(form) == "bob"

    run(work())


def test_so_is_one_that_came_back_with_another_secret() -> None:
    async def work() -> None:
        servers = await Servers().begin()
        await create_key(servers.admin, "bob", id=KEY_ID, secret="another-secret-of-some-length", actor=ACTOR)
        assert await servers.ask("v4 header") == "SignatureDoesNotMatch"
        await servers.time.advance(0.01)
        revoking: Any = servers.admin.freshness
        revoking._answer_s = 0.0  # time stands still here
        await revoke_key(servers.admin, KEY_ID, actor=ACTOR)
        await create_key(servers.admin, "bob", id=KEY_ID, secret=SECRET, actor=ACTOR)
        assert await servers.ask("v4 header") == "bob"

    run(work())


def test_only_a_refusal_looks_at_the_journal_again() -> None:
    async def work() -> None:
        servers = await Servers().begin()
        await create_key(servers.admin, "bob", id=KEY_ID, secret=SECRET, actor=ACTOR)
        assert await servers.ask("v4 header") == "bob"
        await servers.time.advance(0.1)
        before = servers.counts.total.requests
        assert await servers.ask("v4 header") == "bob"
        assert servers.counts.total.requests == before

    run(work())


@pytest.mark.parametrize("form", FORMS)
def test_no_key_here_is_one_of_a_session(form: str) -> None:
    async def work() -> None:
        servers = await Servers().begin()
        await create_key(servers.admin, "bob", id=KEY_ID, secret=SECRET, actor=ACTOR)
        assert await servers.ask(form, token="a-token") == "InvalidToken"

    run(work())
