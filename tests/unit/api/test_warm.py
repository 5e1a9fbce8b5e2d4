"""What a process keeps of lakes that commands have read: only what is new is read again."""

from pathlib import Path

import pytest

from lochan.api.lake import Lake as LakeVerbs
from lochan.api.session import Session
from lochan.api.warm import files_read, read_again
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.staging.inline import Inline, InlinePiece
from lochan.store.local import LocalStore
from lochan.versioning.state.refs import Refs
from lochan.warm import WarmLakes
from tests.run import run
from tests.small_patches import small_patches

ACTOR = Actor("dora", "test", "here")


async def _put(folder: Path, path: str, lakes: WarmLakes | None = None) -> None:
    lake = LakeVerbs(Session(await Lake.open(LocalStore(str(folder)), world=LakeOptions(warm=lakes)), ACTOR))
    await lake.repository("demo").branch("main").put(path, b"x")
    await lake.close()


async def _listed(folder: Path, lakes: WarmLakes, prefix: str = "") -> list[str]:
    lake = LakeVerbs(Session(await Lake.open(LocalStore(str(folder)), world=LakeOptions(warm=lakes)), ACTOR))
    page = await lake.repository("demo").ref("main").list_page(prefix)
    await lake.close()
    return [each.path for each in page.objects]


def _followed(lakes: WarmLakes) -> int:
    """How many lakes had something new."""
    news = files_read(lakes)
    for read in news:
        for _ in read_again(lakes, read):
            pass
    lakes.settle()
    return len(news)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    async def made() -> None:
        lake = LakeVerbs(Session(await Lake.create(LocalStore(str(tmp_path / "lake"), create=True)), ACTOR))
        await lake.create_repository("demo")
        await lake.close()

    run(made())
    return tmp_path / "lake"


def test_what_was_read_before_is_no_news(lake: Path) -> None:
    lakes = WarmLakes()
    lakes.settle()
    run(_put(lake, "a"))
    assert run(_listed(lake, lakes)) == ["a"]
    assert _followed(lakes) == 1
    for _ in range(2):
        assert run(_listed(lake, lakes)) == ["a"]
        assert not files_read(lakes)
        lakes.give_back()


def test_a_state_that_was_read_further_is_not_given_back(lake: Path) -> None:
    """What follows would be read by each command again, until the one that keeps the states has read it too."""
    lakes = WarmLakes()
    run(_put(lake, "a"))
    run(_listed(lake, lakes))
    _followed(lakes)
    run(_listed(lake, lakes))
    [key] = lakes.used
    known = lakes.at(*key).states
    assert not known  # the command has taken them
    lakes.give_back()
    before = dict(known)
    assert before and not lakes.used
    run(_put(lake, "b"))
    assert run(_listed(lake, lakes)) == ["a", "b"]
    assert files_read(lakes)
    lakes.give_back()
    assert len(before.keys() - known.keys()) == 1  # the repository's journal, and not the lake's
    assert all(known[name].digest == before[name].digest for name in known)
    assert run(_listed(lake, lakes)) == ["a", "b"]


def test_what_others_wrote_is_news(lake: Path) -> None:
    lakes = WarmLakes()
    for number in range(3):
        run(_put(lake, f"{number}"))
        assert len(run(_listed(lake, lakes))) == number + 1
        assert _followed(lakes) == 1


def _pieces(lakes: WarmLakes) -> list[InlinePiece]:
    states = [state for key in list(lakes._lakes.keys()) for state in lakes.at(*key).states.values()]
    branches = [branch for state in states if Refs in state.parts for branch in state.of(Refs).branches()]
    layers = [layer for branch in branches for layer in branch.layers.layers]
    return [piece for layer in layers if isinstance(layer, Inline) for piece in layer.pieces]


def test_its_own_write_is_news(lake: Path) -> None:
    lakes = WarmLakes()
    run(_put(lake, "a", lakes))
    assert _followed(lakes) == 1
    run(_put(lake, "b", lakes))
    assert _followed(lakes) == 1


async def _committed(folder: Path) -> None:
    """Two commits of a few objects; the second tree is a patch of the first one."""
    lake = LakeVerbs(Session(await Lake.open(LocalStore(str(folder))), ACTOR))
    main = lake.repository("demo").branch("main")
    for path in "abcd":
        await main.put(path, b"x")
    await main.commit("first")
    await main.put("b", b"other")
    await main.commit("second")
    await lake.close()


async def _differing(folder: Path, lakes: WarmLakes) -> list[str]:
    lake = LakeVerbs(Session(await Lake.open(LocalStore(str(folder)), world=LakeOptions(warm=lakes)), ACTOR))
    tables = [table async for table in lake.repository("demo").ref("main~1").diff_tables("main")]
    await lake.close()
    return [path for table in tables for path in table["path"].to_pylist()]


def test_bases_and_patches_are_read_once(lake: Path) -> None:
    with small_patches():
        run(_committed(lake))
        lakes = WarmLakes()
        lakes.settle()
        assert run(_differing(lake, lakes)) == ["b"]
        assert _followed(lakes) == 1
        (warm,) = [lakes.at(*key) for key in list(lakes._lakes.keys())]
        ranges, patches = warm.ranges.keys(), warm.patches.keys()
        assert len(ranges) == len(patches) == 1
        for file in (*ranges, *patches):
            (lake / file).unlink()  # it is not asked for again
        assert run(_differing(lake, lakes)) == ["b"]


def test_staged_changes_are_found_by_their_sorted_paths(lake: Path) -> None:
    """They are sorted once, by the process that forks, and not looked through by each of its children."""

    async def stage() -> None:
        lake_verbs = LakeVerbs(Session(await Lake.open(LocalStore(str(lake))), ACTOR))
        main = lake_verbs.repository("demo").branch("main")
        for number in range(300):
            await main.put(f"d{number % 3}/{number:04}", b"x")
        await main.delete("d1/0004")
        await lake_verbs.close()

    run(stage())
    lakes = WarmLakes()
    run(_listed(lake, lakes))
    _followed(lakes)
    pieces = _pieces(lakes)
    assert pieces and all(piece.is_sorted for piece in pieces if len(piece) >= 256)
    assert run(_listed(lake, lakes, "d1/")) == [f"d1/{number:04}" for number in range(1, 300, 3) if number != 4]
    assert [piece.memo for piece in pieces] == [None] * len(pieces)
