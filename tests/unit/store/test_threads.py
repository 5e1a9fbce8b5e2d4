"""Work is done once, even if the system has no more threads."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lochan.store.threads import Threads
from tests.run import run


@contextmanager
def no_more_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        yield


@pytest.mark.parametrize("alive", [0, 1])
def test_work_that_the_pool_has_taken_is_not_done_twice(alive: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    async def play() -> None:
        threads = Threads()
        may_go = threading.Event()
        if alive:
            busy = asyncio.ensure_future(threads.run(may_go.wait, 20))
            await asyncio.sleep(0)
        with no_more_threads(monkeypatch):
            assert await threads.run(lambda: done.append(1) or len(done)) == 1  # type: ignore[func-returns-value]
        may_go.set()
        if alive:
            await busy
        await threads.run(done.append, 2)
        await threads.run(done.append, 3)

    run(play())
    assert sorted(done) == [1, 2, 3]


def test_what_the_work_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ValueError("broken")

    async def play() -> None:
        with pytest.raises(ValueError, match="broken"):
            await Threads().run(broken)
        with no_more_threads(monkeypatch), pytest.raises(ValueError, match="broken"):
            await Threads().run(broken)

    run(play())
