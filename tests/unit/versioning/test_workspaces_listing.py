"""Pages of a workspace, over its files, its staged changes and the commit below, against a dict."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Stat
from lochan.versioning import objects
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import write
from tests.run import run
from tests.unit.versioning.workspace_place import ANN, change, once, opened, repository_with, write_file

# Neighbours of the slash, letters of one to four bytes, and the greatest there is.
segments = st.text(st.sampled_from("ab-.0é日\U0001f600\U0010ffff"), min_size=1, max_size=2).filter(
    lambda text: text not in (".", "..")
)
paths = st.lists(segments, min_size=1, max_size=3).map("/".join)
committed = st.dictionaries(paths, st.just("committed"), max_size=8)
# "staged", "file", "deleted": put in this order, so that later ones hide earlier ones.
written = st.lists(st.tuples(st.sampled_from(["staged", "file", "deleted"]), paths), max_size=12)
wanted = st.tuples(
    st.one_of(st.just(""), paths, segments), st.one_of(st.just(""), paths), st.sampled_from(["", "/", "b", "/a"])
)


@pytest.mark.thorough
@settings(max_examples=120, deadline=None)
@given(below=committed, writes=written, asked=st.lists(wanted, min_size=1, max_size=4), limit=st.integers(1, 5))
def test_pages_are_as_those_of_a_dict(
    below: dict[str, str], writes: list[tuple[str, str]], asked: list[tuple[str, str, str]], limit: int
) -> None:
    async def play() -> None:
        repository = await repository_with()
        if below:
            await change(repository, below)
        workspace = await opened(repository)
        model = await _write(repository, workspace, dict(below), writes)
        for prefix, after, delimiter in asked:
            expected = _expected(model, prefix, after, delimiter)
            assert await _pages(repository, workspace, prefix, after, delimiter, limit) == expected

    run(play())


async def _write(
    repository: OpenRepository, workspace: WorkspaceState, model: dict[str, str], writes: list[tuple[str, str]]
) -> dict[str, str]:
    for how, path in writes:
        if how == "deleted":
            gone = await write.delete(repository, workspace.id, [path], actor=ANN)
            assert gone == ([path] if path in model else [])
            model.pop(path, None)
            continue
        if how == "file":
            await write_file(repository, workspace, path, how)
        else:
            await write.put(repository, workspace.id, path, once(how.encode()), actor=ANN, content_type="a/b")
        model[path] = how
    return model


async def _pages(
    repository: OpenRepository, workspace: WorkspaceState, prefix: str, after: str, delimiter: str, limit: int
) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    next: str | None = after
    while next is not None:
        page = await objects.list_objects(repository, workspace.ref, prefix, next, delimiter, limit)
        assert len(page.entries) + len(page.prefixes) <= limit
        items = [(entry.path, entry.size) for entry in page.entries] + [(each, -1) for each in page.prefixes]
        found += sorted(items, key=lambda item: item[0].encode())
        next = page.next
    return found


def _expected(model: dict[str, str], prefix: str, after: str, delimiter: str) -> list[tuple[str, int]]:
    items: dict[str, int] = {}
    for path in sorted(model, key=str.encode):
        if not path.startswith(prefix):
            continue
        end = path.find(delimiter, len(prefix)) if delimiter else -1
        name = path if end < 0 else path[: end + len(delimiter)]
        # An `after` that is itself a common prefix stands for all of it; else paths are compared.
        folded = end >= 0 and after == name
        if not folded and path.encode() > after.encode():
            items[name] = len(model[path]) if end < 0 else -1
    return list(items.items())


class Counted(Wrapper):
    """Counts the objects that the store lists."""

    told = 0

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        async for stat in self.inner.list(prefix, after):
            self.told += 1
            yield stat


def test_a_page_lists_only_its_own_part_of_the_folder() -> None:
    async def play() -> None:
        store = Counted(MemoryStore())
        lake = await Lake.create(store)
        await lake.create_repository("demo-repo", actor=ANN)
        repository = await lake.open_repository("demo-repo")
        workspace = await opened(repository)
        for number in range(6_000):
            await write_file(repository, workspace, f"big/{number:05d}", "x")
        await write_file(repository, workspace, "z/last", "x")
        store.told = 0
        page = await objects.list_objects(repository, workspace.ref, after="big/03000", limit=10)
        assert [entry.path for entry in page.entries][:2] == ["big/03001", "big/03002"]
        assert store.told <= 1_000
        store.told = 0
        page = await objects.list_objects(repository, workspace.ref, delimiter="/")
        assert page.prefixes == ["big/", "z/"]
        assert store.told <= 1_001  # the folder is jumped over

    run(play())
