"""What a process has read of a lake before, for the next time that it opens it: the folded states of journals, lists of
ranges, and open ranges and runs. The companion of the command line keeps it and forks; nobody else has any.

It saves work and is never evidence. A state is a checkpoint in memory (rule J7): it is used only if its last record is
in the journal still (`Journal.open`), and the records after it are folded as always. The rest are immutable files under
names that are never used again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lochan.bounded_cache import BoundedCache

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.formats.entry_table import EntryRows
    from lochan.formats.range import RangeRef
    from lochan.journal.journal import Journal
    from lochan.journal.state import State
    from lochan.staging.runs import OpenRuns

_LAKES_MAX = 4
_RANGES_LISTED_MAX = 50_000
_RANGES_BYTES_MAX = 336 << 20
_PATCHES_BYTES_MAX = 32 << 20
_RUNS_BYTES_MAX = 96 << 20


class WarmStates(dict[str, "State"]):
    """The states by journal. `asked` has the journals that were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()
        self._taken: dict[str, bytes | None] = {}  # the digest of the state that was given away
        self._opened: dict[str, Journal] = {}

    def take(self, journal: str) -> State | None:
        self.asked.add(journal)
        found = self.pop(journal, None)
        if found is not None:
            self._taken[journal] = found.digest
        return found

    def note_opened(self, journal: str, opened: Journal) -> None:
        self._opened[journal] = opened

    def have_moved(self) -> bool:
        """Returns whether any journal was read further than its warm state."""
        return any(each.tail.state.digest != self._taken.get(name) for name, each in self._opened.items())

    def give_back(self) -> None:
        """Takes the states back that were not read further: the lakes that had them are closed."""
        for name, opened in self._opened.items():
            if opened.tail.state.digest == self._taken.get(name):
                self[name] = opened.tail.state
        self.settle()

    def settle(self) -> None:
        self._taken.clear()
        self._opened.clear()


class WarmLake:
    """The warm states of one lake. `states` are by journal; each is taken by the first that opens the journal, since
    two must not fold into one. The others are by the path of the file."""

    def __init__(self) -> None:
        self.states = WarmStates()
        self.trees: BoundedCache[str, tuple[RangeRef, ...]] = BoundedCache(_RANGES_LISTED_MAX)
        self.ranges: BoundedCache[str, EntryRows] = BoundedCache(_RANGES_BYTES_MAX)
        self.patches: BoundedCache[str, pa.RecordBatch] = BoundedCache(_PATCHES_BYTES_MAX)
        self._runs: OpenRuns | None = None
        self._settled: set[str] = set()

    @property
    def runs(self) -> OpenRuns:
        if self._runs is None:
            from lochan.staging.runs import OpenRuns  # with Arrow behind it

            self._runs = OpenRuns(_RUNS_BYTES_MAX)
        return self._runs

    def has_news(self) -> bool:
        """Returns whether anything new was read since `settle`."""
        return self.states.have_moved() or not self._files() <= self._settled

    def settle(self) -> None:
        self.states.settle()
        self._settled = self._files()

    def _files(self) -> set[str]:
        runs = [] if self._runs is None else self._runs.paths()
        return {*self.trees.keys(), *self.ranges.keys(), *self.patches.keys(), *runs}


class WarmLakes:
    """Warm states by URL and id of the lake: if a lake was deleted and another one made in its place, the new one has
    no warm state."""

    def __init__(self) -> None:
        self._lakes: BoundedCache[tuple[str, str], WarmLake] = BoundedCache(_LAKES_MAX)
        self.used: list[tuple[str, str]] = []  # those that were requested, in this order

    def __len__(self) -> int:
        return len(self._lakes)

    def at(self, url: str, lake: str) -> WarmLake:
        key = url, lake
        if key not in self.used:
            self.used.append(key)
        return self._lakes.get(key) or self._lakes.put(key, WarmLake())

    def settle(self) -> None:
        """Marks everything that is kept now as not new."""
        self.used.clear()
        for key in self._lakes.keys():  # noqa: SIM118
            lake = self._lakes.get(key)
            if lake is not None:
                lake.settle()

    def give_back(self) -> None:
        """Prepares for the next command of this process, after one that has read nothing new."""
        for url, lake in self.used:
            self.at(url, lake).states.give_back()
        self.used.clear()

    def drop(self, url: str, lake: str) -> None:
        self._lakes.drop((url, lake))

    def clear(self) -> None:
        self._lakes = BoundedCache(_LAKES_MAX)
