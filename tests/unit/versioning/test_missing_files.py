"""A file of a tree or a run that is gone is an error. It never looks as if the object did not exist."""

import pytest

from lochan.errors import Gone
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import bulk, objects
from tests.run import run
from tests.unit.versioning.history import ANN, History


@pytest.mark.parametrize("kind", ["ranges", "metaranges", "runs"])
def test_a_missing_file_is_no_missing_object(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "INLINE_MAX", 0)

    async def play() -> None:
        store = MemoryStore()
        lake = await Lake.create(store)
        await lake.create_repository("demo-repo", actor=ANN)
        repository = await lake.open_repository("demo-repo")
        history = History(repository)
        if kind == "runs":
            await history.write("main", "a=1")
            await objects.put_many(repository, "main", [await objects.stat(repository, "main", "a")], actor=ANN)
            from lochan.versioning.copy import copy_folder

            await copy_folder(repository, "main", "", "main", "copies/", actor=ANN)
        else:
            await history.write("main", "a=1")
        await repository.close()
        for path in [stat.path async for stat in store.list("") if f"/{kind}/" in stat.path]:
            await store.delete(path)
        fresh = await (await Lake.open(store)).open_repository("demo-repo")
        with pytest.raises(Gone, match="is gone"):
            await objects.stat(fresh, "main", "copies/a" if kind == "runs" else "a")
        await fresh.close()

    run(play())
