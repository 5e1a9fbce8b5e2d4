"""Garbage collection beside every kind of writer: each request to the store may be preempted, of both.

In each scene one machine writes, and another makes what the writer works on dead, and collects twice: the first plan
lists what was written before the scene; the second lists the rest. Nothing that is named may be lost.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from lochan.errors import LochanError
from lochan.formats.collection_events import Expired
from lochan.formats.record import Actor
from lochan.store.protocol import Store
from lochan.versioning import branches, copy, links, uploads
from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, walk
from tests.sim.files.client import FilesClient, pieces
from tests.sim.files.scenes import (
    Act,
    Scene,
    alias,
    collect,
    commit,
    commit_workspace,
    open_workspace,
    play,
    put_at,
    write,
)
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.versioning.cached_codecs import cache_codecs
from tests.sim.versioning.place import Place
from tests.sim.view import View

BUDGETS = {"preempt": 4, "crash": 1}
RATES = {"preempt": (0.02, 0.1, 0.3), "crash": (0.0, 0.0, 0.01)}
MAX_STEPS = 4_000


@dataclass(slots=True)
class EveryFilePlace(Place):
    """Every request takes its turn: those for trees, runs and lists too."""

    def store_of(self, machine: Machine) -> Store:
        return View(machine.world.shared_store(), machine)


def scene(name: str, plant: Plant = NONE) -> Run:
    def run(chooser: Chooser) -> None:
        play(SCENES[name], chooser, plant, EveryFilePlace, MAX_STEPS)

    return run


def explore_schedules(name: str, seeds: Iterable[int], plant: Plant = NONE) -> Result:
    with cache_codecs():
        return walk(scene(name, plant), seeds, budgets=BUDGETS, rates=RATES)


# --- what writers do -------------------------------------------------------------------------------------------------
def on(verb: str, *arguments: str) -> Act:
    """A verb of the client, by its name."""
    return lambda client: getattr(client, verb)(*arguments)


def move(source: str, target: str) -> Act:
    return _quietly(lambda client, actor: copy.move(client.repository, "main", source, target, actor=actor))


def tag(name: str) -> Act:
    async def made(client: FilesClient, actor: Actor) -> None:
        await branches.create_tag(client.repository, name, await first_commit(client), actor=actor)

    return _quietly(made)


def of_first(verb: str) -> Act:
    async def done(client: FilesClient) -> None:
        with suppress(LochanError):
            await getattr(client, verb)("main", await first_commit(client))

    return done


async def expire_all(client: FilesClient) -> None:
    """Whatever is not a head."""
    refs, _ = await client.repository.refs()
    heads = {branch.head for branch in refs.branches()} | {commit for _, commit in refs.tags()}
    for id in sorted(set(refs.commit_table) - heads):
        with suppress(LochanError):
            await client.repository.submit(Actor("user", client.name, ""), Expired((id,)))


async def expire_deleted(client: FilesClient) -> None:
    refs, _ = await client.repository.refs()
    for key, _ in list(refs.deleted_table.items()):
        with suppress(LochanError):
            await client.repository.submit(Actor("user", client.name, ""), Expired((), (key,)))
    await expire_all(client)


async def first_commit(client: FilesClient) -> str:
    """The commit below the head of main."""
    refs, _ = await client.repository.refs()
    return refs.recorded(refs.branch("main").head).parents[0]


async def open_upload(client: FilesClient) -> None:
    made = await uploads.open_upload(client.repository, "main", "big", actor=Actor("user", client.name, ""))
    client.place.uploads.append(made)


async def upload(client: FilesClient) -> None:
    """A part, and the whole."""
    with suppress(LochanError):
        id, actor = client.place.uploads[0], Actor("user", client.name, "")
        part = await uploads.put_part(client.repository, id, 1, pieces(b"a part"), actor=actor)
        await uploads.complete(client.repository, id, [uploads.PartRequest(1, part.etag)], actor=actor)


async def abort_upload(client: FilesClient) -> None:
    with suppress(LochanError):
        await uploads.abort(client.repository, client.place.uploads[0], actor=Actor("user", client.name, ""))


async def link(client: FilesClient) -> None:
    """A client puts the bytes itself, where it was told to."""
    actor = Actor("user", client.name, "")
    with suppress(LochanError):
        given = await links.physical_address(client.repository, "main", "linked", actor=actor)
        await client.repository.store.put(given.address, b"by a client")
        await links.link(client.repository, "main", "linked", given.token, actor=actor)


def _quietly(work: Callable[[FilesClient, Actor], Awaitable[object]]) -> Act:
    async def done(client: FilesClient) -> None:
        with suppress(LochanError):
            await work(client, Actor("user", client.name, ""))

    return done


_DRAWN = (write("main", "p"), collect)
_TWO = (write("main", "p"), commit, write("main", "p"), commit)
_FORKED = (*_TWO, on("create", "dev", "main"), write("dev", "d"), on("commit", "dev"), collect)
_TWICE = (collect, collect)

SCENES: dict[str, Scene] = {
    "put": Scene(_DRAWN, ((write("main", "q"),), _TWICE)),
    "overwrite": Scene(_DRAWN, ((write("main", "p"), write("main", "p")), _TWICE)),
    "delete": Scene(_DRAWN, ((on("delete", "main", "p"), write("main", "p")), _TWICE)),
    "copy": Scene(_DRAWN, ((lambda client: client.copy("main", "p", "q"),), (write("main", "p"), *_TWICE))),
    "rename": Scene(_DRAWN, ((move("p", "q"),), (write("main", "p"), *_TWICE))),
    "commit": Scene(_DRAWN, ((commit,), (on("reset", "main"), *_TWICE))),
    "partial commit": Scene(
        (write("main", "p"), write("main", "q"), collect),
        ((on("commit", "main", "p"),), (on("reset", "main"), *_TWICE)),
    ),
    "merge": Scene(_FORKED, ((on("merge", "dev", "main"),), (on("drop", "dev"), expire_deleted, *_TWICE))),
    "revert": Scene((*_TWO, collect), ((of_first("revert"),), (expire_all, *_TWICE))),
    "cherry-pick": Scene((*_TWO, collect), ((of_first("cherry_pick"),), (expire_all, *_TWICE))),
    "branch from an old commit": Scene((*_TWO, collect), ((lambda client: _branch(client),), (expire_all, *_TWICE))),
    "tag of an old commit": Scene((*_TWO, collect), ((tag("v1"),), (expire_all, *_TWICE))),
    "restore of a deleted branch": Scene(
        (*_FORKED, on("drop", "dev")), ((on("restore", "dev"),), (expire_deleted, *_TWICE))
    ),
    "multipart upload": Scene((open_upload, collect), ((upload,), (abort_upload, *_TWICE))),
    "link of a physical address": Scene(_DRAWN, ((link,), _TWICE)),
    "workspace commit": Scene(
        (write("main", "p"), commit, open_workspace, put_at("x"), put_at("y"), collect),
        ((put_at("x"), commit_workspace), _TWICE),
    ),
    "dropped workspace": Scene(
        (write("main", "p"), commit, open_workspace, put_at("x"), collect),
        ((commit_workspace,), (lambda client: client.drop_workspace(client.place.workspaces[0]), *_TWICE)),
    ),
    "stash pop": Scene((*_DRAWN, on("push", "main"), collect), ((on("pop", "main"),), (on("forget", "main"), *_TWICE))),
    "import": Scene(_TWO, ((on("bring_in", "main", "i"),), (collect, *_TWICE))),
    "compaction": Scene(
        (write("main", "p"), write("main", "q"), write("main", "r"), collect),
        ((on("compact", "main"), commit), (on("reset", "main"), *_TWICE)),
    ),
    "alias": Scene(
        (write("main", "p", "the same"), write("main", "q", "the same"), collect),
        ((alias("p", "q"),), (write("main", "q"), *_TWICE)),
    ),
    "another collection": Scene(
        (write("main", "p"), collect, write("main", "p")), (_TWICE, _TWICE, (write("main", "q"), commit))
    ),
}


async def _branch(client: FilesClient) -> None:
    with suppress(LochanError):
        await client.create("dev", await first_commit(client))
