"""Clients of a simulated lake's journal: they create, delete and read repositories, and tell the oracle every answer.

A client with a key asks again, perhaps through another server, when it is told that the outcome is unknown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from lochan.errors import AlreadyExists, Corrupt, DiskFull, Invalid, NotFound, Transient, Unknown
from lochan.formats.events import Event
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema, State
from lochan.store.retry import RetryStore
from lochan.versioning.repositories import Repositories
from tests.sim.machine import Machine
from tests.sim.oracle import JournalOracle
from tests.sim.plants import Plant
from tests.store_faults import LatencyStore


@dataclass(slots=True)
class Lake:
    """The state that all machines of one run share."""

    oracle: JournalOracle
    plant: Plant
    bucket: bool  # an object store, with the fast path; else a disk
    group: int
    keys_kept: int
    checkpoint_every: int
    patience_s: float = 30.0
    asked: int = 0

    async def open(self, machine: Machine, delay: Callable[[str], float] = lambda verb: 0.0) -> Journal:
        """The journal as a server has it: over the shipped wrappers, on a network with the given `delay`."""
        far = LatencyStore(machine.store, machine.clock, delay)
        store = RetryStore(far, machine.clock, machine.ids)
        rules = self.plant.rules
        schema = Schema(Repositories, rules=rules, keys_kept=self.keys_kept, alarm=self.oracle.alarm)
        slots = ObjectSlots(store, "_lake", aged=self.bucket, group=self.group)
        settings = Settings(machine.name, patience_s=self.patience_s, checkpoint_every=self.checkpoint_every)
        while True:
            try:
                return await Journal.open(
                    "_lake", schema, slots, store, machine.clock, machine.ids, settings, rules=rules
                )
            except Transient:
                await machine.clock.sleep(1)


class Client:
    def __init__(self, lake: Lake, machine: Machine, journal: Journal, name: str) -> None:
        self.lake = lake
        self.machine = machine
        self.journal = journal
        self.name = name

    async def create(self, name: str, *, key: str = "", tag: str = "") -> bool | None:
        """True: done; False: certainly not; None: unknown."""
        id = self.machine.ids.ksuid(self.machine.clock.wall())
        event = RepositoryCreated(id, name, "files", "main")
        return await self._ask(tag or self._tag(f"create {name}"), lambda state: [event], key, name, exists=True)

    async def delete(self, name: str) -> bool | None:
        def decide(state: State) -> list[Event]:
            return [RepositoryDeleted(state.of(Repositories).get(name).id)]

        return await self._ask(self._tag(f"delete {name}"), decide, "", name, exists=False)

    async def create_surely(self, name: str, others: list["Client"]) -> None:
        """Creates with a key, through one server after the other, until the outcome is known."""
        key = self.machine.ids.idempotency_key(self.machine.clock.wall())
        tag = self._tag(f"create {name} by key")
        for client in [self, *others]:
            if await self._through(client, name, key, tag) is not None:
                return

    async def _through(self, client: "Client", name: str, key: str, tag: str) -> bool | None:
        """The request runs on the other server, which may die; then no answer comes."""
        if client.machine is self.machine:
            return await client.create(name, key=key, tag=tag)
        if not client.machine.alive:
            return None
        task = client.machine.spawn(client.create(name, key=key, tag=tag), daemon=True)
        return task.result() if await client.machine.join(task) else None

    async def read(self) -> None:
        oracle, since = self.lake.oracle, self.lake.oracle.floor
        try:
            state = await self.journal.fresh()
        except Transient:
            return
        except Corrupt as error:
            oracle.world.fail(f"CORRUPT on a sound store: {error}")
        oracle.saw(state, since, self.name)

    async def tidy(self) -> None:
        """Checkpoint and trim, as a nightly job does."""
        try:
            await self.journal.fresh()
            await self.journal.checkpoint()
            await self.journal.trim()
        except (Transient, Unknown, DiskFull, AlreadyExists):
            return
        except Corrupt as error:
            self.lake.oracle.world.fail(f"CORRUPT on a sound store: {error}")

    async def _ask(
        self, tag: str, decide: Callable[[State], list[Event]], key: str, name: str, *, exists: bool
    ) -> bool | None:
        oracle, since = self.lake.oracle, self.lake.oracle.floor
        request = AppendRequest(
            Actor("user", self.name, tag), decide, key, sha256(name.encode()).digest() if key else b""
        )
        try:
            id = await self.journal.submit(request)
        except (AlreadyExists, NotFound):
            oracle.refused(tag, since, name, exists=exists)
            return False
        except Unknown:
            return None
        except Invalid as error:
            if "future" not in str(error):  # by this server's clock
                oracle.world.fail(f"INVALID: {tag}: {error}")
            return None
        except (Transient, DiskFull):
            if not key:
                oracle.not_sent(tag)
            return None
        except Corrupt as error:
            oracle.world.fail(f"CORRUPT on a sound store: {error}")
        oracle.acknowledged(tag, id)
        return True

    def _tag(self, text: str) -> str:
        self.lake.asked += 1
        return f"{self.lake.asked}:{self.name} {text}"
