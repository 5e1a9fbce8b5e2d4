"""The state machine that Hypothesis drives: requests on several lakes of one store, in turn and at once, across
restarts, days and faults of the store. After each step the lake must equal the model.
"""

import asyncio
from dataclasses import replace
from functools import partial
from random import Random
from unittest.mock import patch

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lochan.store.threads import Threads
from tests.model.versioned.linearize import SentRequest, linearized, predicted, works
from tests.model.versioned.places import CALM, LAKES, Place, Storm, at_once
from tests.model.versioned.reader import LakeReader, check_moment, check_readers, check_workspaces
from tests.model.versioned.requests import NAMES, PREFIXES, Request, draw
from tests.model.versioned.state import State
from tests.model.versioned.verbs import UNKNOWN, play
from tests.store_faults import StoreFault

# A checkpoint, a trim or a compaction failed, and will be tried again. Nothing is trimmed by what a storm corrupts. A
# record that is damaged on the store itself is missed by every reader.
_IN_STORMS = ("(injected)", "did not say whether", "is damaged, and nothing of it is trimmed")
_lake = st.integers(0, LAKES - 1)
_storm = st.builds(
    Storm,
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([1, 2, 4, 1_000]),
    st.sampled_from([fault for fault in StoreFault if fault not in (StoreFault.BROKEN, StoreFault.SHOWN)]),
)
_lakes = st.lists(_lake, min_size=2, max_size=3)
_seed = st.integers(0, 1 << 32)  # of what is asked for


class VersioningMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._threads = patch.object(Threads, "run", at_once)
        self._threads.start()
        self._alarms: list[str] = []
        self._reader = LakeReader()
        self._doubts: dict[
            int, tuple[SentRequest, int]
        ] = {}  # by lake: what may still happen, while the journal ends there
        self._moments: list[tuple[int, dict[str, str]]] = []  # by the wall clock: where each branch was
        self._names = 0
        self._number = 0
        self._lost = True  # until there is a lake, and from where it was not as predicted

    @initialize(seed=st.integers(0, 3))
    def make(self, seed: int) -> None:
        self._place = Place(seed, self._alarms.append)
        self._runner.run(self._place.make())
        self._state, self._number = self._runner.run(self._reader.state(self._place.repositories[0]))
        self._lost = False

    def teardown(self) -> None:
        self._runner.run(self._end())
        self._runner.close()
        self._threads.stop()

    # --- what happens ------------------------------------------------------------------------------------------------
    @rule(lake=_lake, reader=_lake, seed=_seed)
    def ask(self, lake: int, reader: int, seed: int) -> None:
        self._runner.run(self._ask(lake, reader, self._drawn(seed)))

    @rule(lakes=_lakes, reader=_lake, seed=_seed, times=st.integers(1, 4))
    def ask_at_once(self, lakes: list[int], reader: int, seed: int, times: int) -> None:
        for time in range(times):
            self._runner.run(self._ask_at_once(self._drawn_for(lakes, seed + time), reader))

    @rule(lake=_lake, reader=_lake, seed=_seed, storm=_storm, restarts=st.booleans())
    def ask_in_a_storm(self, lake: int, reader: int, seed: int, storm: Storm, restarts: bool) -> None:
        self._runner.run(self._ask_in_a_storm(lake, reader, self._drawn(seed), storm, restarts))

    @rule(lakes=_lakes, seed=_seed, storm=_storm)
    def ask_at_once_in_a_storm(self, lakes: list[int], seed: int, storm: Storm) -> None:
        asked = self._drawn_for(lakes, seed)
        self._place.weather[lakes[0]].storm = storm
        self._runner.run(self._ask_at_once(asked, lakes[-1], calm_after=lakes[0]))

    @rule(lake=_lake, gently=st.booleans(), upkeep=st.booleans())
    def restart(self, lake: int, gently: bool, upkeep: bool) -> None:
        self._runner.run(self._restart(lake, gently, upkeep))

    @rule(lake=_lake, days=st.sampled_from([0.0, 0.01, 1.5]))
    def keep_up(self, lake: int, days: float) -> None:
        self._runner.run(self._keep_up(lake, days))

    @rule(reader=_lake, ref=st.sampled_from(NAMES), other=st.sampled_from(NAMES), prefix=st.sampled_from(PREFIXES))
    def look(self, reader: int, ref: str, other: str, prefix: str) -> None:
        if {ref, other} <= self._state.branches.keys() | self._state.tags.keys():
            at = self._place.repositories[reader]
            self._runner.run(check_readers(at, self._reader, self._state, ref, other, prefix))
            self._runner.run(check_workspaces(at, self._reader, self._state))

    def _drawn(self, seed: int) -> Request:
        return draw(self._random(seed), partial(works, self._state))

    def _random(self, seed: int) -> Random:
        """Hypothesis likes to draw the same again; it shall not mean the same."""
        return Random(f"{seed}-{self._names}")

    def _drawn_for(self, lakes: list[int], seed: int) -> list[tuple[int, Request]]:
        """Mostly of one branch, where they may meet."""
        random = self._random(seed)
        branch = random.choice(NAMES)

        def meets(request: Request) -> bool:
            named = [word for word in request.words if isinstance(word, str) and word in NAMES]
            return (branch in named or not named) and works(self._state, request)

        return [(lake, draw(random, meets)) for lake in lakes]

    @rule(reader=_lake, moment=st.integers(0, 1 << 16), name=st.sampled_from(NAMES))
    def look_back(self, reader: int, moment: int, name: str) -> None:
        if self._moments:
            time, heads = self._moments[moment % len(self._moments)]
            at = self._place.repositories[reader]
            self._runner.run(check_moment(at, self._reader, name, time, heads.get(name, "")))

    # --- how -----------------------------------------------------------------------------------------------------
    async def _ask(self, lake: int, reader: int, request: Request) -> None:
        asked = await self._played(lake, request)
        await self._agree(reader, [*self._doubtful(lake), asked])

    async def _ask_at_once(
        self, requests: list[tuple[int, Request]], reader: int, calm_after: int | None = None
    ) -> None:
        doubts = [doubt for lake in {lake for lake, _ in requests} for doubt in self._doubtful(lake)]
        asked = await asyncio.gather(*(self._played(lake, request) for lake, request in requests))
        if calm_after is not None:  # what was in doubt there goes with its process
            await self._place.restart(calm_after, gently=False, upkeep=False)
        await self._agree(reader, [*doubts, *asked])

    async def _ask_in_a_storm(self, lake: int, reader: int, request: Request, storm: Storm, restarts: bool) -> None:
        """A failed request happened or did not, as a whole. Repeated without faults, it is answered as ever."""
        doubts = self._doubtful(lake)
        self._place.weather[lake].storm = storm
        asked = await self._played(lake, request)
        self._place.weather[lake].storm = CALM
        if restarts:
            await self._place.restart(lake, gently=False, upkeep=False)
        await self._agree(reader, [*doubts, asked])
        if asked.answer.is_open:
            if asked.answer.kind == UNKNOWN and not restarts:
                self._doubts[lake] = asked, self._number
            await self._ask(lake, reader, request)

    async def _restart(self, lake: int, gently: bool, upkeep: bool) -> None:
        doubts = self._doubtful(lake) if gently else []
        self._doubts.pop(lake, None)
        await self._place.restart(lake, gently=gently, upkeep=upkeep)
        await self._agree(lake, doubts)

    async def _keep_up(self, lake: int, days: float) -> None:
        await self._place.keep_up(lake, days)
        await self._agree((lake + 1) % LAKES, [])

    async def _played(self, lake: int, request: Request) -> SentRequest:
        self._names += 1
        name = f"c{self._names}"
        note(f"  lake {lake}: {request} as {name}")
        return SentRequest(request, name, await play(self._place.repositories[lake], request, name))

    def _doubtful(self, lake: int) -> list[SentRequest]:
        """A record with an unknown outcome is sent again before the next one, unless another writer took its number."""
        doubt, number = self._doubts.pop(lake, (None, 0))
        if doubt is None or number != self._number:
            return []
        self._moments.clear()  # it comes into the journal with the time of its first sending
        return [doubt]

    async def _agree(self, reader: int, asked: list[SentRequest]) -> None:
        at = self._place.repositories[reader]
        seen, self._number = await self._reader.state(at)
        answered = [one._replace(answer=await self._reader.answer(at, one.answer)) for one in asked]
        self._state = _joined(self._state, seen)
        self._lost = linearized(self._state, answered, seen) is None or any(map(_is_serious, self._alarms))
        assert not self._lost, "\n".join(
            ["there is no way to", *_differences(self._state, seen), *predicted(self._state, answered), *self._alarms]
        )
        self._state = seen
        self._moments.append((self._place.clock.wall(), {name: each.head for name, each in seen.branches.items()}))

    async def _end(self) -> None:
        """A lake that was open from the beginning has folded the same as all others."""
        if self._lost:
            return
        for lake in range(LAKES):
            await self._agree(lake, self._doubtful(lake))
        await self._place.close()


def _is_serious(alarm: str) -> bool:
    return not any(text in alarm for text in _IN_STORMS)


def _joined(state: State, seen: State) -> State:
    """With the commits that are known by now."""
    return replace(state, commits=dict(seen.commits))


def _differences(before: State, seen: State) -> list[str]:
    names = sorted({*before.branches, *seen.branches})
    lines = [
        f"  {name}: {_description(before, name)} -> {_description(seen, name)}"
        for name in names
        if before.branches.get(name) != seen.branches.get(name)
    ]
    for what in ("tags", "deleted", "stashes", "workspaces", "rules", "read_only"):
        if getattr(before, what) != getattr(seen, what):
            lines.append(f"  {what}: {getattr(before, what)} -> {getattr(seen, what)}")
    return lines


def _description(state: State, name: str) -> str:
    if name not in state.branches:
        return "nothing"
    branch = state.branches[name]
    return f"{state.commits[branch.head].message} {dict(state.files(branch.head))} + {dict(branch.staged)}"
