"""Things that may happen next, other than the store's: a timer goes off, time passes, a machine dies or stands still.

Each is an option for the chooser: `act` makes it happen, `str` says what it is.
"""

from asyncio import TimerHandle
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tests.sim.machine import Machine
    from tests.sim.world import World


class Thing(Protocol):
    outside: bool  # happens in the store or on the way to it, so also while its machine stands still

    def act(self) -> None: ...


class Due:
    """A timer whose time has come. It takes its turn among what its machine is waiting for, as on a busy machine."""

    outside = False

    def __init__(self, machine: "Machine", handle: TimerHandle) -> None:
        self.machine = machine
        self.handle = handle

    def act(self) -> None:
        self.machine.world.moved(self.machine)
        self.machine.pending.remove(self)
        handle = self.handle
        handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return f"{self.machine} timer"


class Wait:
    """Nothing else happens until the next timer goes off or the next stalled machine wakes."""

    outside = True

    def __init__(self, world: "World") -> None:
        self._world = world

    def act(self) -> None:
        self._world.advance()

    def __str__(self) -> str:
        return "wait for a timer"


class Jump:
    """Everything stops for a while: answers and timers all come late."""

    outside = True

    def __init__(self, world: "World", seconds: float) -> None:
        self._world = world
        self._seconds = seconds

    def act(self) -> None:
        self._world.jump(self._seconds)

    def __str__(self) -> str:
        return f"clock +{self._seconds} s"


class Crash:
    outside = True

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine

    def act(self) -> None:
        self._machine.crash()

    def __str__(self) -> str:
        return f"crash {self._machine}"


class Stall:
    """One machine stops while the others go on: SIGSTOP, a long collection, a suspended guest."""

    outside = True

    def __init__(self, machine: "Machine", seconds: float) -> None:
        self._machine = machine
        self._seconds = seconds

    def act(self) -> None:
        self._machine.stall(self._seconds)

    def __str__(self) -> str:
        return f"stall {self._machine} {self._seconds} s"


class Skew:
    """One machine's wall clock is set, by hours or days, either way."""

    outside = True

    def __init__(self, machine: "Machine", seconds: float) -> None:
        self._machine = machine
        self._seconds = seconds

    def act(self) -> None:
        self._machine.skew(self._seconds)

    def __str__(self) -> str:
        return f"skew {self._machine} {self._seconds} s"
