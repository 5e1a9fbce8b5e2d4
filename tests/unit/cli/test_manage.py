"""Rounds of upkeep stop when they are asked to, whatever they are waiting for."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from lochan.cli.pool.manage import _Rounds
from lochan.pools.upkeep import STANDARD


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """They are the process's own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Deaf(_Rounds):
    """A round in which a wait for another's append ends normally although it was cancelled."""

    def __init__(self) -> None:
        self._upkeep = STANDARD._replace(every_s=0.01)
        self.rounds = 0

    async def _round(self) -> list[Exception]:
        self.rounds += 1
        assert self.rounds == 1, "it was told before"
        os.kill(os.getpid(), signal.SIGTERM)
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return []


@pytest.mark.parametrize("interrupt", [signal.default_int_handler, signal.SIG_IGN])
def test_a_cancellation_that_a_round_has_taken_for_its_own_still_ends_it(interrupt: Any) -> None:
    """Also in a process that was started to ignore Ctrl-C, as one in the background is."""
    signal.signal(signal.SIGINT, interrupt)
    deaf = Deaf()
    asyncio.run(deaf.until_stopped())
    assert deaf.rounds == 1
