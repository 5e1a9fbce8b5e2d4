"""A checkout of a lake of which only the public verbs are there, as of one that is elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from lochan.api.checkout import Checkout, check_out
from lochan.api.lake import Lake
from lochan.api.ref import Ref
from lochan.api.repository import Repository
from lochan.api.session import Session
from lochan.formats.record import Actor
from lochan.lake import Lake as OpenLake
from lochan.store.memory import MemoryStore
from tests.run import run

FILES = {"a.txt": b"one", "empty": b"", "sub/b.bin": bytes(9_000_000)}


class Public:
    """A noun whose private names nobody sees."""

    def __init__(self, inner: object) -> None:
        self.__inner = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self.__inner, name)
        return _wrapped(found) if inspect.ismethod(found) else found


def _wrapped(verb: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        answer = verb(*given, **named)
        return Public(answer) if isinstance(answer, Lake | Repository | Ref) else answer

    return call


def test_it_is_checked_out_pulled_and_committed(tmp_path: Path) -> None:
    async def play() -> None:
        inner = Lake(Session(await OpenLake.create(MemoryStore()), Actor("ann", "test", "here")))
        main = (await inner.create_repository("demo")).branch("main")
        for path, body in FILES.items():
            await main.put(path, body)
        await main.commit("first")
        lake = cast(Lake, Public(inner))
        ref = lake.repository("demo").ref("main")
        folder = tmp_path / "out"
        done = await check_out(lake, ref, folder, prefix="", cache="", progress=None, report=lambda *_: None)
        assert (done.written, done.bytes) == (3, 9_000_003)
        assert {path: (folder / path).read_bytes() for path in FILES} == FILES
        checkout = Checkout(lake, folder)
        (folder / "a.txt").write_text("uno")
        await main.put("new.txt", b"new")
        await main.commit("second")
        await checkout.commit("third")
        assert await main.read("a.txt") == b"uno"
        assert (await checkout.pull()).written == 1
        assert (await checkout.status()).changes == ()
        await inner.close()

    run(play())
