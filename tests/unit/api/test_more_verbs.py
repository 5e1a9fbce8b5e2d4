"""Verbs that the command line shares with Python: local files and folders, stashes, protection, imports, upkeep of
pools, jobs, and rights.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.api.upkeep import BranchUpkeep
from lochan.errors import (
    AlreadyExists,
    Invalid,
    LochanError,
    NotFound,
    NothingToDo,
    PathsInTheWay,
    Protected,
    ReadOnly,
    Refused,
)
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    asyncio.run(_made(LocalStore(str(tmp_path / "lake"), create=True)))
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


async def _made(store: LocalStore) -> None:
    await (await OpenLake.create(store)).close()


@pytest.fixture
def shop(lake: lochan.Lake) -> lochan.Repository:
    made = lake.create_repository("shop")
    made.branch().put("a", b"1")
    made.branch().commit("first")
    return made


def test_a_handle_without_a_name_is_the_default_branch(lake: lochan.Lake) -> None:
    made = lake.create_repository("other", default_branch="trunk")
    made.branch().put("a", b"1")
    head = made.branch().commit("first").id
    assert (made.ref().resolve().id, made.branch().show().name, made.branch().show().default) == (head, "trunk", True)
    assert made.create_branch("dev").made_at == made.create_tag("v1").made_at == head
    made.branch("dev").put("b", b"2")
    made.branch("dev").commit("second")
    assert [each.path for each in made.ref().diff("dev")] == ["b"]
    assert made.ref("dev").diff_count("").as_json()["removed"] == 1
    assert repr(made.branch()) == "<Branch other>"


def test_folders_go_up_and_down(shop: lochan.Repository, tmp_path: Path) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    for name in ("x", "sub/y"):
        (tmp_path / "data" / name).write_bytes(name.encode())
    (tmp_path / "data" / "out").symlink_to("/etc/hostname")
    warnings: list[str] = []
    main, sent = shop.branch(), 0

    def count(more: int) -> None:
        nonlocal sent
        sent += more

    done = main.upload(tmp_path / "data", "in", progress=count, report=lambda message, _: warnings.append(message))
    assert (done.objects, done.bytes, sent) == (2, 6, 6)
    assert len(warnings) == 1 and "leads out" in warnings[0]
    assert main.upload(io.BytesIO(b"typed"), "typed").objects == 1
    assert main.upload(tmp_path / "data" / "x", "one/").objects == 1
    assert main.read("one/x") == b"x"
    assert main.download_folder("in/", tmp_path / "back").as_json() == {"objects": 2, "bytes": 6, "skipped": 0}
    assert (tmp_path / "back" / "sub" / "y").read_bytes() == b"sub/y"
    with pytest.raises(AlreadyExists):
        main.download("typed", tmp_path / "back" / "x")
    assert main.download("typed", tmp_path / "back" / "x", force=True).bytes == 5
    main.put("in/../z", b"outside")
    assert main.download_folder("in/", tmp_path / "again").skipped == 1
    with pytest.raises(NotFound, match="no file"):
        main.upload(tmp_path / "nowhere")


def test_stashes(shop: lochan.Repository) -> None:
    main = shop.branch()
    with pytest.raises(NothingToDo):
        main.stash()
    main.put("b", b"2")
    assert main.status_table().to_pylist() == [{"path": "b", "kind": "added", "size": 1}]
    id = main.stash("for later")
    assert [(each.id, each.changes, each.message) for each in shop.stashes()] == [(id, 1, "for later")]
    assert list(main.status()) == []
    assert main.pop_stash().id == id
    assert main.status_count().added == 1
    assert main.drop_stash(main.stash()) and list(shop.stashes()) == []


def test_branches_are_protected_and_a_repository_is_closed(shop: lochan.Repository) -> None:
    assert shop.protect("ma*", ["stage"])[0].as_json() == {
        "pattern": "ma*",
        "blocked": ["stage"],
        "mergers": [],
        "linear": False,
        "pull": False,
        "approvals": 0,
        "checks": [],
        "keep_stale": False,
    }
    with pytest.raises(Protected):
        shop.branch().put("b", b"2")
    assert shop.unprotect("ma*") == shop.protections() == []
    shop.set_read_only()
    assert shop.is_read_only()
    with pytest.raises(ReadOnly):
        shop.branch().put("b", b"2")
    shop.set_read_only(False)
    shop.branch().put("b", b"2")


def test_a_repository_is_described(shop: lochan.Repository) -> None:
    assert shop.set_metadata({"team": "search", "owner": "ada"}) == {"owner": "ada", "team": "search"}
    assert shop.set_metadata({"team": "shop"}, ["owner", "none"], key="once") == {"team": "shop"}
    shop.set_metadata({"owner": "bob"})
    assert shop.set_metadata({"team": "shop"}, ["owner", "none"], key="once") == {"owner": "bob", "team": "shop"}
    for wrong in ({"a": "\0"}, {"\0": "a"}):
        with pytest.raises(Invalid):
            shop.set_metadata(wrong)
    with pytest.raises(Invalid, match="set and removed at once"):
        shop.set_metadata({"a": "b"}, ["a"])


def test_a_dry_run_merge_lists_its_conflicts(shop: lochan.Repository) -> None:
    main, dev = shop.branch(), shop.create_branch("dev")
    for branch, text in ((main, b"ours"), (dev, b"theirs, longer")):
        branch.put("a", text)
        branch.commit("another a")
    assert main.try_merge(dev, strategy="source-wins").changed == 1
    with pytest.raises(PathsInTheWay):
        main.try_merge(dev)
    assert main.read("a") == b"ours"
    main.put("b", b"staged")
    merged = main.merge(dev, strategy="source-wins", commit_staged="first what was staged")
    assert main.read("a") == b"theirs, longer"
    assert [each.message for each in main.log(first_parent=True)][1] == "first what was staged"
    assert [each.matches for each in main.log_graph(grep="staged")].count(True) == 1
    assert [(each.path, each.commit.message) for each in main.blame_folder("")] == [
        ("a", "another a"),
        ("b", "first what was staged"),
    ]
    assert merged.parents[1] == dev.resolve().id
    assert [each.id for each in shop.merge_bases("main", "dev")] == [dev.resolve().id]


def test_the_commit_that_broke_it_is_found(shop: lochan.Repository) -> None:
    main = shop.branch()
    ids = [main.resolve().id]
    for number in range(8):
        main.put("n", str(number))
        ids.append(main.commit(f"number {number}").id)
    good, bad = [ids[0]], ids[-1]
    while (step := shop.bisect(good, bad)).test is not None:
        if ids.index(step.test.id) < 5:
            good.append(step.test.id)
        else:
            bad = step.test.id
    assert [each.id for each in step.found] == [ids[5]]


def test_files_outside_are_imported_and_followed(shop: lochan.Repository, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_bytes(b"x")
    source = lochan.ImportSource(f"file://{tmp_path}/in", "in/")
    main = shop.branch()
    assert main.try_import([source]).as_json() == {"commit": None, "added": 1, "changed": 0, "removed": 0, "bytes": 1}
    assert main.import_files([source], lochan.CommitOptions(message="in")).commit == main.resolve().id
    (tmp_path / "in" / "y").write_bytes(b"yy")
    assert [(each.path, each.kind, each.after) for each in main.ingest_diff(source)] == [("in/y", "added", 2)]
    assert main.ingest(source).added == 1
    assert main.link("linked", f"file://{tmp_path}/in/y").size == 2
    assert main.read("linked") == b"yy"
    given = main.address("put")
    Path(given.url.removeprefix("file://")).parent.mkdir(parents=True, exist_ok=True)
    Path(given.url.removeprefix("file://")).write_bytes(b"by another")
    assert main.link_address("put", given.token).size == 10
    assert main.details("put").blocks[0].size == 10


def test_single_files_are_imported(shop: lochan.Repository, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("x", "x.csv", "100% é"):
        (tmp_path / "in" / name).write_text(name)
    url, main = f"file://{tmp_path}/in", shop.branch()
    sources = [
        lochan.ImportSource(f"{url}/x", "one/a", file=True),
        lochan.ImportSource(f"{url}/100%25 é", "odd", file=True),
        lochan.ImportSource(url, "all/"),
    ]
    assert main.import_files(sources, lochan.CommitOptions(message="in")).added == 5
    brought = ["all/100% é", "all/x", "all/x.csv", "odd", "one/a"]
    assert [path for path in (each.path for each in main.list()) if path in brought] == brought
    assert (main.read("one/a"), main.read("odd").decode()) == (b"x", "100% é")
    before = main.resolve().id
    refused = {
        f"{url}/none": NotFound,
        f"{url}/x/": Invalid,
        url: LochanError,  # a folder
        shop_file(shop): Refused,
    }
    for each, error in refused.items():
        with pytest.raises(error):
            main.import_files([lochan.ImportSource(each, "x", file=True)])
    with pytest.raises(Invalid, match="inventory"):
        main.import_files([lochan.ImportSource(f"{url}/x", "x", f"{url}/list.parquet", file=True)])
    with pytest.raises(Invalid, match="one file"):  # it would remove whatever else begins with `one/a`
        main.ingest(lochan.ImportSource(f"{url}/x", "one/a", file=True))
    with pytest.raises(LochanError):  # two files at one path
        main.import_files([lochan.ImportSource(f"{url}/{name}", "x", file=True) for name in ("x", "x.csv")])
    assert main.resolve().id == before


def shop_file(shop: lochan.Repository) -> str:
    """The URL of a file of the lake itself."""
    return shop.branch().address("x").url.rpartition("/data/")[0].rpartition("/")[0] + "/lake.json"


def test_a_workspace_says_what_it_changes(shop: lochan.Repository) -> None:
    work = shop.branch().workspace("try")
    work.put("b", b"2")
    work.delete("a")
    assert [(each.path, each.kind, each.added) for each in work.changes()] == [
        ("a", "removed", False),
        ("b", "added", False),
    ]
    assert [each.path for each in work.changes(after="a")] == ["b"]
    assert [each.path for each in work.changes(after="b")] == []
    assert work.add("b") == work.show().added == ("b",)
    assert work.revert("a") == 1
    assert work.commit("added only", added=True).message == "added only"
    assert [each.path for each in shop.ref().list()] == ["a", "b"]


@pytest.mark.thorough
def test_files_are_loaded_and_a_pool_is_kept_in_order(lake: lochan.Lake, tmp_path: Path) -> None:
    for number in range(3):
        rows = [{"ts": f"2026-11-0{number + 1}T10:00:00Z", "n": number}]
        (tmp_path / f"{number}.ndjson").write_text("".join(map(json.dumps, rows)) + "\n")
    logs = lake.pool("logs")
    first = lake.load_sources([tmp_path / "0.ndjson"])
    with pytest.raises(NotFound, match="there is no pool"):
        logs.load_files(first)
    made = logs.load_files(first, lochan.LoadOptions(create=True))
    assert "sorted by ts" in made.note and made.rows == len(made.objects) == 1
    logs.load_files(lake.load_sources([tmp_path / "[12].ndjson"]))
    logs.load_files(lake.load_sources([io.BytesIO(b'{"ts": "2026-11-09T10:00:00Z", "n": 9}\n')]))
    assert logs.load_engine(first) == "duckdb"
    found = logs.summary()
    assert (found.rows, found.min, logs.fields()) == (4, ["2026-11-01T10:00:00Z"], ["ts", "n"])
    assert len(logs.try_compact()) == 1
    assert logs.compact(lochan.CompactOptions()).after == 1
    assert logs.delete_rows("n == 9").rows == 1
    assert any(isinstance(each, BranchUpkeep) for each in lake.upkeep(pools=["logs"]))
    plan = lake.explain("from logs | n > 0")
    assert plan["engine"] == "duckdb" and plan["sources"][0]["rows_read"] == 3
    info = logs.show().pool
    assert info is not None and info.keys == ("ts",) and info.first_key_is_time
    kinds = [each["kind"] for each in logs.ref("main~1").diff_objects("main")]
    assert sorted(kinds) == ["added", "removed"]
    assert [each for each in lake.jobs() if "logs" in each.about] == []
    with pytest.raises(NotFound):
        lake.job("x")
    with pytest.raises(Refused, match="pool"):
        logs.branch().put("x", b"")
    with pytest.raises(Refused, match="is no pool"):
        lake.create_repository("files")
        lake.pool("files").summary()


def test_access(lake: lochan.Lake) -> None:
    access = lake.access
    others = {each.name for each in access.users()}  # a server has an administrator, and may have been asked for more
    assert access.create_user("ada").policies == ()
    with pytest.raises(Invalid):
        access.put_policy("readers", b"[", source="readers.json")
    known = {each.name for each in access.policies()}
    assert "Admin" in known and len(access.actions()) > 10
    assert access.attach("Admin", "ada") == ("Admin",)
    assert access.can("ada", "fs:ReadObject", "repository/shop/branch/main/object/a").allowed
    made = access.create_key("ada")
    assert made.secret_access_key not in repr(made)
    assert [each.access_key_id for each in access.keys("ada")] == [made.access_key_id]
    assert access.key(made.access_key_id).user == access.user("ada").name == "ada"
    access.revoke_key(made.access_key_id)
    access.create_user("bob")
    access.attach("Admin", "bob")
    assert access.detach("Admin", "ada") == ()
    assert not access.can("ada", "fs:ReadObject", "repository/shop/branch/main/object/a").allowed
    access.delete_user("ada")
    assert {each.name for each in access.users()} - others == {"bob"}


def test_hidden_branches_are_in_no_list(shop: lochan.Repository, lake: lochan.Lake) -> None:
    hidden = shop.create_branch("tx-1", hidden=True)
    shop.create_branch("dev", hidden)
    assert [each.name for each in shop.branches()] == ["dev", "main"]
    assert [(each.name, each.hidden) for each in shop.branches(show_hidden=True)] == [
        *(("dev", False), ("main", False), ("tx-1", True))
    ]
    assert [each.name for each in shop.branches("t")] == []
    assert [each.name for each in shop.branches("t", show_hidden=True)] == ["tx-1"]
    assert [each.name for each in shop.compare_branches()] == ["dev", "main"]
    assert hidden.read("a") == b"1", "it is a branch like any other"
    hidden.put("b", b"2")
    hidden.commit("on it")
    assert hidden.rename("tx-2").show().hidden
    shop.delete_branch("tx-2")
    assert shop.restore_branch("tx-2").show().hidden


def test_a_read_only_repository_is_deleted_by_force_alone(shop: lochan.Repository, lake: lochan.Lake) -> None:
    shop.set_read_only()
    with pytest.raises(ReadOnly):
        shop.delete()
    assert shop.branch().read("a") == b"1"
    shop.delete(force=True)
    with pytest.raises(NotFound):
        shop.show()
    lake.restore_repository("shop")
    assert lake.repository("shop").is_read_only()
    lake.repository("shop").set_read_only(False)


def test_one_tag_and_lists_that_begin_behind_a_name(shop: lochan.Repository, lake: lochan.Lake) -> None:
    for name in ("v1", "v10", "v2"):
        shop.create_tag(name)
    assert (shop.show_tag("v10").name, shop.show_tag("v10").commit) == ("v10", shop.ref("v10").resolve().id)
    with pytest.raises(NotFound, match="no tag 'v3'"):
        shop.show_tag("v3")
    with pytest.raises(NotFound, match="no tag 'main'"):
        shop.show_tag("main")
    for name in ("shop-2", "shop-3", "store"):
        lake.create_repository(name)
    assert [each.name for each in lake.repositories("shop")] == ["shop", "shop-2", "shop-3"]
    assert [each.name for each in lake.repositories("shop", "shop-2")] == ["shop-3"]


def test_a_log_goes_on_after_a_commit(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    for number in range(5):
        main.put("a", b"%d" % number)
        main.commit(str(number))
    whole = list(main.log())
    assert list(main.log(after=whole[2].id)) == whole[3:]
    assert list(main.log(after=whole[-1].id)) == []
    assert [each.generation for each in whole] == [*range(len(whole) - 1, -1, -1)]
    with pytest.raises(Invalid, match="no commit in the history of main"):
        list(main.log(after="f" * 64))


def test_differences_behind_a_path(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    paths = ["a", "a/b", "a0", "b", "z", "ü", "\U0001f600"]
    for path in paths:
        main.put(path, b"new")
    for after in ("", "a", "a/", "a/b", "c", "z", "\U0001f600"):
        assert [each.path for each in main.status(after=after)] == [each for each in paths if each > after]
    main.commit("all")
    for after in ("", "a", "a/", "a/b", "c", "z", "\U0001f600"):
        behind = [each for each in paths if each > after]
        assert [each.path for each in shop.ref("main~1").diff("main", after=after)] == behind
        assert [each.path for each in shop.ref("main~1").diff("main", prefix="a", after=after)] == [
            each for each in behind if each.startswith("a")
        ]
