"""The metadata that the corpus's lake must have, by the name of the query. It follows from how `tests.corpus.lake`
builds the lake.

The seven rows of people come in loads of three, two and two, whose keys overlap. Logs come in three loads whose keys do
not.
"""

from __future__ import annotations

from typing import Any

from tests.corpus.data import pools
from tests.corpus.lake import file_sizes

NAMES = sorted(pool.name for pool in pools())


def _count(number: int) -> list[dict[str, Any]]:
    return [{"count": number}]


def _named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


ANSWERS: dict[str, list[dict[str, Any]]] = {
    "branches of the lake": _named("dev", "main"),
    "branches of the lake, counted": _count(len(NAMES) + 2),  # a main for each and for the files, and dev
    "pools of the lake": _named(*NAMES),
    "pools of the lake, counted": _count(len(NAMES)),
    "repositories": _named("files"),
    "repositories, counted": [{"kind": "pool", "count": len(NAMES)}, {"kind": "files", "count": 1}],
    "branches of a pool": _named("dev", "main"),
    "branches of a pool, counted": _count(2),
    "tags": _named("v1"),
    "tags of the lake": _count(1),
    "tags of a pool without": _count(0),
    "tags of the lake, named": _named("v1"),
    "settings": _named("people"),
    "settings, of another": _count(1),
    "index rules": _count(0),
    "index rules of another": _count(0),
    "users": _count(0),
    "users, named": [],
    "jobs": _count(0),
    "jobs, cut": [],
    "objects": [{"sum": 7}],
    "objects, sizes": _count(3),
    "partitions": _count(3),
    "partitions, of people": _count(1),
    "the ends of objects of a falling key": [
        {"min": f"2026-10-0{first}T00:00:00Z", "max": f"2026-10-0{first + 6}T00:00:00Z"} for first in (1, 2, 3)
    ],
    "the ends of partitions with rows without the key": [{"min": 0, "max": "s9", "count": 57, "keyless": 3}],
    "indexes": _count(0),
    "indexes of another": _count(0),
    "log": [{"message": said} for said in ("Load 2 rows", "Load 2 rows", "Load 3 rows", "Repository created")],
    "log, counted": _count(5),
    "rawlog": _count(3 + 4),
    "rawlog, kinds": [{"action": "added", "count": 4}, {"action": "commit", "count": 5}],
    "changes": _count(4),
    "changes of main": _count(3),
    "branchlog": [{"ref": "main", "count": 4}, {"ref": "dev", "count": 2}, {"ref": "v1", "count": 1}],
    "branchlog, of another": _count(4),
    "journal, counted": _count(4),
    "entries": [{"path": path} for path in sorted(file_sizes())],
    "entries, sizes": [{"sum": sum(file_sizes().values())}],
    "ranges": [{"sum": len(file_sizes())}],
    "ranges, counted": _count(1),
    "sizes": [
        {"prefix": folder, "objects": sum(path.startswith(folder) for path in file_sizes())}
        for folder in ("data/", "logs/", "parts/")
    ],
    "sizes, of a pool": [{"depth": 0, "objects": count} for count in (3, 2, 1, 0)],
    "growth": [
        *({"added": 1, "removed": 0, "objects": count} for count in (3, 2, 1)),
        {"added": 0, "removed": 0, "objects": 0},
    ],
    "growth of files": [{"sum": sum(file_sizes().values())}],
    "plans": _count(0),
    "plans of the lake": _count(0),
    "planned": _count(0),
    "planned, cut": [],
    "unreferenced": _count(0),
    "unreferenced, cut": [],
    "joblog": _count(0),
    "joblog, cut": [],
    "staged": [{"path": "new/staged.txt"}],
    "staged, counted": _count(1),
    "tap": _count(0),
    "tap of all": _count(3),
    "pools as they were": _count(0),
    "branches as they were": _named("main"),
}
# Of each event the whole type is said: here only how often each occurs.
KINDS_OF_EVENTS = {"journal": [1, 1, 1, 4]}
