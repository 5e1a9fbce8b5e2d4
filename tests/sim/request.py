"""One request on its way: its effect in the store, then its answer to the sender. Each is a thing that happens."""

from asyncio import Future
from typing import TYPE_CHECKING, Any

from tests.sim.chooser import Option
from tests.sim.faults import MUTATING
from tests.sim.trace import short

if TYPE_CHECKING:
    from tests.sim.machine import Machine
    from tests.sim.store import SimStore

_ABANDONED: tuple[Option, ...] = (("vanishes", None), ("still on its way", None))


class Request:
    """A machine waits for this one."""

    __slots__ = ("data", "future", "machine", "more", "outside", "path", "sent_us", "step", "store", "value", "verb")

    def __init__(
        self, store: "SimStore", machine: "Machine", verb: str, path: str, data: bytes | None, more: Any
    ) -> None:
        self.store = store
        self.machine = machine
        self.verb = verb
        self.path = path
        self.data = data
        self.more = more  # start and stop of a range, or where a listing goes on
        self.sent_us = store.world.now_us
        self.future: Future[Any] = Future(loop=store.world.loop)
        self.value: Any = None
        self.outside = True  # the effect is still to come
        self.step = 0

    def act(self) -> None:
        world = self.store.world
        world.moved(self.machine)
        if self.outside:
            self.outside = False
            self.value = self.store.perform(self)
            self.step = world.steps
            if world.split:
                return
        elif world.steps != self.step + 1:  # otherwise the trace would only say everything twice
            world.note(self.machine.name, f"  is answered: {self.verb} {short(self.path)}")
        self.machine.pending.remove(self)
        if isinstance(self.value, BaseException):
            self.future.set_exception(self.value)
        else:
            self.future.set_result(self.value)

    def abandon(self) -> None:
        """Its sender has given up or died. What has not yet happened may still happen, or not."""
        pending = self.machine.pending
        if self not in pending:
            return
        pending.remove(self)
        if self.outside and self.verb in MUTATING and self.store.world.chooser.choose(_ABANDONED):
            self.store.world.wandering.append(Wanderer(self))

    def __str__(self) -> str:
        return f"{self.machine} {self.verb} {self.path}" if self.outside else f"{self.machine} is answered {self.path}"


class Wanderer:
    """A write that nobody waits for any more, but that lands all the same."""

    __slots__ = ("request",)

    outside = True

    def __init__(self, request: Request) -> None:
        self.request = request

    def act(self) -> None:
        store = self.request.store
        store.world.wandering.remove(self)
        store.land(self.request)

    def __str__(self) -> str:
        return f"{self.request.machine} late {self.request.verb} {self.request.path}"
