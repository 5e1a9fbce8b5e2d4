"""What commands have read of local lakes: noted by one process, and read again by another, which keeps it.

The second one forks, and so must not start a thread: lakes are read without an event loop, and files without Arrow's
threads.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from lochan.errors import LochanError
from lochan.formats.metarange import TreeRef
from lochan.formats.run import RunRef
from lochan.lake import LAKE_JOURNAL, Lake, LakeOptions
from lochan.staging.runs import Runs
from lochan.store.local import LocalStore
from lochan.tree.trees import Trees
from lochan.warm import WarmLake, WarmLakes

_FILES_MAX = 64  # of each kind, that are opened after one command

T = TypeVar("T")


class ReadFiles(NamedTuple):
    """Of one lake, what a command had opened when it ended."""

    url: str
    lake: str
    journals: list[str]
    trees: list[str]  # paths in the store
    ranges: list[str]
    runs: list[tuple[str, RunRef]]


def files_read(lakes: WarmLakes) -> list[ReadFiles]:
    """Of those lakes alone where something is new."""
    used = [(url, lake, lakes.at(url, lake)) for url, lake in lakes.used]
    return [_files_read(url, lake, warm) for url, lake, warm in used if warm.has_news()]


def _files_read(url: str, lake: str, warm: WarmLake) -> ReadFiles:
    runs = [(path, opened.ref) for path, opened in warm.runs.items()]
    return ReadFiles(url, lake, sorted(warm.states.asked), warm.trees.keys(), warm.ranges.keys(), runs)


def read_again(lakes: WarmLakes, read: ReadFiles) -> Iterator[None]:
    """Step by step, because somebody may be waiting. What is damaged, gone or another by now is forgotten; commands
    report it themselves."""
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
        warm.states[name] = _finish(journal.fresh())
        yield
    for path, run in read.runs[-_FILES_MAX:]:
        if warm.runs.get(path) is None:
            _finish(Runs(store, _prefix(path), lake.clock, lake.ids, held=warm.runs).open(run))
            yield
    for path in read.trees:
        yield from _open_tree(Trees(store, _prefix(path), listed=warm.trees, held=warm.ranges), path, read.ranges)


def _open_tree(trees: Trees, path: str, ranges: list[str]) -> Iterator[None]:
    prefix = _prefix(path)
    file = path.removeprefix(f"{prefix}/")
    tree = _finish(trees.open(TreeRef(file.rpartition("/")[2].partition("-")[0], file)))
    wanted = {each.removeprefix(f"{prefix}/") for each in ranges[-_FILES_MAX:] if each.startswith(f"{prefix}/")}
    for each in tree.ranges:
        if each.file in wanted:
            _finish(trees.ranges.load(each))
            yield


def _prefix(path: str) -> str:
    """The repository of `<repository>/<folder>/<file>`."""
    return path.rpartition("/")[0].rpartition("/")[0]


class _Waits(Exception):
    """It would have to wait for something, which nothing on a local disk does."""


def _finish(work: Coroutine[Any, Any, T]) -> T:
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    work.close()
    raise _Waits
