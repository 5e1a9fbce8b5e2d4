"""Garbage collection beside every kind of writer: each request to the store may be preempted, of both.

In each scene one machine writes, and another makes what the writer works on dead, and collects twice: the first plan
lists what was written before the scene; the second lists the rest.
"""

from tests.sim.collection.client import CollectionClient
from tests.sim.collection.play import Act, Scene, collects


def on(verb: str, *arguments: str) -> Act:
    """A verb of the client, by its name."""
    return lambda client: getattr(client, verb)(*arguments)


def in_workspace(verb: str, *arguments: str) -> Act:
    return lambda client: getattr(client, verb)(client.place.workspaces[0], *arguments)


@collects
async def collect(client: CollectionClient) -> None:
    await client.collect()


def write(path: str, text: str = "") -> Act:
    return on("write", "main", path, text)


commit = on("commit", "main")
reset = on("reset", "main")
open_workspace = on("open_workspace", "main")
commit_workspace = in_workspace("commit_workspace")
expire_all = on("expire_all")
expire_deleted = on("expire_deleted")

_DRAWN = (write("p"), collect)
_TWO = (write("p"), commit, write("p"), commit)
_FORKED = (*_TWO, on("create", "dev", "main"), on("write", "dev", "d"), on("commit", "dev"), collect)
_TWICE = (collect, collect)
_SAME = (write("p", "the same"), write("q", "the same"), collect)

WRITERS: dict[str, Scene] = {
    "put": Scene(_DRAWN, ((write("q"),), _TWICE)),
    "overwrite": Scene(_DRAWN, ((write("p"), write("p")), _TWICE)),
    "delete": Scene(_DRAWN, ((on("delete", "main", "p"), write("p")), _TWICE)),
    "copy": Scene(_DRAWN, ((on("copy", "main", "p", "q"),), (write("p"), *_TWICE))),
    "rename": Scene(_DRAWN, ((on("move", "p", "q"),), (write("p"), *_TWICE))),
    "commit": Scene(_DRAWN, ((commit,), (reset, *_TWICE))),
    "commit of what was there before": Scene(
        (write("p", "once"), commit, write("p"), commit, collect),
        ((write("p", "once"), commit), (expire_all, *_TWICE)),
    ),
    "partial commit": Scene((write("p"), write("q"), collect), ((on("commit", "main", "p"),), (reset, *_TWICE))),
    "merge": Scene(_FORKED, ((on("merge", "dev", "main"),), (on("drop", "dev"), expire_deleted, *_TWICE))),
    "revert": Scene((*_TWO, collect), ((on("of_first", "revert"),), (expire_all, *_TWICE))),
    "cherry-pick": Scene((*_TWO, collect), ((on("of_first", "cherry_pick"),), (expire_all, *_TWICE))),
    "rebase": Scene(
        (*_FORKED, write("m"), commit, collect),
        ((on("rebase", "dev", "main"),), (expire_all, on("compact", "main"), *_TWICE)),
    ),
    "branch from an old commit": Scene((*_TWO, collect), ((on("branch_from_first"),), (expire_all, *_TWICE))),
    "tag of an old commit": Scene((*_TWO, collect), ((on("tag", "v1"),), (expire_all, *_TWICE))),
    "restore of a deleted branch": Scene(
        (*_FORKED, on("write", "dev", "e"), collect, on("drop", "dev")),
        ((on("restore", "dev"),), (collect, expire_deleted, *_TWICE)),
    ),
    "multipart upload": Scene((on("open_upload"), collect), ((on("upload"),), (on("abort_upload"), *_TWICE))),
    "link of a physical address": Scene(_DRAWN, ((on("link"),), _TWICE)),
    "job that is held open": Scene(_DRAWN, ((on("work_long", "j"),), _TWICE), after=(on("give_up_jobs"),)),
    "workspace commit": Scene(
        (write("p"), commit, open_workspace, in_workspace("put_at", "x"), in_workspace("put_at", "y"), collect),
        ((in_workspace("put_at", "x"), commit_workspace), _TWICE),
    ),
    "dropped workspace": Scene(
        (write("p"), commit, open_workspace, in_workspace("put_at", "x"), collect),
        ((commit_workspace,), (in_workspace("drop_workspace"), *_TWICE)),
    ),
    "stash pop": Scene((*_DRAWN, on("push", "main"), collect), ((on("pop", "main"),), (on("forget", "main"), *_TWICE))),
    "import": Scene(_TWO, ((on("bring_in", "main", "i"),), (collect, *_TWICE))),
    "import of changed files": Scene(
        (on("bring_in", "main", "i", "j"), write("p"), commit, collect),
        ((on("bring_in", "main", "i", "p"),), (expire_all, *_TWICE)),
    ),
    "compaction": Scene(
        (write("p"), write("q"), write("r"), collect), ((on("compact", "main"), commit), (reset, *_TWICE))
    ),
    "alias": Scene(_SAME, ((on("alias", "p", "q"),), (write("q"), *_TWICE))),
    "dedupe": Scene(_SAME, ((on("dedupe"),), (write("q"), *_TWICE))),
    "dedupe beside copies": Scene(
        _SAME, ((on("dedupe"),), (on("copy", "main", "q", "r"), on("delete", "main", "q")), _TWICE)
    ),
    "two who dedupe": Scene(_SAME, ((on("dedupe"),), (on("dedupe"), *_TWICE))),
    "repack": Scene(
        (on("write_pack", "p", "q"), on("delete", "main", "q"), collect),
        ((on("repack"),), (on("copy", "main", "p", "r"), *_TWICE)),
    ),
    "repack of what was deduped": Scene(
        (on("write_pack", "p", "q"), *_SAME, on("dedupe"), on("copy", "main", "p", "s"), on("delete", "main", "p")),
        ((on("repack"), collect), (on("dedupe"), *_TWICE)),
    ),
    "copies of what has moved": Scene(
        (*_SAME, on("dedupe"), collect, collect),
        (
            (on("copy", "main", "p", "r"), on("copy", "main", "q", "s")),
            (on("delete", "main", "p"), on("delete", "main", "q"), on("drop_aliases"), *_TWICE),
        ),
    ),
    "another collection": Scene((write("p"), collect, write("p")), (_TWICE, _TWICE, (write("q"), commit))),
}

