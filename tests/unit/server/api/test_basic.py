"""Basic authentication where others could read it, and what anonymous clients learn of a server's health."""

from base64 import b64encode
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from lochan.clock import SystemClock
from lochan.errors import Transient
from lochan.server.api.authentication import authenticate
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.api.failed_logins import ATTEMPTS, REFILL_S, FailedLogins
from lochan.server.api.routes import ready
from tests.run import run

GOOD = b64encode(b"KEY:secret").decode()


class Access:
    """Access with one key. It counts how often the secret was requested."""

    def __init__(self) -> None:
        self.asked = 0
        self.freshness = SimpleNamespace(catch_up=self._no)

    async def find_key(self, id: str, arrived: float) -> Any:
        self.asked += 1
        return SimpleNamespace(user="ada", secret="secret") if id == "KEY" else None

    async def _no(self, arrived: float) -> bool:
        return False


def request(client: str, scheme: str, credentials: str = GOOD) -> Request:
    headers = [(b"authorization", f"Basic {credentials}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers, "scheme": scheme}
    return Request({**scope, "client": (client, 4711), CONTEXT: RequestContext("id", 0.0, client)})


@pytest.mark.parametrize("client", ["192.0.2.1", "::ffff:192.0.2.1", "10.0.0.1", "fe80::1"])
@pytest.mark.parametrize("credentials", [GOOD, b64encode(b"KEY:wrong").decode(), "???"])
def test_it_is_refused_in_the_clear_before_the_secret_is_looked_at(client: str, credentials: str) -> None:
    access = Access()
    with pytest.raises(HttpError) as caught:
        run(authenticate(cast(Api, SimpleNamespace(access=access)), request(client, "http", credentials)))
    assert caught.value.status == 403 and "TLS" in caught.value.message and "AWS4-HMAC-SHA256" in caught.value.message
    assert access.asked == 0


@pytest.mark.parametrize(
    "client, scheme", [("192.0.2.1", "https"), ("127.0.0.1", "http"), ("::1", "http"), ("::ffff:127.0.0.1", "http")]
)
def test_it_is_taken_over_tls_and_from_this_machine(client: str, scheme: str) -> None:
    api = cast(Api, SimpleNamespace(access=Access(), clock=SystemClock(), failed_logins=FailedLogins(), directory=None))
    asked = request(client, scheme)
    run(authenticate(api, asked))
    assert asked.scope[CONTEXT].user == "ada"
    with pytest.raises(HttpError) as caught:
        run(authenticate(api, request(client, scheme, b64encode(b"KEY:wrong").decode())))
    assert caught.value.status == 401


def test_a_server_that_is_not_ready_names_no_place() -> None:
    async def fail() -> AsyncIterator[None]:
        raise Transient("/data/lake/_lake/journal: no such file")
        yield

    answer = run(ready(cast(Api, SimpleNamespace(lake=SimpleNamespace(repositories=fail))), request("::1", "http")))
    assert answer.status_code == 503
    assert b"/" not in bytes(answer.body) and b"log says why" in bytes(answer.body)


def test_nobody_tries_very_many_secrets() -> None:
    """And a stranger locks nobody out but who has that key at their address."""
    access = Access()
    api = cast(Api, SimpleNamespace(access=access, clock=SystemClock(), failed_logins=FailedLogins(), directory=None))
    wrong = b64encode(b"KEY:wrong").decode()
    codes = []
    for _ in range(ATTEMPTS + 3):
        with pytest.raises(HttpError) as caught:
            run(authenticate(api, request("192.0.2.1", "https", wrong)))
        codes.append(caught.value.status)
    assert codes == [401] * ATTEMPTS + [429] * 3
    asked = access.asked
    with pytest.raises(HttpError):  # not even the right one is looked at, or the answer would tell
        run(authenticate(api, request("192.0.2.1", "https")))
    assert access.asked == asked
    run(authenticate(api, request("192.0.2.2", "https")))


def test_attempts_come_back_one_by_one() -> None:
    known = FailedLogins()
    for _ in range(ATTEMPTS):
        assert known.wait_s("there", "KEY", "guess", 100.0) == 0
        known.failed("there", "KEY", 100.0)
    assert known.wait_s("there", "KEY", "guess", 100.0) == REFILL_S
    assert known.wait_s("elsewhere", "KEY", "guess", 100.0) == known.wait_s("there", "ANOTHER", "guess", 100.0) == 0
    assert known.wait_s("there", "KEY", "guess", 100.0 + REFILL_S) == 0
    known.failed("there", "KEY", 100.0 + REFILL_S)
    assert known.wait_s("there", "KEY", "guess", 100.0 + REFILL_S) == REFILL_S
    assert known.wait_s("there", "KEY", "guess", 1_000.0) == 0


def test_who_was_let_in_from_there_does_not_wait_for_others() -> None:
    known = FailedLogins()
    known.succeeded("there", "KEY", "right")
    for _ in range(ATTEMPTS):
        known.failed("there", "KEY", 100.0)
    assert known.wait_s("there", "KEY", "guess", 100.0) == REFILL_S
    assert known.wait_s("there", "KEY", "right", 100.0) == 0
    assert known.wait_s("elsewhere", "KEY", "guess", 100.0) == 0
