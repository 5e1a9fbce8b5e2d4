"""The contents of files on the simulated store. The oracle reads them at once, with the formats alone and without the
code that machines use.
"""

from collections.abc import Mapping
from typing import Any

from lochan.formats import metarange, run
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.formats.run import RunRef
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from tests.sim.store import SimStore
from tests.sim.versioning.range_rows import range_rows


class Missing(Exception):
    """An event names a file that is not on the store."""


class Files:
    def __init__(self, store: SimStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self._known: dict[str, Any] = {}  # files never change

    def tree(self, commit: Commit) -> Mapping[str, str]:
        """path -> checksum, which names a write here."""
        if not commit.tree_file:
            return {}
        if commit.tree_file not in self._known:
            ref = TreeRef(commit.tree, commit.tree_file)
            parts = metarange.decode(self._get(ref.file), ref, ref.file)
            holds: dict[str, str] = {}
            for part in parts:
                holds |= self._range(part)
            self._known[commit.tree_file] = holds
        return self._known[commit.tree_file]  # type: ignore[no-any-return]

    def run(self, ref: RunRef) -> Mapping[str, str | None]:
        """Like `tree`; a tombstone is None."""
        if ref.file not in self._known:
            self._known[ref.file] = _changes(run.decode(self._get(ref.file), ref.file))
        return self._known[ref.file]  # type: ignore[no-any-return]

    def staged(self, layers: Layers) -> dict[str, str | None]:
        """All layers; the newest wins."""
        holds: dict[str, str | None] = {}
        for layer in layers.layers:
            holds |= self._inline(layer) if isinstance(layer, Inline) else self.run(layer)
        return holds

    def _inline(self, layer: Inline) -> dict[str, str | None]:
        return {each.path: each.checksum if isinstance(each, Entry) else None for each in layer.changes()}

    def _range(self, ref: RangeRef) -> dict[str, str]:
        if ref.file not in self._known:
            rows = range_rows(ref, self._get)
            names = (rows[name].to_pylist() for name in ("path", "checksum"))
            self._known[ref.file] = dict(zip(*names, strict=True))
        return self._known[ref.file]  # type: ignore[no-any-return]

    def _get(self, file: str) -> bytes:
        data = self._store.peek(f"{self._prefix}/{file}")
        if data is None:
            raise Missing(f"DANGLING: {file} is named by an event and not on the store")
        return data


def _changes(table: Any) -> dict[str, str | None]:
    rows = zip(*(table[name].to_pylist() for name in ("path", "checksum", "deleted")), strict=True)
    return {path: None if deleted else checksum for path, checksum, deleted in rows}
