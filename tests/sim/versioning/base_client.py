"""A client that records each request and reports each answer to the oracle.

A body is never written: an entry's checksum names the write, so that each can be followed wherever it goes.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from lochan.errors import Conflict, Corrupt, DiskFull, Mistake, Transient, Unknown
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.versioning.open_repository import OpenRepository
from tests.sim.machine import Machine
from tests.sim.versioning.place import Place
from tests.sim.versioning.request import ClientRequest

Ask = Callable[[Actor], Awaitable[Any]]


class BaseClient:
    def __init__(self, place: Place, machine: Machine, repository: OpenRepository, name: str) -> None:
        self.place = place
        self.oracle = place.oracle
        self.machine = machine
        self.repository = repository
        self.name = name

    async def ask(self, request: ClientRequest, call: Ask) -> bool | None:
        """True: done; False: certainly not; None: unknown, or not sent."""
        self.place.asked += 1
        tag = f"{self.place.asked}:{self.name} {request.verb} {request.branch}"
        self.oracle.asked(tag, request.begun(self.oracle.floor))
        try:
            done = await call(Actor("user", self.name, tag))
        except Unknown:
            return None
        except (Transient, DiskFull):
            self.oracle.not_sent(tag)
            return None
        except (Conflict, Mistake) as error:
            self.oracle.refused(tag, error)
            return False
        except Corrupt as error:
            self.oracle.world.fail(f"CORRUPT on a sound store: {error}")
        self.oracle.acknowledged(tag, done if isinstance(done, int) else 1)
        return True

    def entry(self, path: str) -> Entry:
        self.place.written += 1
        value = f"w{self.place.written}"
        return Entry(path, (), 0, value, value, self.place.written)
