"""If nothing goes wrong, the simulated store is a store like any other."""

from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from lochan.store.protocol import Store
from tests.sim.chooser import Replay
from tests.sim.world import World
from tests.store_contract import MIB, StoreContract


class TestSimulated(StoreContract):
    stream_bytes_max = 64 * MIB  # it keeps the object itself in memory

    @pytest.fixture(autouse=True)
    def world(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        with World(Replay([], {})) as world:
            self.machine = world.machine("A")

            def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
                task = self.machine.spawn(coroutine)
                world.run()
                return task.result()

            monkeypatch.setattr("tests.store_contract.run", run)
            yield

    def make_store(self) -> Store:
        return self.machine.store
