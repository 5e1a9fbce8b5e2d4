"""Small trees for tests, driven without an event loop. They record every range that is opened or written."""

from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.entry_table import entries_of, table_of
from lochan.formats.range import RangeRef
from lochan.formats.run import changes_table
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.tree.assemble import RangeCut
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Without an event loop: nothing here waits for anything."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("it waits for something")


async def gathered(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


class Marked(RangeCut):
    """A range ends after a path that ends with an exclamation mark, so a test chooses the cuts."""

    def first(self, paths: pa.StringArray) -> int:
        found: int = pc.index(pc.ends_with(paths, "!"), True).as_py()
        return found

    def closes(self, path: str, count: int) -> bool:
        return count == self.most or (count >= self.least and path.endswith("!"))


class Forest:
    """Trees of entries written as `path` or `path=content`, separated by spaces; `-path` deletes."""

    def __init__(self, store: Store | None = None, least: int = 1, most: int = 100) -> None:
        self.store = store or MemoryStore()
        self.seen: list[tuple[str, RangeRef]] = []
        self.trees = Trees(
            self.store, "repo", cut=Marked(least, 1, most), width=1, seen=lambda *seen: self.seen.append(seen)
        )
        self._plain = Trees(self.store, "repo", width=1)

    def build(self, text: str, mint: int = 1) -> Tree:
        return run(self.trees.build(table_of(map(entry, text.split())), mint))

    def apply(self, base: Tree, text: str, mint: int = 2) -> Tree:
        return run(self.trees.apply(base, changes_table(map(change, text.split())), mint))

    def show(self, tree: Tree) -> str:
        """The ranges, as `a b!|c d`."""
        return "|".join(self.text(ref) for ref in tree.ranges)

    def text(self, ref: RangeRef) -> str:
        rows = run(self._plain.ranges.load(ref))
        return " ".join(map(_text, entries_of(pa.Table.from_batches([rows.batch]))))

    def ranges(self, what: str) -> str:
        """Those that were opened or written since the last look, in path order."""
        refs = {ref.file: ref for verb, ref in self.seen if verb == what}
        self.seen = [(verb, ref) for verb, ref in self.seen if verb != what]
        return "|".join(sorted(map(self.text, refs.values())))


def entry(text: str, **more: Any) -> Entry:
    path, _, content = text.partition("=")
    content = content or "0"
    return Entry(path, (), len(content), content, f"etag-{content}", 7, **more)


def change(text: str) -> Change:
    return Tombstone(text[1:]) if text.startswith("-") else entry(text)


def _text(entry: Entry) -> str:
    return entry.path if entry.checksum == "0" else f"{entry.path}={entry.checksum}"


def paths(batches: Iterable[pa.RecordBatch]) -> list[str]:
    return [path for batch in batches for path in batch.column("path").to_pylist()]
