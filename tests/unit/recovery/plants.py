"""The files of a lake, by what they are, and the ways to damage each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

from lochan.clock import SystemClock
from lochan.errors import Corrupt, FutureFormat, Gone, NotFound
from lochan.formats import metarange
from lochan.formats.metarange import TreeRef
from lochan.formats.range import RangeRef
from lochan.lake import Lake
from lochan.recovery.findings import Finding
from lochan.recovery.fsck import Fsck, FsckRequest
from lochan.store.memory import MemoryStore
from tests.unit.recovery.history import Place

_NUMBER = r"\d{20}"
_ID = "[0-9A-Za-z]{27}"
_RECORD = {"record-damaged", "record-misplaced", "record-foreign", "chain-broken"}
_FILES_MAX = 4  # of a kind that are damaged: the first ones, one in the middle, and the last


class FileKind(NamedTuple):
    pattern: str
    damaged: frozenset[str]  # what is found if it is damaged
    gone: frozenset[str] = frozenset()  # what is found if it is gone; nothing: nobody can tell, or nobody needs it
    is_parquet: bool = False  # there are bits in it that hold nothing


def _kind(pattern: str, damaged: set[str], gone: set[str] | None = None, *, is_parquet: bool = False) -> FileKind:
    return FileKind(pattern, frozenset(damaged), frozenset(gone or ()), is_parquet)


FILES = {
    "lake.json": _kind(r"lake\.json", {"lake-damaged"}, {"lake-missing"}),
    "key": _kind(r"_lake/keys/.+", {"key-damaged"}),
    "job": _kind(r"_lake/jobs/.+", {"job-damaged"}),
    "scrub report": _kind(r"_lake/scrub/.+", {"report-damaged"}),
    "record of the lake": _kind(rf"_lake/journal/{_NUMBER}", _RECORD, {"record-missing"}),
    "record": _kind(rf"{_ID}/journal/{_NUMBER}", _RECORD, {"record-missing"}),
    "segment": _kind(rf"{_ID}/journal/seg/{_NUMBER}", {"segment-damaged"}, {"record-missing"}),
    "checkpoint": _kind(rf"{_ID}/checkpoints/{_NUMBER}", {"checkpoint-damaged", "checkpoint-differs"}),
    "run": _kind(rf"{_ID}/runs/.+", {"run-damaged"}, {"run-missing"}),
    "metarange": _kind(rf"{_ID}/metaranges/.+", {"metarange-damaged"}, {"metarange-missing"}, is_parquet=True),
    "range": _kind(rf"{_ID}/ranges/.+", {"range-damaged"}, {"range-missing"}, is_parquet=True),
    "patch of a range": _kind(rf"{_ID}/ranges/.+", {"range-damaged"}, {"range-missing"}, is_parquet=True),
    # What was moved is not found where it was: its old files are gone.
    "aliases": _kind(rf"{_ID}/aliases/.+", {"aliases-damaged", "data-missing"}, {"aliases-missing"}),
    "plan": _kind(rf"{_ID}/plans/.+-[0-9a-f]{{64}}\.(?:parquet|json)", {"plan-damaged"}, {"plan-missing"}),
    "report": _kind(rf"{_ID}/plans/.+-report\.json", {"report-damaged"}),
    "data": _kind(rf"{_ID}/data/.+", {"data-damaged", "data-short"}, {"data-missing"}),
}
# What needs no check: others write it anew, or nothing is read from it.
OTHERS = rf"(_lake|{_ID})/(journal/sync|journal/trim/.+|checkpoints/.+|plans/clock|workspaces/_committed/.+)"


def flipped(share: float, bit: int) -> Callable[[bytes, list[bytes], int], bytes]:
    def damage(data: bytes, _: list[bytes], __: int) -> bytes:
        at = min(int(len(data) * share), len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]

    return damage


def _neighbour(step: int) -> Callable[[bytes, list[bytes], int], bytes | None]:
    """The bytes of another file of its kind. What is longer, and begins with its own bytes, holds it too."""

    def damage(data: bytes, every: list[bytes], at: int) -> bytes | None:
        for other in range(at + step, len(every) if step > 0 else -1, step):
            if not every[other].startswith(data):
                return every[other]
        return None

    return damage


# How to make the new bytes of a file from its own, those of all files of its kind in order, and its place there. None:
# there is no such file, or it is gone.
WAYS: dict[str, Callable[[bytes, list[bytes], int], bytes | None]] = {
    **{f"a bit at {share}": flipped(share, at) for at, share in enumerate((0, 0.2, 0.4, 0.6, 0.8, 0.97, 1))},
    "cut": lambda data, every, at: data[: len(data) * 2 // 3],
    "cut by a byte": lambda data, every, at: data[:-1],
    "empty": lambda data, every, at: b"",
    "the end is zeros": lambda data, every, at: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "an older file of its kind": _neighbour(-1),
    "a younger file of its kind": _neighbour(1),
    "gone": lambda data, every, at: None,
}


class Plant(NamedTuple):
    path: str
    data: bytes | None
    is_last: bool  # of its kind


def plants(place: Place, name: str, way: str) -> Iterator[Plant]:
    every = paths(place, name)
    bodies = [place.objects[path] for path in every]
    chosen = every if len(every) <= _FILES_MAX else [every[0], every[len(every) // 2], every[-2], every[-1]]
    for path in chosen:
        at = every.index(path)
        data = WAYS[way](bodies[at], bodies, at)
        if data is not None or way == "gone":
            yield Plant(path, data, path == every[-1])


def paths(place: Place, name: str) -> list[str]:
    """Of all files of that kind, the oldest first."""
    found = sorted((path for path in place.objects if re.fullmatch(FILES[name].pattern, path)), key=_age)
    patches = {f"{place.repository}/{each.file}" for each in ranges_of(place) if each.base is not None}
    if name == "range":
        return [path for path in found if path not in patches]
    return [path for path in found if path in patches] if name == "patch of a range" else found


def _age(path: str) -> tuple[int, str]:
    """By the mint in the name; records and checkpoints have their number as their name."""
    mint = re.search(r"-(\d+)(?:-[0-9a-f]{16})?\.parquet$|/(\d{20})-", path)
    return int(mint[1] or mint[2]) if mint else 0, path


def ranges_of(place: Place) -> list[RangeRef]:
    """Of all metaranges that are there."""
    found: dict[str, RangeRef] = {}
    for path in place.paths("metaranges"):
        file = path.removeprefix(f"{place.repository}/")
        ref = TreeRef(file.removeprefix("metaranges/").partition("-")[0], file)
        found |= {each.file: each for each in metarange.decode(place.objects[path], ref, path)}
    return [*found.values()]


# --- what is found, and what readers see -----------------------------------------------------------------------------
async def findings(store: MemoryStore, *, data: bool = True, repair: bool = False) -> list[Finding]:
    work = Fsck(store, FsckRequest((), data, repair), lambda: nullcontext(MemoryStore()), SystemClock())
    return [each async for each in work.run()]


async def shown(store: MemoryStore) -> Any:
    """What readers see of every branch and commit; `told`: an error."""
    seen: dict[str, Any] = {}
    try:
        lake = await Lake.open(store)
        try:
            files = await lake.open_repository("files")
            try:
                refs, _ = await files.refs()
                heads = [branch.name for branch in refs.branches()]
                live = [id for id in refs.commit_table if not refs.collection.has_expired(id)]
                for name in (*heads, *live):
                    view = await files.view(await files.resolve(name))
                    entries = (await view.list("", "", limit=10_000)).entries
                    seen[name] = {entry.path: await files.reader.read_all(entry) for entry in entries}
            finally:
                await files.close()
        finally:
            await lake.close()
    except (Corrupt, Gone, FutureFormat, NotFound):
        return "told"
    return seen


_KNOWN: dict[str, Any] = {}


async def truth(place: Place) -> Any:
    if place.lake not in _KNOWN:
        _KNOWN[place.lake] = await shown(await place.store())
    return _KNOWN[place.lake]