_ALIKE = tuple(write(path, "the same bytes") for path in ("p", "q", "r"))
GRACE_S = 60.0


@collects
async def collect_patiently(client: CollectionClient) -> None:
    await client.collect_patiently(GRACE_S)


def collect_other(id: str) -> Act:
    return collects(lambda client: client.collect_other(id))


async def read(client: CollectionClient) -> None:
    await client.read_within("p", GRACE_S)


async def read_slowly(client: CollectionClient) -> None:
    await client.read_within("p", GRACE_S, pause_s=GRACE_S / 10)


async def pause(client: CollectionClient) -> None:
    """Almost until a collector goes on that has paused since it wrote its list."""
    await client.machine.clock.sleep(2 * GRACE_S - 1)


RULES: dict[str, Scene] = {
    "a reader within the grace": Scene(
        (write("p"), collect), ((read, read_slowly), (write("p"), collect_patiently)), jumps=(2 * GRACE_S,)
    ),
    "a plan that lands long after its list": Scene(
        (write("p"), collect),
        ((on("copy", "main", "p", "q"), pause, on("copy", "main", "p", "r")), (write("p"), collect_patiently)),
        slow_lists_s=2 * GRACE_S,
    ),
    "a copy while another overwrites": Scene(_DRAWN, ((on("copy", "main", "p", "q"),), (write("p"),), _TWICE)),
    "two who alias each other": Scene(
        (*_ALIKE[:2], collect), ((on("alias", "p", "q"),), (on("alias", "q", "p"), *_TWICE))
    ),
    "an alias of an alias": Scene((*_ALIKE, collect), ((on("alias", "p", "q"),), (on("alias", "q", "r"), *_TWICE))),
    "copies among three repositories": Scene(
        (write("p"), collect, collect_other("second"), collect_other("third")),
        (
            (on("copy_to", "second", "p"), on("copy_on", "second", "third", "p")),
            (write("p"), *_TWICE, collect_other("second"), collect_other("second")),
        ),
        others=("second", "third"),
    ),
    "import of the lake's own files": Scene(_DRAWN, ((on("import_own_files"),), (write("p"), commit, *_TWICE))),
}

SCENES: dict[str, Scene] = {**WRITERS, **RULES}

# What is refused at its first look has no moment in which a collector could come between.
NEVER_MEET = frozenset({"import of the lake's own files"})
