"""Checks one repository: its journal, and everything that its state names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import json_file, plan_list
from lochan.formats.entry import Entry
from lochan.formats.entry_table import as_batch, table_of
from lochan.formats.run import RunRef
from lochan.recovery.blocks import (
    BLOCKS,
    BlockDamage,
    BlockListCheck,
    blocks_of,
    check_bytes,
    resolve_aliases,
    table_of_blocks,
)
from lochan.recovery.check_journal import JournalCheck
from lochan.recovery.findings import Finding
from lochan.recovery.lake_files import ListedFiles
from lochan.recovery.live_files import FileDamage, LiveCheck
from lochan.recovery.live_set import read_aliases
from lochan.recovery.rebuild import FoldedJournal, live_roots
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.versioning.bodies.aliases import NO_ALIASES
from lochan.versioning.collection.roots import all_layers
from lochan.versioning.collection.sweep import SweepReport
from lochan.versioning.repositories import Repository
from lochan.versioning.state.refs import Refs

_SHOWN = 3
_UNSURE = frozenset(f"{kind}-missing" for kind in ("metarange", "range", "run", "data", "plan", "aliases"))
_COMMIT_DIGITS = 12


class RepositoryCheck:
    def __init__(self, store: Store, repository: Repository, *, data: bool, is_mirror: bool) -> None:
        self._store = store
        self.repository = repository
        self._with_data = data
        self._is_mirror = is_mirror
        self.folded: FoldedJournal | None = None
        self.live: LiveCheck | None = None
        self.findings: list[Finding] = []
        self.files = 0
        self.bytes = 0
        self._in_file: dict[str, str] = {}  # by a damaged address, the file that names it
        self._blocks: list[pa.Table] = []
        self._aliases = NO_ALIASES

    async def check(self) -> list[Finding]:
        id, name = self.repository.id, self.repository.name
        journal = JournalCheck(self._store, id, name, (Refs,), is_mirror=self._is_mirror)
        self.folded, self.findings = await journal.fold()
        if self.folded is None or not self.folded.state.number:
            return self.findings
        refs = self.folded.state.of(Refs)
        # The state comes first, then the listing: every file that the state names was written before it was named.
        listed = await ListedFiles.listed(self._store, f"{id}/")
        self.files, self.bytes = len(listed), pc.sum(listed.table["size"]).as_py() or 0
        self._aliases, damaged = await read_aliases(self._store, id, refs)
        for table in damaged:
            kind = "aliases-missing" if table.is_missing else "aliases-damaged"
            self._add(kind, f"{id}/{table.file}", "" if table.is_missing else table.what)
        blocks = BlockListCheck(listed.table, self._aliases)
        await self._check_live(refs, blocks)
        for damage in await self._confirm_damage(blocks):
            self._add(damage.kind, damage.address, self._where(damage))
        if blocks.more:
            self._add("data-missing", f"{id}/data/", "further files", count=blocks.more)
        if self._with_data:
            await self._check_bytes()
        await self._check_plans(refs)
        if self.folded.damage is not None:
            # The state is older than the files: files that it names may have been collected since.
            self.findings = [each for each in self.findings if each.kind not in _UNSURE]
            return self.findings
        self._check_uploads(refs)
        self._check_unnamed(listed, refs)
        return self.findings

    # --- metadata -----------------------------------------------------------------------------------------------------
    async def _check_live(self, refs: Refs, blocks: BlockListCheck) -> None:
        id = self.repository.id

        def entries(file: str, batch: pa.RecordBatch) -> None:
            before = len(blocks.damaged)
            table = blocks_of(batch)
            blocks.add_blocks(table)
            if len(blocks.damaged) > before:
                self._in_file |= {each: file for each in blocks.damaged if each not in self._in_file}
            if self._with_data:
                self._blocks.append(table)

        assert self.folded is not None
        roots = live_roots(self.folded.state, id)
        self.live = LiveCheck(self._store, id, for_tables(), entries)
        await self.live.check(roots.trees, roots.runs)
        await self.live.check_inputs(refs)
        inline = [change for change in _inline(refs) if isinstance(change, Entry)]
        if inline:
            entries("", as_batch(table_of(inline)))
        blocks.add_blocks(table_of_blocks(roots.blocks, "an upload or a staged change"))
        for damage in self.live.damaged.values():
            kind = f"{damage.kind}-{'missing' if damage.is_missing else 'damaged'}"
            detail = "" if damage.is_missing else f"{damage.what}; "
            self._add(kind, f"{id}/{damage.file}", detail + self.affected(damage))

    def affected(self, damage: FileDamage) -> str:
        """Returns which paths of which commits or branches cannot be read without the file."""
        assert self.folded is not None and self.live is not None
        refs = self.folded.state.of(Refs)
        if damage.kind == "run":
            made = {id for id, runs in refs.input_table.items() if any(run.file == damage.file for run in runs)}
            if made:
                return _list_names("only needed to make again", [f"commit {id[:12]}" for id in sorted(made)])
            return _list_names("staged on", _stagings(refs, damage.file))
        if damage.kind == "metarange":
            return _list_names("all paths of", _commits(refs, {damage.file}))
        trees = {tree for tree, ranges in self.live.trees.items() if any(each.file == damage.file for each in ranges)}
        ref = next(each for tree in trees for each in self.live.trees[tree] if each.file == damage.file)
        paths = f"{ref.count:,} paths from {ref.min_path!r} to {ref.max_path!r} of"
        return _list_names(paths, _commits(refs, trees))

    # --- data ---------------------------------------------------------------------------------------------------------
    async def _confirm_damage(self, blocks: BlockListCheck) -> list[BlockDamage]:
        """Returns the damage that is real. A listing may be stale (F-S8), so the files that it lacks are looked up by
        name."""
        found = []
        for damage in blocks.damaged.values():
            try:
                stat = await self._store.head(damage.address)
            except NotFound:
                found.append(damage)
                continue
            if damage.kind == "data-short" and stat.size < int(damage.detail.rpartition(" ")[2]):
                found.append(damage)
        return found

    async def _check_bytes(self) -> None:
        if not self._blocks:
            return
        import polars as pl

        table = resolve_aliases(pa.concat_tables(self._blocks), self._aliases)
        self._blocks = []
        frame = pl.DataFrame(table).unique(["address", "offset", "size"]).sort("address", "offset")
        for damage in await check_bytes(self._store, frame.to_arrow().cast(BLOCKS)):
            if damage.address not in self._in_file:
                self._add(damage.kind, damage.address, f"{damage.detail}; needed by {damage.path!r}")

    def _where(self, damage: BlockDamage) -> str:
        assert self.folded is not None and self.live is not None
        refs, file = self.folded.state.of(Refs), self._in_file.get(damage.address, "")
        detail = f"{damage.detail}; " if damage.detail else ""
        trees = {tree for tree, ranges in self.live.trees.items() if any(each.file == file for each in ranges)}
        users = _list_names("of", _commits(refs, trees)) if trees else "staged"
        return f"{detail}needed by {damage.path!r} {users}"

    # --- the rest -----------------------------------------------------------------------------------------------------
    async def _check_plans(self, refs: Refs) -> None:
        id = self.repository.id
        for plan, file in sorted(refs.collection.lists()):
            path = f"{id}/{file}"
            try:
                head = await get_decoded(self._store, path, partial(plan_list.decode_head, file))
                for part in head.parts:
                    path = f"{id}/{part.file}"
                    await get_decoded(self._store, path, partial(plan_list.decode_part, part))
            except NotFound:
                self._add("plan-missing", path, f"the list of plan {plan}")
            except (Corrupt, FutureFormat) as error:
                self._add("plan-damaged", path, error.message)
            report = f"{id}/{plan_list.FOLDER}/{plan:020d}-report.json"
            try:
                await get_decoded(self._store, report, partial(decode_report, path=report, plan=plan))
            except NotFound:
                pass
            except Corrupt as error:
                self._add("report-damaged", report, error.message)

    def _check_uploads(self, refs: Refs) -> None:
        for upload in refs.uploads.all():
            path = f"{self.repository.name}@{upload.opened.branch}/{upload.opened.path}"
            self._add("upload-open", path, f"upload {upload.id}")

    def _check_unnamed(self, listed: ListedFiles, refs: Refs) -> None:
        """Reports trees and runs that nothing names. Only files that were minted before the state count: others may be
        in the middle of being written."""
        assert self.live is not None
        metadata = pa.array([f"{self.repository.id}/{file}" for file in self.live.files], pa.string())
        paths = listed.table["path"]
        of_trees = pc.match_substring_regex(paths, "^[^/]+/((meta)?ranges|runs)/")
        unnamed = listed.table.filter(pc.and_(of_trees, pc.invert(pc.is_in(paths, value_set=metadata))))
        if len(unnamed):
            first, total = unnamed["path"][0].as_py(), pc.sum(unnamed["size"]).as_py()
            self._add("file-unnamed", first, "trees and runs", count=len(unnamed), bytes=total)

    def _add(self, kind: str, path: str, detail: str = "", *, count: int = 1, bytes: int = 0) -> None:
        name = self.repository.name
        self.findings.append(Finding(kind=kind, path=path, repository=name, detail=detail, count=count, bytes=bytes))


def decode_report(data: bytes, path: str, plan: int) -> SweepReport:
    """Returns the report. Raises Corrupt if it is not that of this plan."""
    report = json_file.convert(json_file.unseal(data, path, ""), SweepReport, path, "")
    if report.plan != plan:
        raise Corrupt(f"{path} is the report of plan {report.plan}: another file is in its place")
    return report


def _inline(refs: Refs) -> Iterator[object]:
    for _, layers in all_layers(refs):
        for layer in layers.layers:
            if not isinstance(layer, RunRef):
                yield from layer.changes()


def _commits(refs: Refs, trees: set[str]) -> list[str]:
    found = []
    for id in refs.commit_table:
        if not refs.collection.has_expired(id) and refs.recorded(id).tree_file in trees:
            found.append(f"commit {id[:_COMMIT_DIGITS]}")
    return found or ["the tree over staged changes"]


def _stagings(refs: Refs, file: str) -> list[str]:
    return [
        " ".join(key[:2])
        for key, layers in all_layers(refs)
        if any(isinstance(each, RunRef) and each.file == file for each in layers.layers)
    ]


def _list_names(what: str, names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{what} {', '.join(names[:_SHOWN])}{more}"
