"""Files of local lakes that commands have read: recorded by one process, and read again by another, which keeps them.

The second process forks, and so must not start a thread: lakes are read without an event loop, and files without
Arrow's threads."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from lochan.errors import LochanError
from lochan.formats.entry_table import EntryRows
from lochan.formats.metarange import TreeRef
from lochan.formats.run import RunRef
from lochan.lake import LAKE_JOURNAL, Lake, LakeOptions
from lochan.staging.inline import Inline
from lochan.staging.runs import Runs
from lochan.staging.sources import sort_large
from lochan.store.local import LocalStore
from lochan.tree.shared_batch import in_shared_memory
from lochan.tree.trees import Trees
from lochan.versioning.state.refs import Refs
from lochan.warm import WarmLake, WarmLakes

_FILES_MAX = 64  # how many files of each kind are opened after one command

T = TypeVar("T")


class ReadFiles(NamedTuple):
    """The files that a command had opened when it ended, of one lake."""

    url: str
    lake: str
    journals: list[str]
    trees: list[str]  # paths in the store
    ranges: list[str]
    patches: list[str]
    runs: list[tuple[str, RunRef]]


def files_read(lakes: WarmLakes) -> list[ReadFiles]:
    """Returns the files read, only for lakes where something is new."""
    used = [(url, lake, lakes.at(url, lake)) for url, lake in lakes.used]
    return [_files_read(url, lake, warm) for url, lake, warm in used if warm.has_news()]


def _files_read(url: str, lake: str, warm: WarmLake) -> ReadFiles:
    runs = [(path, opened.ref) for path, opened in warm.runs.items()]
    ranges, patches = warm.ranges.keys(), warm.patches.keys()
    return ReadFiles(url, lake, sorted(warm.states.asked), warm.trees.keys(), ranges, patches, runs)


def read_again(lakes: WarmLakes, read: ReadFiles) -> Iterator[None]:
    """Reads files again, step by step, because a front may be waiting. If a file is damaged, gone or another by now,
    the lake is dropped; commands report it themselves."""
    try:
        yield from _read_again(lakes, read)
    except (LochanError, OSError, _Waits):
        lakes.drop(read.url, read.lake)


def _read_again(lakes: WarmLakes, read: ReadFiles) -> Iterator[None]:
    store = LocalStore(unquote(read.url.removeprefix("file://")))
    lake = _finish(Lake.open(store, world=LakeOptions(warm=lakes)))
    if lake.id != read.lake or lake.file.journal != "store":
        return
    warm = lakes.at(read.url, read.lake)
    for name in {LAKE_JOURNAL: None, **dict.fromkeys(read.journals)}:
        journal = _finish(lake.journal(name))
        warm.states[name] = state = _finish(journal.fresh())
        yield
        if Refs in state.parts:
            yield from _sort_staged(state.of(Refs))
    for path, run in read.runs[-_FILES_MAX:]:
        if warm.runs.get(path) is None:
            _finish(Runs(store, _prefix(path), lake.clock, lake.ids, held=warm.runs).open(run))
            yield
    for path in read.trees:
        trees = Trees(store, _prefix(path), listed=warm.trees, held=warm.ranges, held_patches=warm.patches)
        yield from _open_tree(trees, path, read, warm)


def _sort_staged(refs: Refs) -> Iterator[None]:
    for _, branch in refs.branch_table.items():
        for layer in branch.layers.layers:
            if isinstance(layer, Inline):
                sort_large(layer)
                yield


def _open_tree(trees: Trees, path: str, read: ReadFiles, warm: WarmLake) -> Iterator[None]:
    prefix = _prefix(path)
    file = path.removeprefix(f"{prefix}/")
    tree = _finish(trees.open(TreeRef(file.rpartition("/")[2].partition("-")[0], file)))
    ranges, patches = _files_below(prefix, read.ranges), _files_below(prefix, read.patches)
    for each in tree.ranges:
        for whole in (each, each.base):
            if whole is not None and whole.file in ranges and warm.ranges.get(f"{prefix}/{whole.file}") is None:
                rows = _finish(trees.ranges.load(whole))
                warm.ranges.put(f"{prefix}/{whole.file}", EntryRows(in_shared_memory(rows.batch)), rows.batch.nbytes)
                yield
        if each.file in patches:
            _finish(trees.ranges.parts(each))
            yield


def _files_below(prefix: str, paths: list[str]) -> set[str]:
    return {each.removeprefix(f"{prefix}/") for each in paths[-_FILES_MAX:] if each.startswith(f"{prefix}/")}


def _prefix(path: str) -> str:
    """Returns the repository of `<repository>/<folder>/<file>`."""
    return path.rpartition("/")[0].rpartition("/")[0]


class _Waits(Exception):
    """The work would have to wait for something, which never happens on a local disk."""


def _finish(work: Coroutine[Any, Any, T]) -> T:
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    work.close()
    raise _Waits
