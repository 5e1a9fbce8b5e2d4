"""What a process keeps of lakes that commands have read: only what is new is read again."""

from pathlib import Path

import pytest

from lochan.api.lake import Lake as LakeVerbs
from lochan.api.session import Session
from lochan.api.warm import files_read, read_again
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.store.local import LocalStore
from lochan.warm import WarmLakes
from tests.run import run

ACTOR = Actor("dora", "test", "here")


async def _put(folder: Path, path: str, lakes: WarmLakes | None = None) -> None:
    lake = LakeVerbs(Session(await Lake.open(LocalStore(str(folder)), world=LakeOptions(warm=lakes)), ACTOR))
    await lake.repository("demo").branch("main").put(path, b"x")
    await lake.close()


async def _listed(folder: Path, lakes: WarmLakes) -> list[str]:
    lake = LakeVerbs(Session(await Lake.open(LocalStore(str(folder)), world=LakeOptions(warm=lakes)), ACTOR))
    page = await lake.repository("demo").ref("main").list_page()
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
        # A command is a process of its own; here the states that it took are put back by hand.
        assert not files_read(lakes)
        assert _again(lakes) == 0


def _again(lakes: WarmLakes) -> int:
    news = len(files_read(lakes))
    for warm in (lakes.at(*key) for key in list(lakes.used)):
        for name, journal in warm.states._opened.items():
            warm.states[name] = journal.tail.state
    lakes.settle()
    return news


def test_what_others_wrote_is_news(lake: Path) -> None:
    lakes = WarmLakes()
    for number in range(3):
        run(_put(lake, f"{number}"))
        assert len(run(_listed(lake, lakes))) == number + 1
        assert _followed(lakes) == 1


def test_its_own_write_is_news(lake: Path) -> None:
    lakes = WarmLakes()
    run(_put(lake, "a", lakes))
    assert _followed(lakes) == 1
    run(_put(lake, "b", lakes))
    assert _followed(lakes) == 1
