"""A repository beside which garbage is collected: every request takes its turn, those for trees, runs and lists too."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lochan.store.protocol import Store
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.open_repository import OpenRepository
from tests.sim.collection.oracle import LAKE_URL, CollectionOracle
from tests.sim.machine import Machine
from tests.sim.versioning.place import Place
from tests.sim.view import View


@dataclass(slots=True)
class Span:
    """One act of one machine, by the store's history: from the effect with this number on."""

    machine: str
    collects: bool
    start: int
    stop: int = 1 << 62  # its machine has died


@dataclass(slots=True)
class CollectionPlace(Place):
    begun: int = 0  # the number of effects before the scene
    spans: list[Span] = field(default_factory=list)
    slow_lists_s: float = 0.0  # how long a collector pauses after it has written its list
    others: dict[str, "CollectionPlace"] = field(default_factory=dict)  # more repositories of the lake, by id

    @property
    def judge(self) -> CollectionOracle:
        assert isinstance(self.oracle, CollectionOracle)
        return self.oracle

    def store_of(self, machine: Machine) -> Store:
        return _SlowLists(machine, self.slow_lists_s)

    def outside_of(self, machine: Machine) -> OutsideFiles | None:
        """The lake's own store is one of those that a URL can lead to."""
        return OutsideFiles(_only(LAKE_URL, self.store_of(machine)))

    async def open_other(self, machine: Machine, id: str) -> OpenRepository:
        return await self.others[id].open(machine)


class _SlowLists(View):
    def __init__(self, machine: Machine, pause_s: float) -> None:
        super().__init__(machine.world.shared_store(), machine)
        self._pause_s = pause_s

    async def put(self, path: str, data: bytes) -> None:
        await super().put(path, data)
        if self._pause_s and "/plans/" in path and path.endswith(".parquet"):
            await self._machine.clock.sleep(self._pause_s)


def _only(url: str, store: Store) -> Callable[[str], Store]:
    def open_store(root: str) -> Store:
        assert root == url, root
        return store

    return open_store
