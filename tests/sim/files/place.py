"""A repository whose bodies are bytes: requests for them take their turn, as those of the journal do."""

from dataclasses import dataclass
from typing import Any

from lochan.store.protocol import Store
from tests.sim.machine import Machine
from tests.sim.versioning.place import Instant, Place
from tests.sim.view import View

BODIES = ("/data/", "/workspaces/")  # where bodies lie; what else a repository writes is explored elsewhere


@dataclass(slots=True)
class FilesPlace(Place):
    def store_of(self, machine: Machine) -> Store:
        return _Bodies(machine)


class _Bodies(Instant):
    async def send(self, verb: str, path: str, data: bytes | None = None, more: Any = None) -> Any:
        if any(each in path for each in BODIES) and "/_committed/" not in path:
            return await View.send(self, verb, path, data, more)
        return await Instant.send(self, verb, path, data, more)
