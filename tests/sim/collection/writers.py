"""Garbage collection beside every kind of writer: each request to the store may be preempted, of both.

In each scene one machine writes, and another makes what the writer works on dead, and collects twice: the first plan
lists what was written before the scene; the second lists the rest.
"""

from lochan.versioning.repositories import POOL
from tests.sim.collection import lake_client, pool_client
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

DRAWN = (write("p"), collect)
TWO = (write("p"), commit, write("p"), commit)
FORKED = (*TWO, on("create", "dev", "main"), on("write", "dev", "d"), on("commit", "dev"), collect)
TWICE = (collect, collect)
_SAME = (write("p", "the same"), write("q", "the same"), collect)


def load(*rows: str) -> Act:
    return lambda client: pool_client.load(client, *rows)


def delete_rows(row: str) -> Act:
    return lambda client: pool_client.delete_rows(client, row)


async def compact_pool(client: CollectionClient) -> None:
    await pool_client.compact(client)


erase = collects(lambda client: lake_client.erase(client))
_LOADED = (load("a"), load("b"), collect)
_LOADED_TWICE = (load("a"), load("b"), load("a"), collect)


WRITERS: dict[str, Scene] = {
    "put": Scene(DRAWN, ((write("q"),), TWICE)),
    "overwrite": Scene(DRAWN, ((write("p"), write("p")), TWICE)),
    "delete": Scene(DRAWN, ((on("delete", "main", "p"), write("p")), TWICE)),
    "copy": Scene(DRAWN, ((on("copy", "main", "p", "q"),), (write("p"), *TWICE))),
    "rename": Scene(DRAWN, ((on("move", "p", "q"),), (write("p"), *TWICE))),
    "commit": Scene(DRAWN, ((commit,), (reset, *TWICE))),
    "commit of what was there before": Scene(
        (write("p", "once"), commit, write("p"), commit, collect),
        ((write("p", "once"), commit), (expire_all, *TWICE)),
    ),
    "partial commit": Scene((write("p"), write("q"), collect), ((on("commit", "main", "p"),), (reset, *TWICE))),
    "merge": Scene(FORKED, ((on("merge", "dev", "main"),), (on("drop", "dev"), expire_deleted, *TWICE))),
    "revert": Scene((*TWO, collect), ((on("of_first", "revert"),), (expire_all, *TWICE))),
    "cherry-pick": Scene((*TWO, collect), ((on("of_first", "cherry_pick"),), (expire_all, *TWICE))),
    "rebase": Scene(
        (*FORKED, write("m"), commit, collect),
        ((on("rebase", "dev", "main"),), (expire_all, on("compact", "main"), *TWICE)),
    ),
    "branch from an old commit": Scene((*TWO, collect), ((on("branch_from_first"),), (expire_all, *TWICE))),
    "tag of an old commit": Scene((*TWO, collect), ((on("tag", "v1"),), (on("expire_everything"), *TWICE))),
    "restore of a deleted branch": Scene(
        (*FORKED, on("write", "dev", "e"), collect, on("drop", "dev")),
        ((on("restore", "dev"),), (collect, expire_deleted, *TWICE)),
    ),
    "restore of a deleted repository": Scene(
        (*TWO, collect, lake_client.create, lake_client.delete),
        ((lake_client.restore, write("q")), (erase,)),
        after=(lake_client.settle, lake_client.erase),
    ),
    "delete of a repository beside a writer": Scene(
        (*TWO, collect, lake_client.create),
        ((write("q"), commit), (lake_client.delete, erase)),
        after=(lake_client.settle, lake_client.erase),
    ),
    "retention drop": Scene(
        (*TWO, write("q"), commit, collect), ((on("drop_by_rule", "p"),), (write("p"), commit, expire_all, *TWICE))
    ),
    "retention drop beside copies": Scene(
        (*TWO, collect),
        (
            (on("copy", "main", "p", "q"), commit),
            (on("drop_by_rule", "p"), on("of_first", "revert")),
            (expire_all, *TWICE),
        ),
    ),
    "two retention drops": Scene(
        (*TWO, write("q"), commit, collect),
        ((on("drop_by_rule", "p"),), (on("drop_by_rule", ""), expire_all, *TWICE)),
    ),
    "multipart upload": Scene((on("open_upload"), collect), ((on("upload"),), (on("abort_upload"), *TWICE))),
    "link of a physical address": Scene(DRAWN, ((on("link"),), TWICE)),
    "job that is held open": Scene(DRAWN, ((on("work_long", "j"),), TWICE), after=(on("give_up_jobs"),)),
    "workspace commit": Scene(
        (write("p"), commit, open_workspace, in_workspace("put_at", "x"), in_workspace("put_at", "y"), collect),
        ((in_workspace("put_at", "x"), commit_workspace), TWICE),
    ),
    "dropped workspace": Scene(
        (write("p"), commit, open_workspace, in_workspace("put_at", "x"), collect),
        ((commit_workspace,), (in_workspace("drop_workspace"), *TWICE)),
    ),
    "stash pop": Scene((*DRAWN, on("push", "main"), collect), ((on("pop", "main"),), (on("forget", "main"), *TWICE))),
    "import": Scene(TWO, ((on("bring_in", "main", "i"),), (collect, *TWICE))),
    "import of changed files": Scene(
        (on("bring_in", "main", "i", "j"), write("p"), commit, collect),
        ((on("bring_in", "main", "i", "p"),), (expire_all, *TWICE)),
    ),
    "compaction": Scene(
        (write("p"), write("q"), write("r"), collect), ((on("compact", "main"), commit), (reset, *TWICE))
    ),
    "alias": Scene(_SAME, ((on("alias", "p", "q"),), (write("q"), *TWICE))),
    "pool load": Scene(_LOADED, ((load("c"),), (expire_all, *TWICE)), kind=POOL),
    "pool delete": Scene(_LOADED, ((delete_rows("a"),), (load("c"), expire_all, *TWICE)), kind=POOL),
    "pool compaction": Scene(_LOADED, ((compact_pool,), (load("c"), expire_all, *TWICE)), kind=POOL),
    "two pool compactions": Scene(
        _LOADED, ((compact_pool, load("d")), (compact_pool, collect, expire_all, *TWICE)), kind=POOL
    ),
    "retention drop of a pool's objects": Scene(
        _LOADED, ((pool_client.drop_by_rule,), (load("c"), expire_all, *TWICE)), kind=POOL
    ),
    "dedupe of a pool": Scene(
        _LOADED_TWICE, ((on("dedupe"), delete_rows("b")), (load("c"), expire_all, *TWICE)), kind=POOL
    ),
    "pool compaction of what was deduped": Scene(
        (*_LOADED_TWICE, on("dedupe")),
        ((compact_pool,), (on("dedupe"), load("c"), on("drop_aliases"), expire_all, *TWICE)),
        kind=POOL,
    ),
    "dedupe": Scene(_SAME, ((on("dedupe"),), (write("q"), *TWICE))),
    "dedupe beside copies": Scene(
        _SAME, ((on("dedupe"),), (on("copy", "main", "q", "r"), on("delete", "main", "q")), TWICE)
    ),
    "two who dedupe": Scene(_SAME, ((on("dedupe"),), (on("dedupe"), *TWICE))),
    "repack": Scene(
        (on("write_pack", "p", "q"), on("delete", "main", "q"), collect),
        ((on("repack"),), (on("copy", "main", "p", "r"), *TWICE)),
    ),
    "repack of what was deduped": Scene(
        (on("write_pack", "p", "q"), *_SAME, on("dedupe"), on("copy", "main", "p", "s"), on("delete", "main", "p")),
        ((on("repack"), collect), (on("dedupe"), *TWICE)),
    ),
    "copies of what has moved": Scene(
        (*_SAME, on("dedupe"), collect, collect),
        (
            (on("copy", "main", "p", "r"), on("copy", "main", "q", "s")),
            (on("delete", "main", "p"), on("delete", "main", "q"), on("drop_aliases"), *TWICE),
        ),
    ),
    "another collection": Scene((write("p"), collect, write("p")), (TWICE, TWICE, (write("q"), commit))),
}
