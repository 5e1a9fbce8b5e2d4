"""Pages of a list with many denied objects: however few a page looks at, together they show everything once and in
order.
"""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.access.rights import Rights, VisibleObjects
from lochan.access.state import AccessPolicy
from lochan.api.lake import Lake as ApiLake
from lochan.api.session import ServerSession
from lochan.formats.lake_events import Statement
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.server.gateway import listing_page as visible_page
from lochan.store.memory import MemoryStore
from lochan.versioning import objects
from tests.run import run

ANN = Actor("ann", "test", "here")
MAIN = "repository/demo-repo/branch/main"
PATHS = st.sampled_from(["a", "b/1", "b/2", "b/c/3", "c/1", "c/2", "c/d/4", "c-d", "d/x/y", "e", "e/1", "f"])
DENIED = st.sampled_from(["a", "b/*", "b/1", "c*", "*/1", "*/d/*", "e", "e/*", "f", "d/x/y", "*"])


def visible(denied: list[str]) -> VisibleObjects:
    allow = Statement("allow", ("fs:*",), ("*",))
    deny = [Statement("deny", ("fs:ReadObject",), tuple(f"{MAIN}/object/{each}" for each in denied))] if denied else []
    return VisibleObjects(Rights([AccessPolicy("P", (allow, *deny))]), MAIN)


@settings(deadline=None, max_examples=60)
@given(
    st.sets(PATHS), st.lists(DENIED, max_size=3), st.sampled_from(["", "/"]), st.sampled_from(["", "b/", "c"]),
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
@pytest.mark.thorough
def test_all_pages_together(
    paths: set[str], denied: list[str], delimiter: str, prefix: str, limit: int, chunk: int, chunks: int
) -> None:
    shown = visible(denied)
    there = sorted((path for path in paths if path.startswith(prefix)), key=str.encode)
    readable = [path for path in there if shown.rights.allow("fs:ReadObject", f"{MAIN}/object/{path}")]
    expected = list(dict.fromkeys(folded(path, prefix, delimiter) for path in readable))

    async def play() -> list[str]:
        lake = await Lake.create(MemoryStore())
        await lake.create_repository("demo-repo", actor=ANN)
        repository = await lake.open_repository("demo-repo")
        for path in sorted(paths):
            await objects.put(repository, "main", path, _once(), actor=ANN)
        snapshot = await ApiLake(ServerSession(lake)).repository("demo-repo").ref("main").snapshot()
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = await visible_page.visible_page(snapshot, shown, prefix, after, delimiter, limit)
            names = [*page.objects["path"].to_pylist(), *page.prefixes]
            assert len(names) <= limit
            found += sorted(names, key=str.encode)
            assert page.next is None or page.next > after, "it goes on"
            after = page.next
        await lake.close()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visible_page, "_CHUNK", chunk)
        patch.setattr(visible_page, "_CHUNKS_MAX", chunks)
        patch.setattr(visible_page, "_LOOKED_MAX", 12 * chunk)
        assert run(play()) == expected


def folded(path: str, prefix: str, delimiter: str) -> str:
    at = path.find(delimiter, len(prefix)) if delimiter else -1
    return path if at < 0 else path[: at + 1]


async def _once() -> AsyncIterator[bytes]:
    yield b"x"
