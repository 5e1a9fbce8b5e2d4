"""A simulated server process: its clock, its ids, its view of the store, and everything that it is waiting for."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from lochan.ids import Ids
from tests.sim.loop import SimTask

if TYPE_CHECKING:
    from tests.sim.events import Thing
    from tests.sim.view import View
    from tests.sim.world import World

_T = TypeVar("_T")

# Which machine the running code belongs to. Tasks and callbacks inherit it the way they inherit any context variable.
MACHINE: ContextVar["Machine"] = ContextVar("MACHINE")

EPOCH_US = 1_767_225_600_000_000  # 2026-01-01, the moment at which virtual time is nought


class Machine:
    def __init__(self, world: "World", name: str, number: int, skew_us: int, boot_offset_s: float) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.clock = SimClock(world, skew_us, boot_offset_s)
        self.ids = Ids(_entropy(f"{world.chooser.seed}/{number}/{name}"))
        self.pending: list[Thing] = []  # in the order in which they were asked for
        self.stalled_until_us = 0
        self.mourners: list[Callable[[], None]] = []
        self.on_crash: Callable[[], None] | None = None  # say, start another machine in its place
        self.tasks: list[SimTask[Any]] = []  # held strongly: a task that nobody refers to must not vanish
        self.tasks_max = 64
        self._context = Context()
        self._context.run(MACHINE.set, self)
        self._view: View | None = None

    @property
    def store(self) -> "View":
        """The world's store as this machine sees it."""
        if self._view is None:
            self._view = self.world.shared_store().view(self)
        return self._view

    def spawn(self, coro: Coroutine[Any, Any, _T], *, daemon: bool = False) -> asyncio.Task[_T]:
        """Start a task of this machine. The run lasts until every task that is not a daemon has ended."""
        if not self.alive:
            coro.close()
            raise RuntimeError(f"{self.name} is dead")
        task: asyncio.Task[_T] = self.world.loop.create_task(coro, context=self._context.copy())
        self.world.watch(self, task, daemon=daemon)
        return task

    async def join(self, task: asyncio.Task[Any]) -> bool:
        """From another machine: wait until this machine's task has ended (True) or the machine has died (False)."""
        over: asyncio.Future[None] = asyncio.Future()

        def tell(_: object = None) -> None:
            if not over.done():
                over.set_result(None)

        self.mourners.append(tell)
        task.add_done_callback(tell, context=Context())
        if self.alive:
            await over
        return task.done()

    def crash(self) -> None:
        self.world.crash(self)

    def stall(self, seconds: float) -> None:
        self.world.stall(self, seconds)

    def skew(self, seconds: float) -> None:
        self.world.skew(self, seconds)

    def __repr__(self) -> str:
        return self.name


class SimClock:
    """Boot time is virtual time, the same truth for all. Wall time is what this machine believes: off by a skew."""

    def __init__(self, world: "World", skew_us: int, boot_offset_s: float) -> None:
        self._world = world
        self.skew_us = skew_us
        self._boot_offset_s = boot_offset_s

    def wall(self) -> int:
        return EPOCH_US + self._world.now_us + self.skew_us

    def boot(self) -> float:
        return self._world.now_us / 1_000_000 + self._boot_offset_s

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _entropy:
    """Bytes that look random and are a function of the name and of how many draws came before."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._draws = 0

    def __call__(self, size: int) -> bytes:
        self._draws += 1
        return blake2b(b"%s/%d" % (self._name, self._draws), digest_size=size).digest()
