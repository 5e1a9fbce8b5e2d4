"""Small scenes with bodies that are bytes, for the exhaustive explorer: files of workspaces, and garbage collection.

Each is the smallest story that a rule is there for; without it some schedule of the scene loses bytes that were named.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.files.client import FilesClient
from tests.sim.files.oracle import FilesOracle
from tests.sim.files.place import BODIES, FilesPlace
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.place import WHOLE, Place
from tests.sim.world import MINUTE, World

Act = Callable[[FilesClient], Awaitable[object]]


@dataclass(frozen=True)
class Scene:
    """`actors` play at once, each on a machine of its own, after `before` was played quietly. The wall clock of the
    second is two minutes behind."""

    before: tuple[Act, ...]
    actors: tuple[tuple[Act, ...], ...]
    faults: tuple[str, ...] = ()
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2),)
    after: tuple[Act, ...] = ()


def scene(name: str, plant: Plant = NONE) -> Run:
    return lambda chooser: _play(SCENES[name], chooser, plant)


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    with cache_codecs():
        return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def _play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    play(scene, chooser, plant, FilesPlace)


def play(scene: Scene, chooser: Chooser, plant: Plant, place_type: type[Place], max_steps: int = 600) -> None:
    world = World(chooser, split=False)
    store = world.store(faults=scene.faults)
    place = place_type(FilesOracle(world, store, "repo"), patience_s=0.05, cut=WHOLE)
    with plant.planted():
        _quietly(world, "old", lambda machine: _begin(place, machine, scene.before))
        clients: list[FilesClient] = []
        for number in range(len(scene.actors)):
            _quietly(world, "ABCD"[number], lambda machine: _enter(place, machine, clients), -number * 2 * MINUTE)
        store.faulty = lambda verb, path: verb == "put_if_absent" and any(each in path for each in BODIES)
        for client, acts in zip(clients, scene.actors, strict=True):
            client.machine.spawn(perform(client, acts))
        world.jump(1)  # so that nobody was the last to move, and anybody may begin
        world.run(max_steps=max_steps, jumps=(), crashes=bool(dict(scene.budgets).get("crash")))
        store.faulty = None
        _quietly(world, "new", lambda machine: _end(place, machine, scene.after))
        place.oracle.judge()


def _quietly(world: World, name: str, play: Callable[[Machine], Awaitable[None]], skew_s: int = 0) -> None:
    machine = world.machine(name, skew_us=skew_s * 1_000_000)
    machine.spawn(_plain(play(machine)))
    world.run(jumps=())


async def _plain(play: Awaitable[None]) -> None:
    await play


async def _begin(place: Place, machine: Machine, acts: tuple[Act, ...]) -> None:
    await perform(FilesClient(place, machine, await place.begin(machine), "old"), acts)


async def _enter(place: Place, machine: Machine, clients: list[FilesClient]) -> None:
    """Up to date before the curtain rises, so that only what follows is explored."""
    client = FilesClient(place, machine, await place.open(machine), machine.name)
    await client.repository.refs()
    clients.append(client)


async def perform(client: FilesClient, acts: tuple[Act, ...]) -> None:
    for act in acts:
        await act(client)
    await client.repository.close()


async def _end(place: Place, machine: Machine, acts: tuple[Act, ...]) -> None:
    """Whatever is left is committed, and read by the oracle."""
    client = FilesClient(place, machine, await place.open(machine), machine.name)
    for act in acts:
        await act(client)
    refs, _ = await client.repository.refs()
    for workspace in refs.workspaces.all():
        await client.commit_workspace(workspace.id)
    for branch in refs.branches():
        await client.commit(branch.name)
    await client.repository.close()


# --- what is done in a scene -----------------------------------------------------------------------------------------
def write(branch: str, path: str, text: str = "") -> Act:
    return lambda client: client.write(branch, path, text)


def copy(source: str, target: str) -> Act:
    return lambda client: client.copy("main", source, target)


def commit(client: FilesClient) -> Awaitable[object]:
    return client.commit("main")


def open_workspace(client: FilesClient) -> Awaitable[object]:
    return client.open_workspace("main")


def commit_workspace(client: FilesClient) -> Awaitable[object]:
    return client.commit_workspace(client.place.workspaces[0])


def put_at(path: str, *, slow: bool = False, noted: bool = False) -> Act:
    return lambda client: client.put_at(client.place.workspaces[0], path, slow=slow, noted=noted)


def put_outside(path: str) -> Act:
    return lambda client: client.put_outside(client.place.workspaces[0], path)


def delete_at(path: str) -> Act:
    return lambda client: client.delete_at(client.place.workspaces[0], path)


def revert_in(path: str) -> Act:
    return lambda client: client.revert_in(client.place.workspaces[0], path)


def collect(client: FilesClient) -> Awaitable[object]:
    return client.collect()


def alias(source: str, target: str) -> Act:
    return lambda client: client.alias(source, target)


async def expire_first(client: FilesClient) -> None:
    await client.expire(await _first(client))


async def branch_from_first(client: FilesClient) -> None:
    await client.create("dev", await _first(client))


async def _first(client: FilesClient) -> str:
    """The commit below the head of main."""
    refs, _ = await client.repository.refs()
    return refs.recorded(refs.branch("main").head).parents[0]


_OPEN = (write("main", "p"), commit, open_workspace)
_SAME = tuple(write("main", path, "the same bytes") for path in ("p", "q", "r"))

SCENES: dict[str, Scene] = {
    "a file put anew while its workspace is committed": Scene(
        (*_OPEN, put_at("x")), ((commit_workspace,), (put_at("x"),))
    ),
    "a file put slowly while its workspace is committed": Scene(
        (*_OPEN, put_outside("x")), ((commit_workspace,), (put_at("x", slow=True), put_at("y", slow=True)))
    ),
    "a file deleted while its workspace is committed": Scene(
        (*_OPEN, put_at("x"), put_at("y")), ((commit_workspace,), (delete_at("x"),))
    ),
    "files reverted while their workspace is committed": Scene(
        (*_OPEN, put_outside("x"), put_at("y")), ((commit_workspace,), (revert_in("x"), put_at("z")))
    ),
    "a file replaced by what is staged while its workspace is committed": Scene(
        (*_OPEN, put_at("x")), ((commit_workspace,), (put_at("x", noted=True),))
    ),
    "a file put and deleted by two": Scene((*_OPEN, put_at("y")), ((put_at("x"), delete_at("x")), (put_at("x"),))),
    "a file written again from outside": Scene(
        (*_OPEN, put_outside("x"), delete_at("x")),
        ((put_outside("x"), delete_at("x"), put_outside("x")), (put_at("y"),)),
    ),
    "a put without an answer, and a delete": Scene(
        (*_OPEN, put_at("y")),
        ((put_at("x"), delete_at("x")), (put_at("z"),)),
        faults=("lost", "late", "before"),
        budgets=(("preempt", 1), ("fault", 1)),
    ),
    "a workspace's files beside garbage collection": Scene(
        (*_OPEN, put_at("x"), put_at("y"), collect), ((put_at("x"), commit_workspace), (collect, collect))
    ),
    "a put beside garbage collection": Scene(
        (write("main", "p"), collect), ((write("main", "q"),), (collect, collect)), budgets=(("preempt", 3),)
    ),
    "a copy beside garbage collection": Scene(
        (write("main", "p"), collect), ((copy("p", "q"),), (write("main", "p"), collect, collect))
    ),
    "a branch made from a commit that expires": Scene(
        (write("main", "p"), commit, write("main", "p"), commit, collect),
        ((branch_from_first,), (expire_first, collect, collect)),
    ),
    "two who alias each other": Scene(
        (*_SAME[:2], collect),
        ((alias("p", "q"),), (alias("q", "p"),)),
        after=(collect, collect),
    ),
    "an alias of an alias": Scene(
        (*_SAME, collect),
        ((alias("p", "q"),), (alias("q", "r"),)),
        after=(collect, collect),
    ),
}

# By the planted bug, the scene that it breaks.
CATCHES: dict[str, str] = {
    "S8: a put overwrites a file": "a file put anew while its workspace is committed",
    "S8: a slow put overwrites a file": "a file put slowly while its workspace is committed",
    "S8: a delete removes a file": "a file deleted while its workspace is committed",
    "S8: a revert removes files": "files reverted while their workspace is committed",
    "S8: what is staged does not hide the file": "a file replaced by what is staged while its workspace is committed",
    "S8: what is hidden stays so when others write": "a file written again from outside",
    "S8: a put without an answer is written elsewhere": "a put without an answer, and a delete",
    "S8: files of an open workspace are collected": "a workspace's files beside garbage collection",
    "G3: a first reference to any file": "a put beside garbage collection",
    "G4: what was read before a plan lands after it": "a copy beside garbage collection",
    "G6: a branch is made from an expired commit": "a branch made from a commit that expires",
    "G7: anything may be an alias": "two who alias each other",
    "G7: an alias may lead to an alias": "an alias of an alias",
    "G7: what an alias leads to may become one": "an alias of an alias",
}
