"""What can go wrong in one call of `World.run`, apart from the store's faults."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tests.sim.chooser import Option
from tests.sim.events import Crash, Jump, Skew, Stall, Thing
from tests.sim.machine import Machine

if TYPE_CHECKING:
    from tests.sim.world import World


class Rules:
    def __init__(
        self,
        last_step: int = 0,
        jumps: Sequence[float] = (),
        crashes: bool | Callable[[Machine], bool] = False,
        stalls: Sequence[float] = (),
        skews: Sequence[float] = (),
        drain: bool = True,
    ) -> None:
        self.last_step = last_step
        self.drain = drain
        self._jumps = jumps
        self._crashes = crashes
        self._stalls = stalls
        self._skews = skews

    def extras(self, world: "World", machines: Sequence[Machine]) -> dict[str, list[Option]]:
        """The options, by kind, that are available at every step while these machines live."""
        things: dict[str, Iterable[Thing]] = {
            "jump": [Jump(world, seconds) for seconds in self._jumps],
            "crash": [Crash(machine) for machine in machines if self._may_crash(machine)],
            "stall": [Stall(machine, seconds) for machine in machines for seconds in self._stalls],
            "skew": [Skew(machine, seconds) for machine in machines for seconds in self._skews],
        }
        return {kind: [(thing, kind) for thing in of_kind] for kind, of_kind in things.items() if of_kind}

    def _may_crash(self, machine: Machine) -> bool:
        return self._crashes(machine) if callable(self._crashes) else self._crashes
