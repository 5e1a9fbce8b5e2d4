"""The commit and the remaining changes are the same however the staged changes are laid out, and however small the
pieces.
"""

from collections.abc import Callable

import pyarrow as pa
import pytest

from lochan.errors import NothingToDo
from lochan.formats.entry import Change
from lochan.formats.repository_events import RunsStaged
from lochan.formats.run import changes_of
from lochan.lake import Lake
from lochan.staging import merge
from lochan.staging.compaction import LIMITS
from lochan.store.memory import MemoryStore
from lochan.tree import trees
from lochan.tree.assemble import RangeCut
from lochan.tree.trees import Trees
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.upkeep import compact
from tests.run import run
from tests.unit.staging.fakes import entry, gone, table
from tests.unit.versioning.test_upkeep import ANN

COMMITTED = [entry(f"{number:03d}", 1) for number in range(0, 300, 2)]
STAGED: list[Change] = [
    entry(f"{number:03d}", 2) if number % 5 else gone(f"{number:03d}") for number in range(0, 300, 3)
]
SMALL = [(merge, "_PIECE", 7), (merge, "_STRIDE", 2), (trees, "_PIECE", 5)]


def as_one(changes: list[Change]) -> list[list[Change]]:
    return [changes]


def interleaved(changes: list[Change]) -> list[list[Change]]:
    return [changes[part::4] for part in range(4)]


def over_older_ones(changes: list[Change]) -> list[list[Change]]:
    """The layers below are hidden."""
    hidden: list[Change] = [entry(change.path, 9) for change in changes]
    return [hidden[::2], hidden[1::3], *interleaved(changes)]


async def opened(runs: list[list[Change]]) -> OpenRepository:
    lake = await Lake.create(MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    repository.staged = lambda branch: None
    repository.trees = Trees(repository.store, repository.repository.id, cut=RangeCut(10, 10, 60))
    await stage(repository, *COMMITTED)
    await commit(repository, "main", CommitRequest("before"), actor=ANN)
    for changes in runs:
        await stage(repository, *changes)
    return repository


async def stage(repository: OpenRepository, *changes: Change) -> None:
    _, mint = await repository.refs()
    await repository.submit(ANN, RunsStaged("main", await repository.runs.adopt(table(*changes), mint)))


async def story(
    runs: list[list[Change]], request: CommitRequest, *, compacted: bool
) -> tuple[str, list[str], list[Change]]:
    """The tree, its ranges without their mint numbers, and what is left."""
    repository = await opened(runs)
    if compacted:
        assert await compact(repository, "main", LIMITS._replace(runs=0))
    _, made = await commit(repository, "main", request, actor=ANN)
    tree = await repository.tree(made)
    left = await (await repository.view(await repository.resolve("main"))).changes()
    await repository.close()
    return tree.ref.id, [ref.file.split("-")[0] + ref.file.split("-")[2] for ref in tree.ranges], changes_of(left)


@pytest.mark.thorough
@pytest.mark.parametrize("layout", [as_one, interleaved, over_older_ones])
@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("paths", [(), ("*7", "1*"), ("*",)])
def test_the_same_commit(
    layout: Callable[[list[Change]], list[list[Change]]],
    compacted: bool,
    paths: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = CommitRequest("changes", paths=paths)
    plain = run(story(as_one(STAGED), request, compacted=False))
    for module, name, value in SMALL:
        monkeypatch.setattr(module, name, value)
    assert run(story(layout(STAGED), request, compacted=compacted)) == without_idle(plain, compacted)
    picked = [each for each in STAGED if each.path.endswith("7") or each.path.startswith("1")]
    assert len(plain[2]) == (len(STAGED) - len(picked) if len(paths) == 2 else 0)


def without_idle(told: tuple[str, list[str], list[Change]], compacted: bool) -> tuple[str, list[str], list[Change]]:
    """Compaction has left out the tombstones of what was never committed."""
    there = {each.path for each in COMMITTED}
    kept = [each for each in told[2] if not compacted or each.path in there or each != gone(each.path)]
    return told[0], told[1], kept


def test_a_pattern_that_nothing_matches_is_nothing_to_do() -> None:
    async def play() -> None:
        repository = await opened(interleaved(STAGED))
        with pytest.raises(NothingToDo, match=r"matches x\*"):
            await commit(repository, "main", CommitRequest("none", paths=["x*"]), actor=ANN)
        staged: pa.Table = await (await repository.view(await repository.resolve("main"))).changes()
        assert changes_of(staged) == STAGED
        await repository.close()

    run(play())
