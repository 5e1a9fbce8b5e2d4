"""Tags reach the store through every wrapper, and only for the one put."""

from collections.abc import Mapping
from copy import copy

from lochan.store.capabilities import Wrapper
from lochan.store.counts import RequestCounts
from lochan.store.memory import MemoryStore
from lochan.store.open import stack
from lochan.store.protocol import Store
from lochan.versioning.bodies.body import ready
from tests.run import run
from tests.store_contract import MIB, chunks
from tests.store_faults import FaultStore, LatencyStore
from tests.unit.bodies.factories import bodies, sent
from tests.unit.store.clocks import StillClock, counting_ids


class Tagged(Wrapper):
    """Keeps the tags of each object, as a remote store does."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.tags: Mapping[str, str] = {}
        self.of: dict[str, Mapping[str, str]] = {}

    def tagged(self, tags: Mapping[str, str]) -> "Tagged":
        other = copy(self)
        other.tags = tags
        return other

    async def put(self, path: str, data: bytes) -> None:
        self.of[path] = self.tags
        await super().put(path, data)

    async def put_stream(self, path: str, chunks: object) -> int:
        self.of[path] = self.tags
        return await super().put_stream(path, chunks)  # type: ignore[arg-type]


def test_each_file_carries_its_own_path() -> None:
    store, counts = Tagged(MemoryStore()), RequestCounts()
    faulty = FaultStore(LatencyStore(store, StillClock(), lambda verb: 0.0), StillClock(), lambda verb, path: None)
    whole = stack(faulty, clock=StillClock(), ids=counting_ids(), counts=counts)

    async def play() -> None:
        made = bodies(whole, tag_paths=True, block_bytes=5 * MIB)
        small = await made.write("foo/bar", sent(b"1"), mint=1)
        large = await made.write("foo/large", chunks(6, MIB), mint=1)
        packed = await made.write_pack([ready("p/q", b"1"), ready("p/r", b"2")], mint=1)
        plain = await bodies(whole, writer="other").write("plain", sent(b"1"), mint=1)
        assert {
            entry.path: [store.of[block.address] for block in entry.blocks] for entry in (small, large, *packed, plain)
        } == {
            "foo/bar": [{"path.0": "foo", "path.1": "bar"}],
            "foo/large": [{"path.0": "foo", "path.1": "large"}] * 2,
            "p/q": [{"path.0": "p", "path.1": "q"}],
            "p/r": [{"path.0": "p", "path.1": "r"}],
            "plain": [{}],
        }
        assert counts.put.requests + counts.put_stream.requests == 6  # one count for all copies of the stack

    run(play())
