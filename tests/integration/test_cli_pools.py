"""Pools from the command line: settings, branches, data objects, and every kind of wrong input."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from lochan.lake import Lake
from lochan.store.open import open_store
from tests.integration.cli import fine, lochan
from tests.servers.minio import MinioServer
from tests.unit.pools.place import Pool

T = TypeVar("T")


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fine("init")


def answer(*words: str) -> Any:
    return json.loads(fine(*words, "-f", "json"))


def wrong(code: int, *words: str) -> str:
    """Returns the error message."""
    result = lochan(*words)
    assert result.exit_code == code, (words, result.output)
    assert result.stderr.startswith("lochan: ")
    assert len(result.stderr.splitlines()) <= 2
    return result.stderr


def on_pool(work: Callable[[Pool], Awaitable[T]], name: str = "logs") -> T:
    """Objects are written past the command line: what is in them does not matter here."""
    store = open_store(str(Path(".lochan").absolute()), {})

    async def opened() -> T:
        lake = await Lake.open(store)
        try:
            repository = await lake.open_repository(name)
            try:
                return await work(Pool(repository))
            finally:
                await repository.close()
        finally:
            await lake.close()

    return asyncio.run(opened())


def loaded(branch: str, *objects: str) -> list[str]:
    return on_pool(lambda pool: pool.load(branch, *objects))


def test_a_pool_is_created_with_all_its_settings_and_shown() -> None:
    made = answer(
        *("create", "logs", "--key", "ts:time:desc", "--key", "client.address", "--time", "seen", "--size", "64MB"),
        *("--primary-key", "id", "--nulls", "first", "--metadata", "team=search", "--default-branch", "trunk"),
    )
    assert made["pool"] == {
        "keys": ["ts:desc", "client.address"],
        "nulls": "first",
        "size": 64_000_000,
        "times": ["ts", "seen"],
        "primary_key": ["id"],
    }
    assert (made["kind"], made["default_branch"], made["metadata"]) == ("pool", "trunk", {"team": "search"})
    assert answer("repo", "show", "logs") == {**made, "read_only": False}
    assert "ts:desc, client.address" in fine("repo", "show", "logs")
    assert fine("create", "any-thing") == "created pool any-thing, sorted by this\n"
    assert [(each["name"], each["kind"]) for each in answer("ls")] == [("any-thing", "pool"), ("logs", "pool")]
    assert [each["name"] for each in answer("ls", "logs")] == ["trunk"]
    fine("repo", "create", "by-kind", "--kind", "pool")
    assert answer("repo", "show", "by-kind")["pool"]["keys"] == ["this"]
    assert "pool" not in answer("repo", "create", "files")


@pytest.mark.parametrize(
    "code, words, message",
    [
        (6, "create logs --key a..b", "a name is missing"),
        (6, "create logs --key a:sideways", "'sideways' was not expected"),
        (6, "create logs --size much", "not a size"),
        (6, "create logs --size 1B", "cannot be made"),
        (6, "create No", "cannot be a pool's name"),
        (4, "create taken", "already"),
        (3, "drop nobody --yes", "no repository 'nobody'"),
        (5, "drop files --yes", "is not a pool"),
        (5, "drop taken", "was not dropped"),
        (3, "rename nobody other", "no repository 'nobody'"),
        (4, "rename taken files", "already"),
        (6, "rename taken No", "cannot be a pool's name"),
        (3, "use nobody", "no repository 'nobody'"),
        (3, "use taken@nowhere", "nowhere"),
        (3, "use", "none is in use"),
        (3, "log", "none is in use"),
        (3, "delete taken abcdef", "no data object 'abcdef'"),
        (6, "delete taken a/b", "not the id of a data object"),
        (5, "delete files abcdef", "holds files, and is no pool"),
        (6, "delete taken abc --meta {", "not JSON"),
        (6, "delete taken abc --meta run", "KEY=VALUE"),
        (6, "delete taken abc --date never", "not a time"),
        (6, "diff taken", "nothing is ever staged"),
        (6, "merge taken@main taken@main", "into itself"),
        (5, "commit taken -m x", "a pool holds rows"),
        (5, "fs upload lochan.yaml taken@main/a", "a pool holds rows"),
        (5, "fs rm taken@main/a", "a pool holds rows"),
        (5, "fs mv taken@main/a taken@main/b", "a pool holds rows"),
        (5, "fs address taken@main/a", "a pool holds rows"),
        (5, "stash push taken", "a pool holds rows"),
        (5, "workspace create taken", "a pool holds rows"),
        (5, "import file:///tmp/ taken@main/x/", "a pool holds rows"),
    ],
)
def test_what_is_refused(code: int, words: str, message: str) -> None:
    Path("lochan.yaml").write_text("user: ann\n")
    fine("create", "taken")
    fine("repo", "create", "files")
    assert message in wrong(code, *words.split())


def test_a_pool_is_renamed_with_all_that_it_holds_and_dropped() -> None:
    fine("create", "logs")
    loaded("main", "a")
    fine("rename", "logs", "events")
    assert wrong(3, "status", "logs")
    assert answer("status", "events")["rows"] == 1
    fine("create", "logs")
    assert answer("status", "logs")["rows"] == 0
    assert fine("drop", "events", "--yes") == "dropped pool events\n"
    assert [each["name"] for each in answer("ls")] == ["logs"]
    assert answer("drop", "logs", "-y") == {"dropped": "logs"}


def test_the_pool_in_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fine("create", "logs")
    fine("create", "other")
    loaded("main", "a")
    assert fine("use", "logs") == "using logs@main\n"
    assert answer("use") == {"pool": "logs", "ref": "main"}
    assert answer("status")["rows"] == 1
    assert [each["message"] for each in answer("log")] == ["load a", "Repository created"]
    assert answer("show")["message"] == "load a"
    fine("branch", "create", "logs@dev")
    fine("use", "logs@dev")
    assert answer("status")["branch"] == "dev"
    monkeypatch.setenv("LOCHAN_POOL", "other")
    assert answer("status")["rows"] == 0
    monkeypatch.setenv("LOCHAN_POOL", "No such")
    assert "LOCHAN_POOL" in wrong(6, "status")
    monkeypatch.delenv("LOCHAN_POOL")
    fine("init", str(tmp_path / "second"))
    assert "none is in use" in wrong(3, "--lake", str(tmp_path / "second"), "status")
    fine("rename", "logs", "gone")
    assert "no repository 'logs'" in wrong(3, "status")
    assert answer("use", "--clear") == {"pool": None, "ref": None}
    assert "none is in use" in wrong(3, "status")


def test_objects_are_shown_compared_and_deleted() -> None:
    fine("create", "logs", "--key", "line")
    one, two = loaded("main", "a b", "c")
    shown = answer("show", "logs")
    assert shown["message"] == "load a b c"
    by_id = {each["id"]: each for each in shown["differences"]}
    assert by_id[one] == {
        "kind": "added",
        "id": one,
        "rows": 2,
        "bytes": 3,
        "min": ["a"],
        "max": ["b"],
        "keyless": 0,
        "shapes": 1,
    }
    assert "a    b" in fine("show", "logs")
    assert answer("status", "logs") | {"head": ""} == {
        "branch": "main",
        "head": "",
        "objects": 2,
        "rows": 3,
        "bytes": 4,
        "min": ["a"],
        "max": ["c"],
        "keyless": 0,
    }
    assert "2 data objects, 3 rows" in fine("status", "logs")
    fine("branch", "create", "logs@dev")
    (three,) = loaded("dev", "d")
    assert [(each["kind"], each["id"]) for each in answer("diff", "logs@main", "logs@dev")] == [("added", three)]
    assert answer("diff", "logs@main", "logs@dev", "--summary") == {
        "objects_added": 1,
        "rows_added": 1,
        "bytes_added": 1,
        "objects_removed": 0,
        "rows_removed": 0,
        "bytes_removed": 0,
    }
    head = answer("delete", "logs@dev", one, "--meta", '{"run": 17, "why": "old"}', "--author", "ann", "-m", "gone")
    commit = answer("show", "logs@dev")
    assert commit["id"] == head["head"]
    assert (commit["author"], commit["message"], commit["metadata"]) == ("ann", "gone", {"run": "17", "why": "old"})
    assert [(each["kind"], each["id"]) for each in commit["differences"]] == [("removed", one)]
    listed = {each["path"] for each in answer("fs", "ls", "logs@dev/")}
    assert listed == {f"{two}.parquet", f"{three}.parquet"}
    assert answer("fs", "stat", f"logs@dev/{two}.parquet")["metadata"] == {}


def test_branches_of_pools_are_merged_reverted_rebased_and_tagged() -> None:
    fine("create", "logs")
    loaded("main", "a", "b")
    fine("branch", "create", "logs@dev")
    loaded("dev", "c")
    loaded("main", "d")
    fine("tag", "create", "logs@v1", "--from", "main")
    assert "would merge" in fine("merge", "logs@dev", "logs@main", "--dry-run")
    fine("merge", "logs@dev", "logs@main")
    assert answer("status", "logs")["rows"] == 4
    assert len(answer("log", "logs")) == 5
    fine("revert", "logs@main", "main", "--parent", "1")
    assert answer("status", "logs")["rows"] == 3
    assert [each["kind"] for each in answer("diff", "logs@v1", "logs@main")] == []
    fine("rebase", "logs@dev", "logs@v1")
    assert answer("status", "logs@dev")["rows"] == 4
    fine("branch", "create", "logs@side", "--from", "v1")
    fine("cherry-pick", "logs@side", "dev")
    assert answer("status", "logs@side")["rows"] == 4


def test_rows_that_both_sides_replaced_are_computed() -> None:
    both_replaced()


def test_rows_are_computed_in_a_bucket(minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket('pools')}/lake")
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    fine("init")
    both_replaced()


def both_replaced() -> None:
    Path("rows.ndjson").write_text("".join(f'{{"k": {k}, "v": {k % 3}}}\n' for k in range(9)))
    fine("create", "logs", "--key", "k", "--primary-key", "k")
    fine("load", "logs", "rows.ndjson")
    fine("branch", "create", "logs@dev")
    fine("delete", "logs@dev", "--where", "v == 0")
    fine("delete", "logs@main", "--where", "v == 1")
    fine("merge", "logs@dev", "logs@main")
    assert [json.loads(line)["k"] for line in fine("query", "from logs", "-f", "ndjson").splitlines()] == [2, 5, 8]
    assert answer("status", "logs")["objects"] == 1


def test_a_pool_is_compacted_once() -> None:
    fine("create", "logs", "--key", "k", "--size", "1MiB")
    for first in range(3):
        Path("rows.ndjson").write_text("".join(f'{{"k": {k}, "v": "{k % 7}"}}\n' for k in range(first, 300, 3)))
        fine("load", "logs", "rows.ndjson")
    fine("branch", "create", "logs@before")
    Path("rows.ndjson").write_text('{"k": 1000}\n{"v": "no key"}\n')
    fine("load", "logs", "rows.ndjson")
    planned = [("overlapping", 3)]
    for words, expected in (
        ("", planned),
        ("--upkeep", []),
        ("--from 500", []),
        ("--to 0", planned),
        ("--up-to before~1", planned),
    ):
        groups = answer("compact", "logs", "--dry-run", *words.split())["groups"]
        assert [(each["why"], each["objects"]) for each in groups] == expected, words
    assert answer("status", "logs")["objects"] == 4
    done = answer("compact", "logs", "-m", "tidy")
    assert (done["before"], done["after"], done["rows"]) == (4, 1, 302)
    assert answer("show", "logs")["message"] == "tidy"
    rows = [json.loads(line) for line in fine("query", "from logs", "-f", "ndjson").splitlines()]
    assert rows == [*({"k": k, "v": str(k % 7)} for k in range(300)), {"k": 1000}, {"v": "no key"}]
    assert answer("status", "logs") | {"head": "", "bytes": 0} == {
        "branch": "main",
        "head": "",
        "bytes": 0,
        "objects": 1,
        "rows": 302,
        "min": [0],
        "max": [1000],
        "keyless": 1,
    }
    assert "all is in order" in wrong(6, "compact", "logs")
    assert "no data object" in wrong(3, "compact", "logs", "abcdef")
    fine("repo", "create", "files")
    assert "is no pool" in wrong(5, "compact", "files")
