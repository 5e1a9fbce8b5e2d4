"""Exports: plain files with checked bytes, nothing outside the destination, and an end that says so."""

from pathlib import Path

import pytest

from lochan.api.export import ExportRequest, export
from lochan.api.options import EngineOptions
from lochan.api.session import Session
from lochan.errors import LochanError, Refused
from lochan.lake import Lake, LakeOptions
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from lochan.versioning import objects
from lochan.versioning.exports import FolderTarget
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.versioning.test_import import ANN, once


class World:
    def __init__(self) -> None:
        self.bucket = MemoryStore()

    def open(self, url: str) -> Store:
        return LocalStore("/") if url == "file:///" else self.bucket

    async def lake(self) -> tuple[Session, OpenRepository]:
        lake = await Lake.create(MemoryStore(), world=LakeOptions(self.open))
        await lake.create_repository("demo-repo", actor=ANN)
        return Session(lake, ANN), await lake.open_repository("demo-repo")


async def commit_of(repository: OpenRepository, files: dict[str, bytes], deleted: tuple[str, ...] = ()) -> str:
    for path, data in files.items():
        await objects.put(repository, "main", path, once(data), actor=ANN)
    if deleted:
        await objects.delete(repository, "main", list(deleted), actor=ANN)
    return (await commit(repository, "main", CommitRequest("c"), actor=ANN))[0]


async def exported(
    at: tuple[Session, OpenRepository], commit: str, url: str, prefix: str = "", since: str = "", delete: bool = False
) -> object:
    request = ExportRequest("demo-repo", commit, since, prefix, url, delete)
    return await export(*at, request, EngineOptions(), lambda _: None)


def files_in(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found if not each.name.startswith("part-")}


def test_what_was_removed_goes_only_on_request(tmp_path: Path) -> None:
    async def play() -> None:
        at = await World().lake()
        first = await commit_of(at[1], {"d/a": b"1", "d/sub/b": b"2", "other": b"3"})
        second = await commit_of(at[1], {"d/a": b"new"}, ("d/sub/b",))
        out, url = tmp_path / "out", f"file://{tmp_path}/out"
        await exported(at, first, url, "d/")
        assert files_in(out).keys() == {"a", "sub/b", "_SUCCESS"}
        (out / "mine").write_text("stays")
        await exported(at, second, url, "d/", since=first)
        assert files_in(out)["a"] == b"new"
        assert (out / "sub" / "b").exists()
        await exported(at, second, url, "d/", since=first, delete=True)
        assert files_in(out).keys() == {"a", "mine", "_SUCCESS"}
        assert not (out / "sub").exists()
        await at[1].close()

    run(play())


def test_an_interrupted_export_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        at = await World().lake()
        head = await commit_of(at[1], {f"{number:03d}": b"x" * number for number in range(1, 40)})
        url, written = f"file://{tmp_path}/out", list[str]()
        original = FolderTarget.write

        async def failing(self: FolderTarget, name: str, *rest: object) -> None:
            if len(written) == 20:
                raise Refused("the disk is full")
            written.append(name)
            await original(self, name, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(FolderTarget, "write", failing)
        with pytest.raises(Refused, match="the disk is full"):
            await exported(at, head, url)
        assert not (tmp_path / "out" / "_SUCCESS").exists()
        monkeypatch.setattr(FolderTarget, "write", original)
        done = await exported(at, head, url)
        assert done.files == 39  # type: ignore[attr-defined]
        assert 1 <= done.present <= len(written)  # type: ignore[attr-defined]
        assert files_in(tmp_path / "out")["039"] == b"x" * 39
        assert not list((tmp_path / "out").glob(".lochan-part*"))
        await at[1].close()

    run(play())


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "a//b", "a/./b", "a\x07b", "_SUCCESS", "_manifest/x"])
def test_a_path_that_would_be_no_file_there_is_refused_by_name(path: str, tmp_path: Path) -> None:
    async def play() -> None:
        at = await World().lake()
        try:
            head = await commit_of(at[1], {path: b"x", "good": b"y"})
        except LochanError:
            pytest.skip("no such object can be made")
        with pytest.raises(Refused, match="cannot be files of an export"):
            await exported(at, head, f"file://{tmp_path}/out")
        assert files_in(tmp_path) == {}
        await at[1].close()

    run(play())


def test_a_link_does_not_lead_out(tmp_path: Path) -> None:
    async def play() -> None:
        at = await World().lake()
        head = await commit_of(at[1], {"d/x": b"x"})
        (tmp_path / "out").mkdir()
        (tmp_path / "else").mkdir()
        (tmp_path / "out" / "d").symlink_to(tmp_path / "else")
        with pytest.raises(Refused, match="a link leads out"):
            await exported(at, head, f"file://{tmp_path}/out")
        assert files_in(tmp_path / "else") == {}
        await at[1].close()

    run(play())


def test_twins_are_refused_where_the_disk_takes_them_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FolderTarget, "folding", lambda self: str.casefold)

    async def play() -> None:
        at = await World().lake()
        head = await commit_of(at[1], {"Data": b"1", "data": b"2"})
        with pytest.raises(Refused, match="differ only in ways that the destination does not tell apart"):
            await exported(at, head, f"file://{tmp_path}/out")
        await at[1].close()

    run(play())


def test_a_bucket_gets_the_same_and_a_lake_nothing() -> None:
    async def play() -> None:
        world = World()
        at = await world.lake()
        head = await commit_of(at[1], {"d/a": b"1", "d/b": b"2"})
        done = await exported(at, head, "s3://bucket/copy", "d/")
        assert await world.bucket.get("copy/a") == b"1"
        assert b'"files":2' in await world.bucket.get("copy/_SUCCESS")
        assert done.present == 0  # type: ignore[attr-defined]
        assert b'"path":"b"' in await world.bucket.get("copy/_manifest/part-00000.ndjson")
        await world.bucket.put("lake/lake.json", b"{}")
        with pytest.raises(Refused, match="files of a lake"):
            await exported(at, head, "s3://bucket/lake/sub", "d/")
        await at[1].close()

    run(play())
