"""Objects as files of fsspec: what programs that know files expect."""

from __future__ import annotations

import errno
import io
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest

import lochan
from lochan.fsspec import LochanFileSystem


@pytest.fixture
def fs(address: dict[str, Any], shop: lochan.Repository) -> LochanFileSystem:
    return LochanFileSystem(**address)


def messages(shop: lochan.Repository) -> list[str]:
    return [each.message for each in shop.branch("main").log()]


def test_lists_from_the_lake_down(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    shop.create_tag("v1", "main")
    assert fs.ls("", detail=False) == ["shop"]
    assert fs.ls("lochan://shop", detail=False) == ["shop/main", "shop/v1"]
    assert fs.ls("shop/main", detail=False) == ["shop/main/README.md", "shop/main/raw"]
    (found,) = fs.ls("shop/v1/raw")
    assert (found["name"], found["size"], found["type"]) == ("shop/v1/raw/fruit.csv", 15, "file")
    assert fs.ls("shop/main/README.md", detail=False) == ["shop/main/README.md"]
    assert [fs.info(path)["type"] for path in ("", "shop", "shop/main", "shop/main/raw", "shop/main/raw/")] == [
        "directory"
    ] * 5
    assert fs.info("shop/main/README.md")["etag"] == fs.checksum("shop/main/README.md")
    assert fs.exists("shop/main/raw") and not fs.exists("shop/main/ra") and not fs.exists("shop/dev")
    assert fs.isfile("shop/main/README.md") and fs.isdir("shop/main/raw")
    assert fs.modified("shop/main/README.md").tzinfo is not None


def test_globs_and_walks(fs: LochanFileSystem) -> None:
    for name in ("a/1.csv", "a/b/2.csv", "a/b/3.txt"):
        fs.pipe(f"shop/main/{name}", b"x")
    assert fs.glob("shop/main/a/*.csv") == ["shop/main/a/1.csv"]
    assert fs.glob("shop/main/**/*.csv") == [
        "shop/main/a/1.csv",
        "shop/main/a/b/2.csv",
        "shop/main/raw/fruit.csv",
    ]
    assert fs.glob("shop/*/README.md") == ["shop/main/README.md"]
    assert fs.glob("shop/main/a/*") == ["shop/main/a/1.csv", "shop/main/a/b"]
    assert fs.find("shop/main/a") == ["shop/main/a/1.csv", "shop/main/a/b/2.csv", "shop/main/a/b/3.txt"]
    assert fs.find("shop/main/a", maxdepth=1) == ["shop/main/a/1.csv"]
    assert list(fs.find("shop/main/a", withdirs=True, detail=True)) == [
        "shop/main/a",
        "shop/main/a/1.csv",
        "shop/main/a/b",
        "shop/main/a/b/2.csv",
        "shop/main/a/b/3.txt",
    ]
    assert fs.find("shop/main/a/1.csv") == ["shop/main/a/1.csv"]
    assert fs.find("shop/main/none") == []
    assert [(at, sorted(folders), sorted(files)) for at, folders, files in fs.walk("shop/main/a")] == [
        ("shop/main/a", ["b"], ["1.csv"]),
        ("shop/main/a/b", [], ["2.csv", "3.txt"]),
    ]
    assert fs.du("shop/main/a") == 3


def test_reads_anywhere_through_a_cache_of_blocks(fs: LochanFileSystem) -> None:
    data = bytes(range(256)) * 1000
    fs.pipe("shop/main/big.bin", data)
    with fs.open("shop/main/big.bin", block_size=1000) as file:
        assert file.read(5) == data[:5]
        assert file.seek(-7, io.SEEK_END) == len(data) - 7 and file.read() == data[-7:]
        file.seek(123_456)
        assert file.read(2_000) == data[123_456:125_456]
        file.seek(0)
        assert file.read() == data
    fs.pipe("shop/main/big.bin", b"another one")
    assert fs.cat_file("shop/main/big.bin", -3) == b"one"
    assert fs.cat_file("shop/main/big.bin", 2, -4) == b"other "[:5]
    assert fs.cat_file("shop/main/big.bin", 50) == b""
    assert fs.head("shop/main/big.bin", 3) == b"ano" and fs.tail("shop/main/big.bin", 3) == b"one"
    assert fs.cat_ranges(["shop/main/big.bin"] * 2, [0, 1], [2, 3]) == [b"an", b"no"]
    with fs.open("lochan://shop/main/raw/fruit.csv", "r") as lines:
        assert [line.rstrip() for line in lines] == ["id,name", "1,pear"]


def test_what_is_open_is_never_mixed_with_what_comes_to_its_path(fs: LochanFileSystem) -> None:
    data = bytes(range(256)) * 1000
    fs.pipe("shop/main/big.bin", data)
    with fs.open("shop/main/big.bin", block_size=1000) as file:
        assert file.read(5) == data[:5]
        fs.pipe("shop/main/big.bin", b"another one" * 50_000)
        try:
            file.seek(100_000)
            assert file.read() == data[100_000:]
        except OSError as error:  # from a server
            assert error.errno == errno.ESTALE


@pytest.mark.parametrize("size", [0, 10, 2_500, 1_000_000])
def test_writes_in_pieces(fs: LochanFileSystem, size: int) -> None:
    data = bytes(index % 251 for index in range(size))
    with fs.open("shop/main/x.bin", "wb", block_size=1_000, content_type="image/png") as file:
        for start in range(0, size, 777):
            file.write(data[start : start + 777])
        assert not fs.exists("shop/main/x.bin"), "there is never half of a file"
    assert fs.cat("shop/main/x.bin") == data
    assert fs.info("shop/main/x.bin")["content_type"] == "image/png"


def test_a_folder_signs_no_urls(place: Path, fs: LochanFileSystem) -> None:
    with pytest.raises(NotImplementedError):
        fs.sign("shop/main/README.md")
    with pytest.raises(FileNotFoundError):
        fs.sign("shop/main/none")


def test_two_files_are_written_at_once_by_one_thread(fs: LochanFileSystem) -> None:
    with fs.open("shop/main/a", "wb", block_size=10) as a, fs.open("shop/main/b", "wb", block_size=10) as b:
        for _ in range(50):
            a.write(b"a" * 11)
            b.write(b"b" * 11)
    assert fs.cat("shop/main/a") == b"a" * 550 and fs.cat("shop/main/b") == b"b" * 550


@pytest.mark.parametrize("size", [5, 5_000])
def test_a_block_that_raises_leaves_nothing(fs: LochanFileSystem, size: int) -> None:
    with pytest.raises(ZeroDivisionError), fs.open("shop/main/half.bin", "wb", block_size=1_000) as file:
        file.write(b"x" * size)
        raise ZeroDivisionError
    assert not fs.exists("shop/main/half.bin")
    file = fs.open("shop/main/half.bin", "wb", block_size=1_000)
    file.write(b"x" * size)
    del file  # nobody has closed it
    assert not fs.exists("shop/main/half.bin")
    assert not [each for each in threading.enumerate() if each.name.startswith("lochan put")]


def test_appends_and_refuses_what_exists(fs: LochanFileSystem) -> None:
    with fs.open("shop/main/README.md", "ab") as file:
        file.write(b"more\n")
    assert fs.cat("shop/main/README.md") == b"# Shop\nmore\n"
    with fs.open("shop/main/new.md", "ab") as file:
        file.write(b"new")
    assert fs.cat("shop/main/new.md") == b"new"
    with pytest.raises(FileExistsError), fs.open("shop/main/new.md", "xb") as file:
        file.write(b"again")
    with pytest.raises(FileExistsError):
        fs.pipe_file("shop/main/new.md", b"again", mode="create")
    fs.touch("shop/main/empty")
    assert fs.size("shop/main/empty") == 0
    with pytest.raises(NotImplementedError):
        fs.touch("shop/main/new.md", truncate=False)


def test_puts_and_gets_folders(fs: LochanFileSystem, tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("a")
    (tmp_path / "in" / "deep" / "b.txt").write_text("b")
    fs.put(str(tmp_path / "in"), "shop/main/in", recursive=True)
    assert fs.find("shop/main/in") == ["shop/main/in/a.txt", "shop/main/in/deep/b.txt"]
    fs.get("shop/main/in", str(tmp_path / "out"), recursive=True)
    assert (tmp_path / "out" / "deep" / "b.txt").read_text() == "b"
    fs.get("shop/main/in/a.txt", str(tmp_path / "new" / "a.txt"))
    assert (tmp_path / "new" / "a.txt").read_text() == "a"
    into = io.BytesIO()
    fs.get_file("shop/main/in/a.txt", into)
    assert into.getvalue() == b"a"


def test_removes_copies_and_moves(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    fs.pipe({"shop/main/f/1": b"1", "shop/main/f/deep/2": b"2"})
    fs.cp("shop/main/f", "shop/main/h", recursive=True)
    assert fs.find("shop/main/h") == ["shop/main/h/1", "shop/main/h/deep/2"]
    fs.cp("shop/main/f/1", "shop/main/one")
    fs.mv("shop/main/f", "shop/main/moved", recursive=True)
    assert fs.find("shop/main/moved") == ["shop/main/moved/1", "shop/main/moved/deep/2"] and not fs.exists(
        "shop/main/f"
    )
    fs.mv("shop/main/one", "shop/main/moved/")  # into the folder
    assert fs.cat("shop/main/moved/one") == b"1"
    fs.mv("shop/main/moved/one", "shop/main/uno")
    assert fs.cat("shop/main/uno") == b"1"
    shop.create_branch("dev", "main")
    fs.cp("shop/main/uno", "shop/dev/uno")
    fs.mv("shop/dev/uno", "shop/main/due")
    assert not fs.exists("shop/dev/uno") and fs.cat("shop/main/due") == b"1"
    with pytest.raises(IsADirectoryError):
        fs.rm("shop/main/moved")
    fs.rm("shop/main/moved", recursive=True)
    fs.rm("shop/main/h/?")  # no folder matches
    fs.rm(["shop/main/uno", "shop/main/due"])
    assert fs.find("shop/main") == ["shop/main/README.md", "shop/main/h/deep/2", "shop/main/raw/fruit.csv"]


def test_a_whole_ref_is_not_removed_by_mistake(fs: LochanFileSystem) -> None:
    for path in ("shop/main", "shop", ""):
        with pytest.raises(IsADirectoryError):
            fs.rm(path, recursive=True)
    assert fs.exists("shop/main/README.md")


NOT_THERE: dict[str, Callable[[LochanFileSystem], Any]] = {
    "read": lambda fs: fs.cat_file("shop/main/none"),
    "open": lambda fs: fs.open("shop/main/none"),
    "info": lambda fs: fs.info("shop/main/none"),
    "ls": lambda fs: fs.ls("shop/main/none"),
    "ls of a ref": lambda fs: fs.ls("shop/none"),
    "ls of a repository": lambda fs: fs.ls("none"),
    "rm": lambda fs: fs.rm("shop/main/none"),
    "cp": lambda fs: fs.cp_file("shop/main/none", "shop/main/x"),
    "mv": lambda fs: fs.mv("shop/main/none", "shop/main/x"),
    "write": lambda fs: fs.pipe_file("shop/none/x", b""),
    "commit": lambda fs: fs.commit("shop/none", "x"),
    "another repository": lambda fs: fs.cat_file("none/main/x"),
}


@pytest.mark.parametrize("act", NOT_THERE.values(), ids=NOT_THERE)
def test_what_is_not_there(fs: LochanFileSystem, act: Callable[[LochanFileSystem], Any]) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        act(fs)
    assert isinstance(raised.value.__cause__, lochan.LochanError)


def test_what_is_refused(fs: LochanFileSystem, shop: lochan.Repository, tmp_path: Path) -> None:
    shop.create_tag("v1", "main")
    shop.protect("main", ["stage"])
    with pytest.raises(PermissionError):
        fs.pipe_file("shop/main/x", b"")
    with pytest.raises(OSError):  # a tag cannot be written
        fs.pipe_file("shop/v1/x", b"")
    with pytest.raises(OSError) as raised:
        fs.commit("shop/main/raw", "x")
    assert raised.value.errno == errno.EINVAL
    for path in ("", "shop", "shop/main"):
        with pytest.raises(IsADirectoryError):
            fs.open(path)
    with pytest.raises(OSError, match="no lake at"):
        LochanFileSystem(tmp_path / "nowhere").ls("")
    with pytest.raises(TypeError, match="no storage option lak"):
        LochanFileSystem(lak="x")


def test_what_is_written_is_staged_until_it_is_committed(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    fs.pipe("shop/main/x", b"1")
    assert [each.path for each in shop.branch("main").status()] == ["x"]
    assert fs.commit("shop/main", "x", {"run": "7"}).metadata == {"run": "7"}
    assert messages(shop)[0] == "x"


def test_a_transaction_is_one_commit(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    main = shop.branch("main")
    main.put("of another", b"staged by somebody else")
    with fs.transaction("new prices", {"run": "7"}) as tx:
        fs.pipe("shop/main/prices.csv", b"1")
        with fs.open("shop/main/late.csv", "wb") as file:
            file.write(b"2")
        fs.rm("shop/main/raw", recursive=True)
        fs.cp("shop/main/README.md", "shop/main/COPY.md")
        fs.mv("shop/main/README.md", "shop/main/READ.md")
        assert fs.cat("shop/main/prices.csv") == b"1", "it reads what it has written"
        assert fs.find("shop/main") == [
            "shop/main/COPY.md",
            "shop/main/READ.md",
            "shop/main/late.csv",
            "shop/main/prices.csv",
        ]
        assert [each.path for each in main.list()] == ["README.md", "of another", "raw/fruit.csv"], "others do not"
    assert tx.commit is not None and tx.commit.message == "new prices" and tx.commit.metadata == {"run": "7"}
    assert messages(shop) == ["new prices", "first data", "Repository created"]
    assert [each.path for each in main.status()] == ["of another"], "and does not commit what others have staged"
    assert [each.path for each in shop.ref(tx.commit.id).list()] == ["COPY.md", "READ.md", "late.csv", "prices.csv"]
    assert not list(shop.workspaces())


def test_a_transaction_that_raises_is_nothing(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    with pytest.raises(ZeroDivisionError), fs.transaction:
        fs.pipe("shop/main/x", b"1")
        fs.open("shop/main/y", "wb").write(b"2")
        raise ZeroDivisionError
    assert not fs.exists("shop/main/x") and not list(shop.workspaces()) and len(messages(shop)) == 2
    fs.pipe("shop/main/x", b"1")  # and the next write is none of a transaction
    assert [each.path for each in shop.branch("main").status()] == ["x"]


def test_a_transaction_without_writes_makes_no_commit(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    with fs.transaction as tx:
        assert fs.cat("shop/main/README.md") == b"# Shop\n"
    assert tx.commit is None and len(messages(shop)) == 2 and not list(shop.workspaces())


def test_a_transaction_has_one_branch(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    shop.create_branch("dev", "main")
    with pytest.raises(OSError, match="one commit on one branch"), fs.transaction:
        fs.pipe("shop/main/x", b"1")
        fs.pipe("shop/dev/x", b"1")
    assert not fs.exists("shop/main/x") and not list(shop.workspaces())


def test_a_transaction_that_loses_a_race_says_so(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    with pytest.raises(OSError) as raised, fs.transaction:
        fs.pipe("shop/main/README.md", b"mine")
        shop.branch("main").put("README.md", b"theirs")
        shop.branch("main").commit("they were first")
    assert raised.value.errno == errno.EBUSY
    assert fs.cat("shop/main/README.md") == b"theirs" and not list(shop.workspaces())


def test_start_and_end(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    fs.start_transaction()
    fs.pipe("shop/main/x", b"1")
    fs.end_transaction()
    assert messages(shop)[0] == "Write files"


def test_a_workspace_is_a_ref(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    workspace = shop.branch("main").workspace("by hand")
    fs.pipe(f"shop/{workspace.name}/x", b"1")
    assert fs.cat(f"shop/{workspace.name}/README.md") == b"# Shop\n", "it sees the branch below"
    assert fs.find(f"shop/{workspace.name}", withdirs=False)[-1] == f"shop/{workspace.name}/x"
    assert not fs.exists("shop/main/x")
    workspace.commit("by hand")
    assert fs.cat("shop/main/x") == b"1"
    with pytest.raises(OSError, match="committed"):
        fs.pipe(f"shop/{workspace.name}/y", b"1")


def test_other_refs_are_read(fs: LochanFileSystem, shop: lochan.Repository) -> None:
    fs.pipe("shop/main/README.md", b"new")
    head = fs.commit("shop/main", "new").id
    assert fs.cat("shop/main~1/README.md") == b"# Shop\n"
    assert fs.cat(f"shop/{head[:12]}/README.md") == b"new"


def test_it_is_found_by_its_protocol(address: dict[str, str], shop: lochan.Repository) -> None:
    with fsspec.open("lochan://shop/main/README.md", **address) as file:
        assert file.read() == b"# Shop\n"
    fs, path = fsspec.url_to_fs("lochan://shop/main/README.md", **address)
    assert (type(fs), path) == (LochanFileSystem, "shop/main/README.md")
    assert fs.unstrip_protocol(path) == "lochan://shop/main/README.md"
    assert fsspec.get_mapper("lochan://shop/main", **address)["README.md"] == b"# Shop\n"


def test_the_lake_is_found_as_the_command_line_finds_it(
    place: Path, shop: lochan.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", str(place))
    assert fsspec.filesystem("lochan").ls("", detail=False) == ["shop"]


def test_lakefs_is_an_alias_on_request(address: dict[str, str], shop: lochan.Repository) -> None:
    from fsspec.registry import _registry

    with pytest.raises(ImportError, match="lakefs-spec"):  # which fsspec knows by itself
        fsspec.filesystem("lakefs")
    lochan.fsspec.register("lakefs")
    try:
        with fsspec.open("lakefs://shop/main/README.md", **address) as file:
            assert file.read() == b"# Shop\n"
        lochan.fsspec.register("lakefs")  # once more
        _registry["lakefs"] = fsspec.get_filesystem_class("memory")  # as if another package served it
        with pytest.raises(ValueError, match="served by fsspec"):
            lochan.fsspec.register("lakefs")
        lochan.fsspec.register("lakefs", replace=True)
        assert fsspec.get_filesystem_class("lakefs") is LochanFileSystem
    finally:
        _registry.pop("lakefs", None)
    with pytest.raises(ValueError, match="cannot name a lake"):
        lochan.fsspec.register("s3")


def test_it_is_pickled(fs: LochanFileSystem) -> None:
    assert pickle.loads(pickle.dumps(fs)).cat("shop/main/README.md") == b"# Shop\n"
    with fs.open("shop/main/README.md") as file:
        file.read(2)
        sent = pickle.dumps(file)
        assert pickle.loads(sent).read() == b"Shop\n"
    fs.pipe("shop/main/README.md", b"another")
    with pytest.raises(OSError, match="was replaced"):
        pickle.loads(sent)


def test_threads_share_one_connection(address: dict[str, str], shop: lochan.Repository) -> None:
    def work(number: int) -> tuple[bytes, int]:
        fs = fsspec.filesystem("lochan", **address)
        fs.pipe(f"shop/main/{number}", str(number).encode())
        return fs.cat(f"shop/main/{number}"), id(fs.lake)

    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(work, range(12)))
    assert [each for each, _ in done] == [str(number).encode() for number in range(12)]
    assert len({lake for _, lake in done}) == 1
