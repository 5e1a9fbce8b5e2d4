"""A dedupe or a garbage collection that dies at any step is done again: what is named stays, and what is dead goes."""

from pathlib import Path

from lochan.versioning import objects
from tests.kill.collection_child import LIVE, opened
from tests.kill.two_lives import kill_everywhere

PREFIXES = ("aliases.", "plan.", "sweep.")


def test_killed_at_every_step(tmp_path: Path) -> None:
    kill_everywhere("collection_child", tmp_path, _judge, PREFIXES)


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    repository = await lake.open_repository("demo-repo")
    entries = (await objects.list_objects(repository, "main")).entries
    assert {entry.path: (await repository.reader.read_all(entry)).decode() for entry in entries} == LIVE
    bodies = [stat.path async for stat in repository.store.list(f"{repository.repository.id}/data/")]
    assert len(bodies) in ((2,) if finished else (2, 3, 4))
    refs, _ = await repository.refs()
    assert not (finished and refs.collection.running)
    await lake.close()
