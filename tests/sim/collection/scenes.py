"""Scenes for single rules of garbage collection, for the races that hard deletion has, and for many at once."""

from tests.sim.collection.client import CollectionClient
from tests.sim.collection.ghosts import leave_ghosts
from tests.sim.collection.job_scenes import JOBS
from tests.sim.collection.play import Act, Scene, collects
from tests.sim.collection.writers import (
    DRAWN,
    FORKED,
    TWICE,
    TWO,
    WRITERS,
    collect,
    commit,
    expire_all,
    expire_deleted,
    on,
    reset,
    write,
)
from tests.sim.world import DAY

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
    "a copy while another overwrites": Scene(DRAWN, ((on("copy", "main", "p", "q"),), (write("p"),), TWICE)),
    "two who alias each other": Scene(
        (*_ALIKE[:2], collect), ((on("alias", "p", "q"),), (on("alias", "q", "p"), *TWICE))
    ),
    "an alias of an alias": Scene((*_ALIKE, collect), ((on("alias", "p", "q"),), (on("alias", "q", "r"), *TWICE))),
    "copies among three repositories": Scene(
        (write("p"), collect, collect_other("second"), collect_other("third")),
        (
            (on("copy_to", "second", "p"), on("copy_on", "second", "third", "p")),
            (write("p"), *TWICE, collect_other("second"), collect_other("second")),
        ),
        others=("second", "third"),
    ),
    "a patch of an expired commit's range": Scene(
        (write("p"), write("q"), commit, write("p"), commit, collect),
        ((write("p"), commit, on("of_first", "revert")), (expire_all, *TWICE)),
    ),
    "import of the lake's own files": Scene(DRAWN, ((on("import_own_files"),), (write("p"), commit, *TWICE))),
}


# Where deleting an object deletes its bytes, a lock or a counter has to keep what others still name. These are the
# races that such designs have; here bytes go by plans alone.
RACES: dict[str, Scene] = {
    "commit and move": Scene(DRAWN, ((on("move", "p", "q"),), (commit,), (reset, *TWICE))),
    "delete and move": Scene(DRAWN, ((on("delete", "main", "p"),), (on("move", "p", "q"),), TWICE)),
    "stale lock": Scene(
        DRAWN,
        ((on("move", "p", "q"),), (on("move", "p", "r"),), TWICE),
        after=(on("rename_surely", "s", "t"), on("rename_surely", "p", "u")),
        crashes="A",
        crash_rate=0.2,
    ),
    "write after commit": Scene(DRAWN, ((write("p"), write("p")), (commit,), TWICE)),
}

CROWDS: dict[str, Scene] = {
    "four at once": Scene(
        FORKED,
        ((on("copy", "main", "p", "q"),), (on("merge", "dev", "main"),), (write("p"), *TWICE), (expire_all, *TWICE)),
    ),
    "five at once": Scene(
        FORKED,
        (
            (on("copy", "main", "p", "q"), commit),
            (on("merge", "dev", "main"),),
            (write("p"), reset, on("drop", "dev")),
            (expire_deleted, *TWICE),
            TWICE,
        ),
    ),
    "head moves at once": Scene(
        FORKED,
        (
            (on("merge", "dev", "main"), on("of_first", "revert")),
            (on("bring_in", "main", "i"), on("hard_reset", "main", "dev")),
            (expire_all, *TWICE),
        ),
    ),
    "a branch made again under a move": Scene(
        FORKED,
        (
            (on("bring_in", "dev", "i"),),
            (on("drop", "dev"), on("create", "dev", "main"), on("write", "dev", "e")),
            (expire_deleted, *TWICE),
        ),
    ),
    "a crash between a list and its event": Scene(
        (write("p"), collect, write("p")), ((on("copy", "main", "p", "q"),), TWICE, TWICE), crashes="B", crash_rate=0.1
    ),
    "a journal with ghosts": Scene(
        (*TWO, *DRAWN, write("p"), on("trim")),
        ((on("copy", "main", "p", "q"),), (write("p"), *TWICE)),
        group=4,
        damage=leave_ghosts,
    ),
    "clocks that are a day off": Scene(
        (write("p"), collect),
        ((read, on("link"), read_slowly), (write("p"), collect_patiently)),
        skews=(-DAY, DAY),
    ),
    "retention that is shortened": Scene(
        (*FORKED, on("write", "dev", "e"), collect, on("drop", "dev")),
        ((on("keep_one_commit"),), (on("branch_from_first"), on("restore", "dev")), (on("expire_by_rules"), *TWICE)),
    ),
}

SCENES: dict[str, Scene] = {**WRITERS, **JOBS, **RULES, **RACES, **CROWDS}

# What is refused at its first look has no moment in which a collector could come between.
NEVER_MEET = frozenset({"import of the lake's own files"})
