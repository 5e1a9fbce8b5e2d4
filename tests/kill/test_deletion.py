"""A process that dies while it deletes a repository, or brings it back, leaves it whole: the name is there with all of
its content, or it can be restored. The next life goes on."""

from pathlib import Path

from lochan.errors import Gone, NotFound
from lochan.lake import Lake
from lochan.versioning import objects
from tests.kill.deletion_child import opened
from tests.kill.import_child import ANN
from tests.kill.two_lives import kill_everywhere
from tests.unit.versioning.history import once

PREFIXES = ("restoration.", "deleted.")
_ALSO = {"repository.closed", "repository.deleted"}  # other stories pass them as well


def test_killed_at_every_step(tmp_path: Path) -> None:
    kill_everywhere("deletion_child", tmp_path, _judge, PREFIXES, _ALSO)


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    assert await _contents(lake, "comes-back") == {"a": b"1"}
    gone = {each.repository.name: each for each in await lake.deleted_repositories()}
    if finished:
        assert not gone
        assert [each.name for each in await lake.repositories()] == ["comes-back"]
    elif "goes-away" in gone and not gone["goes-away"].list:
        await lake.restore_repository("goes-away", actor=ANN)
        assert await _contents(lake, "goes-away") == {"a": b"1"}
        await lake.delete_repository("goes-away", actor=ANN)
    await lake.close()


async def _contents(lake: Lake, name: str) -> dict[str, bytes]:
    """It can be read and written to, if need be after it was restored."""
    try:
        repository = await lake.open_repository(name)
        await repository.refs()
    except NotFound:
        try:
            await lake.restore_repository(name, actor=ANN)
        except Gone:
            return {}
        repository = await lake.open_repository(name)
    entries = (await objects.list_objects(repository, "main")).entries
    found = {entry.path: await repository.reader.read_all(entry) for entry in entries}
    await objects.put(repository, "main", "a", once(b"1"), actor=ANN)
    await repository.close()
    return found
