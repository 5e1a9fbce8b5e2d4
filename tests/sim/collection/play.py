"""How a scene of garbage collection is played: quietly, then by a schedule, then quietly until no garbage is left."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from lochan.errors import LochanError
from lochan.formats import lake_file
from lochan.versioning.repositories import FILES
from tests.sim.chooser import Chooser, Stretches
from tests.sim.collection.client import CollectionClient
from tests.sim.collection.oracle import CollectionOracle
from tests.sim.collection.place import CollectionPlace, Span
from tests.sim.collection.tally import Tally
from tests.sim.explore import Result, Run, walk
from tests.sim.forced_patches import with_patches
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.store import SimStore
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.place import ID, WHOLE
from tests.sim.world import MINUTE, World

Act = Callable[[CollectionClient], Awaitable[object]]
BUDGETS = {"preempt": 4, "crash": 1}
RATES = {"crash": (0.0, 0.0, 0.01), "jump": (0.02, 0.1), "skew": (0.02, 0.1)}
MAX_STEPS = 4_000
NAMES = "ABCDE"


@dataclass(frozen=True)
class Scene:
    """`actors` play at once, each on a machine of its own, after `before` was played quietly. The wall clock of each
    is two minutes behind that of the one before. `after` is played quietly, before the two last collections."""

    before: tuple[Act, ...]
    actors: tuple[tuple[Act, ...], ...]
    after: tuple[Act, ...] = ()
    kind: str = FILES
    jumps: tuple[float, ...] = ()  # of time, one for each schedule
    skews: tuple[float, ...] = ()  # of one machine's wall clock
    crashes: str = NAMES  # machines that may die
    crash_rate: float = 0.0  # if it is not to be rare
    others: tuple[str, ...] = ()  # more repositories of the lake
    group: int = 256
    slow_lists_s: float = 0.0  # how long a collector pauses between a plan's list and its event
    damage: Callable[[SimStore], None] = lambda store: None  # done before the scene begins


def collects(act: Act) -> Act:
    """Marks what a collector does."""
    act.collects = True  # type: ignore[attr-defined]
    return act


def scene_run(scene: Scene, plant: Plant, tally: Tally, *, patched: bool = False) -> Run:
    def run(chooser: Chooser) -> None:
        play(scene, chooser, plant, tally)

    return with_patches(run) if patched else run


def explore_schedules(
    scene: Scene, seeds: Iterable[int], plant: Plant = NONE, *, patched: bool = False
) -> tuple[Result, Tally]:
    """`patched`: with patches of all ranges."""
    tally = Tally()
    budgets = {**BUDGETS, "jump": int(bool(scene.jumps)), "skew": int(bool(scene.skews))}
    with cache_codecs():
        rates = {**RATES, "crash": (scene.crash_rate,)} if scene.crash_rate else RATES
        chooser = partial(Stretches, lengths=lengths_of(scene))
        run = scene_run(scene, plant, tally, patched=patched)
        return walk(run, seeds, budgets=budgets, rates=rates, chooser=chooser), tally


@cache
def lengths_of(scene: Scene) -> Mapping[str, int]:
    """How many requests each machine of a scene sends if nobody is preempted."""
    sent: Counter[str] = Counter()

    def run(chooser: Chooser) -> None:
        place = play(scene, chooser, NONE, Tally())
        sent.update(effect.who for effect in place.oracle.store.history[place.begun :])

    with cache_codecs():
        walk(run, [0], budgets={}).check()
    return sent


def play(scene: Scene, chooser: Chooser, plant: Plant, tally: Tally) -> CollectionPlace:
    world = World(chooser, split=False)
    store = world.store()
    store.plant(lake_file.PATH, b"a lake")
    place = _place(world, store, scene, ID)
    place.others = {id: _place(world, store, scene, id) for id in scene.others}
    oracles = [place.judge, *(other.judge for other in place.others.values())]
    for oracle in oracles:
        oracle.neighbours = [other for other in oracles if other is not oracle]
    try:
        with plant.planted():
            _play(world, store, scene, place)
    finally:
        tally.deleted += sum(oracle.deleted for oracle in oracles)
        tally.live_deleted += sum(oracle.live_deleted for oracle in oracles)
    tally.add(place)
    return place


def _place(world: World, store: SimStore, scene: Scene, id: str) -> CollectionPlace:
    oracle = CollectionOracle(world, store, id)
    place = CollectionPlace(oracle, patience_s=0.05, cut=WHOLE, id=id, kind=scene.kind, group=scene.group)
    place.slow_lists_s = scene.slow_lists_s
    return place


def _play(world: World, store: SimStore, scene: Scene, place: CollectionPlace) -> None:
    _quietly(world, "old", lambda machine: _begin(place, machine, scene.before))
    scene.damage(store)
    clients: list[CollectionClient] = []
    for number in range(len(scene.actors)):
        _quietly(world, NAMES[number], lambda machine: _enter(place, machine, clients), -number * 2 * MINUTE)
    place.begun = len(store.history)
    for client, acts in zip(clients, scene.actors, strict=True):
        client.machine.spawn(perform(client, acts))
    world.jump(1)  # so that nobody was the last to move, and anybody may begin
    crashes = frozenset(scene.crashes)
    world.run(
        max_steps=MAX_STEPS, jumps=scene.jumps, skews=scene.skews, crashes=lambda machine: machine.name in crashes
    )
    oracles = [place.judge, *(other.judge for other in place.others.values())]
    for oracle in oracles:
        oracle.judge()
    _quietly(world, "new", lambda machine: _end(place, machine, scene.after))
    for each in (place, *place.others.values()):
        _quietly(world, "last", lambda machine, each=each: _clear(each, machine))  # type: ignore[misc]
    for oracle in oracles:
        oracle.judge()
        oracle.judge_garbage()


def _quietly(world: World, name: str, play: Callable[[Machine], Awaitable[None]], skew_s: int = 0) -> None:
    machine = world.machine(name, skew_us=skew_s * 1_000_000)
    machine.spawn(_plain(play(machine)))
    world.run(jumps=())


async def _plain(play: Awaitable[None]) -> None:
    await play


async def _begin(place: CollectionPlace, machine: Machine, acts: tuple[Act, ...]) -> None:
    for other in place.others.values():
        await (await other.begin(machine)).close()
    client = CollectionClient(place, machine, await place.begin(machine), "old")
    for act in acts:
        await act(client)
    await client.repository.close()


async def _enter(place: CollectionPlace, machine: Machine, clients: list[CollectionClient]) -> None:
    """Up to date before the curtain rises, so that only what follows is explored."""
    client = CollectionClient(place, machine, await place.open(machine), machine.name)
    await client.repository.refs()
    clients.append(client)


async def perform(client: CollectionClient, acts: tuple[Act, ...]) -> None:
    history = client.oracle.store.history
    for act in acts:
        span = Span(client.machine.name, getattr(act, "collects", False), len(history))
        client.place.spans.append(span)
        await act(client)
        span.stop = len(history)
    await client.repository.close()


async def _end(place: CollectionPlace, machine: Machine, acts: tuple[Act, ...]) -> None:
    """Whatever is left is committed, as a user would do later."""
    client = CollectionClient(place, machine, await place.open(machine), machine.name)
    for act in acts:
        await act(client)
    refs, _ = await client.repository.refs()
    for workspace in refs.workspaces.all():
        await client.commit_workspace(workspace.id)
    if place.kind == FILES:
        for branch in refs.branches():
            await client.commit(branch.name)
    await client.repository.close()


async def _clear(place: CollectionPlace, machine: Machine) -> None:
    """The first collection draws the line behind everything, the second deletes whatever nothing names."""
    client = CollectionClient(place, machine, await place.open(machine), machine.name)
    try:
        await client.collect()
        await client.collect()
    except LochanError as error:
        client.oracle.world.fail(f"STUCK: an undisturbed collection ends with {error}")
    await client.repository.close()
