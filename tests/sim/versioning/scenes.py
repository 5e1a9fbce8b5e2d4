"""Small scenes for the exhaustive explorer: a few verbs each, every schedule within a budget.

Each is the smallest story that one rule is there for; without it some schedule of the scene goes wrong.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.client import Client
from tests.sim.versioning.oracle import RepositoryOracle
from tests.sim.versioning.place import WHOLE, Place
from tests.sim.versioning.scene_actions import (
    Act,
    bring_in,
    commit,
    commit_workspace,
    compact,
    create,
    delete,
    drop,
    hard_reset,
    merge,
    merge_committing,
    open_workspace,
    pop,
    push,
    put,
    put_file,
    put_in,
    read,
    rebase,
    rename,
    reset,
    restore,
    revert,
)
from tests.sim.world import World


@dataclass(frozen=True)
class Scene:
    """`actors` play at once, each on a machine of its own, after `before` was played quietly."""

    before: tuple[Act, ...]
    actors: tuple[tuple[Act, ...], ...]
    faults: tuple[str, ...] = ()
    faulty: tuple[str, ...] = ("put_if_absent",)  # the requests of the journal that may suffer them
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2),)
    files_take_turns: bool = False  # else only the journal's requests do


def scene(name: str, plant: Plant = NONE) -> Run:
    return lambda chooser: _play(SCENES[name], chooser, plant)


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    with cache_codecs():
        return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def _play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    world = World(chooser, split=False)
    store = world.store(faults=scene.faults)
    oracle = RepositoryOracle(world, store, "repo")
    place = Place(oracle, instant=not scene.files_take_turns, patience_s=0.05, cut=WHOLE)
    with plant.planted():
        _quietly(world, "old", lambda machine: _begin(place, machine, scene.before))
        clients: list[Client] = []
        for number in range(len(scene.actors)):
            _quietly(world, "ABCD"[number], lambda machine: _enter(place, machine, clients))
        store.faulty = lambda verb, path: verb in scene.faulty and "/journal/0" in path
        for client, acts in zip(clients, scene.actors, strict=True):
            client.machine.spawn(_perform(client, acts))
        world.jump(1)  # so that nobody was the last to move, and anybody may begin
        world.run(max_steps=600, jumps=(), crashes=bool(dict(scene.budgets).get("crash")))
        store.faulty = None
        _quietly(world, "new", lambda machine: _end(place, machine))
        oracle.judge()


def _quietly(world: World, name: str, play: Callable[[Machine], Awaitable[None]]) -> None:
    machine = world.machine(name)
    machine.spawn(_plain(play(machine)))
    world.run(jumps=())


async def _plain(play: Awaitable[None]) -> None:
    await play


async def _begin(place: Place, machine: Machine, acts: tuple[Act, ...]) -> None:
    client = Client(place, machine, await place.begin(machine), "old")
    for act in acts:
        await act(client)
    await client.repository.close()


async def _enter(place: Place, machine: Machine, clients: list[Client]) -> None:
    """Up to date before the curtain rises, so that only what follows is explored."""
    client = Client(place, machine, await place.open(machine), machine.name)
    await client.repository.refs()
    clients.append(client)


async def _perform(client: Client, acts: tuple[Act, ...]) -> None:
    for act in acts:
        await act(client)
    await client.repository.close()


async def _end(place: Place, machine: Machine) -> None:
    """Whatever is left is read, compacted and committed: late damage shows."""
    client = Client(place, machine, await place.open(machine), machine.name)
    refs, _ = await client.repository.refs()
    for branch in refs.branches():
        await client.read(branch.name)
        await client.commit(branch.name)
        await client.read(branch.name)


_DEV = (put("main", "p"), commit("main"), create("dev"))
_TWO_SIDES = (*_DEV, put("dev", "q"), commit("dev"))

SCENES: dict[str, Scene] = {
    "a commit beside a reset": Scene((put("main", "p"),), ((commit("main"),), (reset("main"), put("main", "r")))),
    "a commit beside the branch made again": Scene(
        (*_DEV, put("dev", "p", "q")), ((commit("dev"),), (drop("dev"), create("dev"), put("dev", "r")))
    ),
    "a commit beside the branch restored": Scene(
        (*_DEV, put("dev", "p")), ((commit("dev"),), (drop("dev"), restore("dev"), put("dev", "p")))
    ),
    "two commits beside writes": Scene(
        (put("main", "p"),), ((commit("main"),), (commit("main"),), (put("main", "p"), delete("main", "p")))
    ),
    "a commit beside an import": Scene((put("main", "p"),), ((commit("main"),), (bring_in("main", "r"),))),
    "compaction beside writes": Scene(
        (put("main", "p", "r"),), ((compact("main"), compact("main")), (put("main", "p"), delete("main", "r")))
    ),
    "compaction beside a commit and writes": Scene(
        (put("main", "p", "r"),),
        ((commit("main"),), (put("main", "p"), delete("main", "r"), compact("main"), compact("main"))),
        budgets=(("preempt", 3),),
    ),
    "compaction beside the branch made again": Scene(
        (*_DEV, put("dev", "p", "q")),
        ((compact("dev"),), (drop("dev"), create("dev"), put("dev", "r", "s"), commit("dev"))),
    ),
    "a delete compacted beside a commit": Scene(
        (put("main", "p"),), ((commit("main"),), (delete("main", "p"), put("main", "z"), compact("main")))
    ),
    "a delete compacted over the head": Scene(
        (put("main", "p"), commit("main")),
        ((delete("main", "p"), put("main", "z"), compact("main")), (put("main", "y"), commit("main"))),
        budgets=(("preempt", 1),),
    ),
    "a tree over deletes beside a commit and an import": Scene(
        (put("main", "p", "q"), commit("main"), delete("main", "p", "q"), compact("main")),
        ((compact("main"), commit("main")), (bring_in("main", "z"), read("main"), put("main", "p"))),
    ),
    "a tree over deletes beside a stash": Scene(
        (put("main", "p", "q"), commit("main"), delete("main", "p", "q"), compact("main")),
        ((compact("main"), read("main")), (push("main"), put("main", "p"), commit("main"), pop("main"))),
    ),
    "a commit beside the branch renamed": Scene(
        (*_DEV, put("dev", "p")), ((commit("dev"),), (rename("dev", "x"), create("dev"), put("dev", "q")))
    ),
    "a merge that commits first beside compaction": Scene(
        (*_TWO_SIDES, put("main", "r", "s")),
        ((merge_committing("dev", "main"),), (put("main", "q"), put("main", "t"), compact("main"))),
    ),
    "a partial commit beside writes": Scene(
        (put("main", "p", "r"),),
        ((commit("main", "p"),), (put("main", "r"), compact("main"), delete("main", "p"))),
    ),
    "two partial commits": Scene(
        (put("main", "p", "r"),), ((commit("main", "p"),), (commit("main", "r"),), (put("main", "r"),))
    ),
    "a merge beside a commit": Scene(
        _TWO_SIDES, ((merge("dev", "main"),), (put("main", "r"), commit("main")), (put("main", "s"),))
    ),
    "a merge beside a commit of the same path": Scene(
        _TWO_SIDES, ((merge("dev", "main"),), (put("main", "q"), commit("main")))
    ),
    "a merge beside a reset of its branch": Scene(
        (*_TWO_SIDES, put("main", "r"), commit("main")),
        ((merge("dev", "main"),), (hard_reset("main", "main~1"), put("main", "s"), commit("main"))),
    ),
    "two merges of one branch": Scene(
        (*_TWO_SIDES, put("main", "q"), commit("main")),
        ((merge("dev", "main", "source-wins"),), (merge("dev", "main", "dest-wins"),)),
    ),
    "a rebase beside a commit": Scene(
        (*_TWO_SIDES, put("main", "r"), commit("main")),
        ((rebase("dev", "main"),), (put("dev", "s"), commit("dev"))),
    ),
    "a revert beside a commit": Scene(_DEV, ((revert("main"),), (put("main", "p"), commit("main")))),
    "an import beside a put": Scene((), ((bring_in("main", "p", "q"),), (put("main", "p"),))),
    "an import beside a delete that compaction drops": Scene(
        (put("main", "p"),),
        ((bring_in("main", "p"),), (delete("main", "p"), put("main", "z"), compact("main"))),
        budgets=(("preempt", 3),),
    ),
    "two imports": Scene(_DEV, ((bring_in("main", "q"),), (bring_in("main", "r"),), (put("main", "s"),))),
    "a merge that commits first beside writes": Scene(
        (*_TWO_SIDES, put("main", "r")),
        ((merge_committing("dev", "main"),), (put("main", "q"), delete("main", "q")), (commit("main"),)),
    ),
    "a commit and imports in a queue, and one dies": Scene(
        (*_DEV, put("main", "z")),
        ((commit("main"),), (bring_in("main", "q"),), (bring_in("main", "r"),)),
        budgets=(("preempt", 2), ("crash", 1)),
    ),
    "a commit whose answer is lost": Scene(
        (put("main", "p"),),
        ((commit("main"), put("main", "q"), commit("main")), (put("main", "p"), compact("main"))),
        faults=("lost", "late", "conflict"),
        budgets=(("preempt", 1), ("fault", 1)),
    ),
    "verbs on a store that fails": Scene(
        (*_TWO_SIDES, put("main", "p", "r")),
        (
            (commit("main", "p"), push("main"), pop("main"), commit("main"), merge("dev", "main"), revert("main")),
            (open_workspace("main"), bring_in("dev", "z"), hard_reset("dev", "dev~1"), drop("dev"), restore("dev")),
        ),
        faults=("before", "lost"),
        faulty=("get", "put_if_absent"),
        budgets=(("preempt", 0), ("fault", 1)),
    ),
    "a stash beside a commit": Scene((put("main", "p", "r"),), ((commit("main"),), (push("main"), pop("main")))),
    "a stash beside writes and compaction": Scene(
        (put("main", "p", "r"),), ((push("main"), pop("main")), (put("main", "p"), compact("main")))
    ),
    "a pop beside a commit of its path": Scene(
        (put("main", "p"), push("main")), ((pop("main"),), (put("main", "p"), commit("main")))
    ),
    "a workspace committed while it is written to": Scene(
        (*_DEV, open_workspace("main"), put_in("q")), ((commit_workspace,), (put_in("r"),), (put("main", "s"),))
    ),
    "a workspace committed while a file is put": Scene(
        (*_DEV, open_workspace("main"), put_in("q")),
        ((commit_workspace,), (put_file, put_file)),
        files_take_turns=True,
    ),
    "a workspace committed twice": Scene(
        (*_DEV, open_workspace("main"), put_in("q")),
        ((commit_workspace, hard_reset("main", "main~1")), (commit_workspace,)),
    ),
    "a workspace beside a commit of its path": Scene(
        (*_DEV, open_workspace("main"), put_in("p", "q")), ((commit_workspace,), (put("main", "p"), commit("main")))
    ),
    "a workspace of a branch made again": Scene(
        (*_DEV, open_workspace("dev"), put_in("q")), ((commit_workspace,), (drop("dev"), create("dev")))
    ),
    "a workspace beside a put": Scene(
        (*_DEV, open_workspace("main"), put_in("q")), ((commit_workspace,), (put("main", "q"), compact("main")))
    ),
    "an import beside the branch made again": Scene(
        (*_DEV, put("dev", "x"), reset("dev")),
        ((bring_in("dev", "p"),), (drop("dev"), create("dev"), put("dev", "p"))),
    ),
    "two pops": Scene((put("main", "p"), push("main")), ((pop("main"),), (pop("main"), put("main", "r")))),
}

# By the planted bug, the scene that it breaks.
CATCHES: dict[str, str] = {
    "S1: a commit needs no seal": "a commit beside a reset",
    "S1: head moves leave the seals": "a commit beside an import",
    "S2: compaction of a branch made again": "compaction beside the branch made again",
    "S2: compaction with some of its inputs gone": "a partial commit beside writes",
    "S2: compaction lifts what lies below a seal": "a delete compacted beside a commit",
    "S2: compaction sinks what lies above a seal": "a delete compacted beside a commit",
    "S2: the output does not stand in its inputs' place": "compaction beside writes",
    "S2: a tree over deletes outlives its head": "a tree over deletes beside a commit and an import",
    "S3: lower layers are not looked at": "a delete compacted beside a commit",
    "S3: the head is not looked at": "a delete compacted over the head",
    "S4: leftovers come to lie on top": "a partial commit beside writes",
    "S4: later writes go with the rest": "a partial commit beside writes",
    "S4: what is committed stays staged": "a commit beside a reset",
    "S5: staged paths are not looked at": "an import beside a put",
    "S5: staged paths are not looked at again": "an import beside a put",
    "S5: a merge lands on uncommitted changes": "a merge beside a commit",
    "S6: a move lands on any head": "a merge beside a commit",
    "S6: a move lands on a branch made again": "an import beside the branch made again",
    "S6: a difference is applied again": "a merge beside a commit of the same path",
    "S8: a workspace's last write is not waited for": "a workspace committed while it is written to",
    "S8: a file is put while a commit looks": "a workspace committed while a file is put",
    "S8: a commit leaves the workspace open": "a workspace committed twice",
    "S8: a workspace lands on a branch made again": "a workspace of a branch made again",
    "S8: a workspace is compared with the head": "a workspace beside a commit of its path",
    "S9: a stash leaves the staging": "a stash beside a commit",
    "S9: a pop lands on uncommitted changes": "a pop beside a commit of its path",
    "S9: a pop lands on any head": "a pop beside a commit of its path",
}
