"""Long work in this process tells how far it is, as work on Spark does."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import lochan
from lochan.formats.job import JobStageRecord
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def made() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(made())
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


class Heard:
    def __init__(self) -> None:
        self.stages: dict[str, tuple[int, int]] = {}
        self.calls = 0

    def __call__(self, stages: Sequence[JobStageRecord]) -> None:
        self.calls += 1
        assert [each.id for each in stages] == list(range(len(stages)))
        self.stages = {each.name: (each.done, each.total) for each in stages}


def test_collections_and_dedupe_tell_their_stages(lake: lochan.Lake) -> None:
    repository = lake.create_repository("demo")
    main = repository.branch("main")
    for number in range(3):
        main.put(f"{number}.txt", b"the same" * 1_000)
    main.commit("all")
    main.put("0.txt", b"another")
    tried = Heard()
    repository.gc.preview(0, progress=tried)
    assert tried.stages["reads metadata"] == (1, 1)
    assert tried.stages["lists files"][0] == tried.stages["lists files"][1] > 4
    asked = Heard()
    assert repository.storage.duplicates(progress=asked).duplicates == 2
    assert asked.stages == {"reads metadata": (1, 1), "lists files": (1, 1)}
    assert repository.storage.dedupe(progress=asked).duplicates == 2
    assert asked.stages["checks blocks"] == (1, 1)


def test_fsck_counts_files(lake: lochan.Lake) -> None:
    lake.create_repository("demo").branch("main").put("a.txt", b"a")
    seen: list[int] = []
    checked = lake.fsck(data=True, progress=seen.append)
    assert not checked.is_damaged
    assert sum(seen) >= 2 * checked.files
