"""Metadata as rows: what each source gives, and that a query filters it like data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.versioning.branches import create_branch, create_tag
from lochan.versioning.objects import put
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.pools.place import once

QUERIES: dict[str, list[Any]] = {
    "from :pools | cut name, keys, nulls": [
        {"name": "logs", "keys": ["k", "n:desc"], "nulls": "last"},
        {"name": "times", "keys": ["ts"], "nulls": "last"},
    ],
    "from :repositories | count() by kind | sort kind": [
        {"kind": "files", "count": 1},
        {"kind": "pool", "count": 2},
    ],
    'from :branches | repository == "logs" | cut name, message': [
        {"name": "dev", "message": "Load 1 row"},
        {"name": "main", "message": "Load 2 rows"},
    ],
    "from :tags | cut repository, name": [{"repository": "logs", "name": "v1"}],
    "from :users | count()": [{"count": 0}],
    "from :jobs | count()": [{"count": 0}],
    "from :usage | count()": [{"count": 0}],
    "from :users | cut name": [],
    "from logs:branches | cut name, staged | head 1": [{"name": "dev", "staged": False}],
    "from logs:tags | cut name": [{"name": "v1"}],
    "from logs:settings | cut name, size_bytes": [{"name": "logs", "size_bytes": 256 << 20}],
    "from logs:objects | cut min, max, count, keyless": [
        {"min": [1, "b"], "max": [5, "a"], "count": 2, "keyless": 0},
        {"min": [3, "c"], "max": [3, "c"], "count": 2, "keyless": 1},
    ],
    "from logs:objects | cut n:=columns.k.present | sum(n)": [{"sum": 4}],
    "from logs@v1:objects | count()": [{"count": 1}],
    "from times:objects | cut min, max": [{"min": "2026-11-01T10:00:00Z", "max": "2026-11-02T10:00:00Z"}],
    "from times:objects | min > 2026-10-01 | count()": [{"count": 1}],
    "from logs:objects tap | k > 4 | cut min": [{"min": [1, "b"]}],
    "from logs:partitions | cut min, max, count, keyless, n:=len(objects)": [
        {"min": [1, "b"], "max": [5, "a"], "count": 4, "keyless": 1, "n": 2}
    ],
    "from logs:log | cut message": [
        {"message": "Load 2 rows"},
        {"message": "Load 2 rows"},
        {"message": "Repository created"},
    ],
    "from logs@dev:changes | cut change, count": [{"change": "added", "count": 1}, {"change": "added", "count": 2}],
    "from logs:rawlog | cut action": [
        {"action": "commit"},
        {"action": "commit"},
        {"action": "added"},
        {"action": "commit"},
        {"action": "added"},
    ],
    "from logs:branchlog | cut ref, kind, action": [
        {"ref": "main", "kind": "branch", "action": "created"},
        {"ref": "main", "kind": "branch", "action": "load"},
        {"ref": "v1", "kind": "tag", "action": "created"},
        {"ref": "dev", "kind": "branch", "action": "created"},
        {"ref": "dev", "kind": "branch", "action": "load"},
        {"ref": "main", "kind": "branch", "action": "load"},
    ],
    'from logs:journal | type == "tag-created" | cut user, n:=payload.name': [{"user": "ann", "n": "v1"}],
    "from logs:journal | by t:=typeof(this) | count() | cut several:=count >= 3": [{"several": True}],
    "from logs:indexes | count()": [{"count": 0}],
    "from logs:indexrules | count()": [{"count": 0}],
    "from :pools@{2 hours ago} | count()": [{"count": 0}],
    "from logs:branches@{now} | count()": [{"count": 2}],
    "from files:entries | cut path, size, blocks, metadata": [],
    "from files:staged | cut path, change, size": [{"path": "a/x.csv", "change": "added", "size": 3}],
    "from files:ranges | count()": [{"count": 0}],
    "from logs:entries | sum(blocks)": [{"sum": 2}],
    "from logs:entries | mtime > 2026-01-01 | count()": [{"count": 2}],
    "from logs:ranges | cut count": [{"count": 2}],
    # joined with data
    "from logs:log | head 1 | cut m:=message | join (from logs:branches) on m=message c:=name": [
        {"m": "Load 2 rows", "c": "main"}
    ],
}


async def filled(lake: QueryLake) -> None:
    settings = PoolSettings((PoolKey(("k",)), PoolKey(("n",), descending=True)))
    await lake.pool("logs", [{"k": 5, "n": "a"}, {"k": 1, "n": "b"}], settings=settings)
    repository = await lake.lake.open_repository("logs")
    await create_tag(repository, "v1", "main", actor=ANN)
    await create_branch(repository, "dev", "main", actor=ANN)
    await repository.close()
    await lake.load("logs", [{"k": 9, "n": "z"}], "dev")
    await lake.load("logs", [{"k": 3, "n": "c"}, {"k": 4}])
    times = PoolSettings((PoolKey(("ts",)),), times=(("ts",),))
    await lake.pool("times", [{"ts": f"2026-11-0{day}T10:00:00Z"} for day in (1, 2)], settings=times)
    await lake.lake.create_repository("files", actor=ANN)
    files = await lake.lake.open_repository("files")
    await put(files, "main", "a/x.csv", once(b"1,2"), actor=ANN)
    await files.close()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async def asked() -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with query_lake(tmp_path_factory.mktemp("metadata")) as lake:
            await filled(lake)
            for text in QUERIES:
                try:
                    found[text] = await lake.rows(text)
                except Exception as error:
                    found[text] = error
        return found

    return run(asked())


@pytest.mark.thorough
@pytest.mark.parametrize("text, expected", QUERIES.items(), ids=QUERIES)
def test_metadata(answers: dict[str, Any], text: str, expected: list[Any]) -> None:
    if isinstance(answers[text], Exception):
        raise answers[text]
    assert answers[text] == expected


@pytest.mark.thorough
def test_rows_of_files_after_a_commit(tmp_path: Path) -> None:
    from lochan.versioning.heads.commit import CommitRequest, commit

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await filled(lake)
            files = await lake.lake.open_repository("files")
            await commit(files, "main", CommitRequest("first"), actor=ANN)
            await files.close()
            [entry] = await lake.rows("from files:entries")
            assert (entry["path"], entry["size"], entry["blocks"], entry["metadata"]) == ("a/x.csv", 3, 1, {})
            assert await lake.rows("from files:staged") == []
            changes = await lake.rows("from files:changes | cut change, path, size")
            assert changes == [{"change": "added", "path": "a/x.csv", "size": 3}]

    run(asked())
